//! A sweep with real launchers: the figures of its runs are in its status.

use crds::{BenchmarkSweep, Reason, benchmark_sweep::status::SweepPhase};
use e2e::{Cluster, Namespace, tools};
use serde_json::{Value, json};

use crate::runs::{SOON, simulated};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_sweep_runs_its_cells_one_after_the_other_and_shows_their_figures() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "sweep").await?;
    let run: Value = serde_saphyr::from_str(&simulated(5.0, 2, "storage: {none: {}}"))?;
    tools::apply(&json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSweep",
        "metadata": {"name": "bounds", "namespace": namespace.name},
        "spec": {
            "runTemplate": {"spec": run},
            "factors": [{"name": "errors", "field": "validity.maxErrorRatio", "values": [0.01, 0.1]}],
            "repeats": 2,
        },
    }))?;
    let look = || async {
        let status = namespace.api::<BenchmarkSweep>().get("bounds").await?.status.unwrap_or_default();
        Ok(status.completion_time.is_some().then_some(status))
    };
    let status = namespace.until("the end of the sweep", SOON * 4, look).await?;
    assert_eq!((status.phase, status.progress.as_deref()), (Some(SweepPhase::Succeeded), Some("4/4")), "{status:?}");
    assert!(status.conditions.iter().any(|it| it.kind == "Ready" && it.reason == Reason::SweepSucceeded));
    let names: Vec<&str> = status.cells.iter().map(|it| it.cell.as_str()).collect();
    assert_eq!(names, ["errors=0.01", "errors=0.1"]);
    for cell in &status.cells {
        let figures = (cell.ttft_p99_microseconds, cell.tpot_p50_microseconds, cell.output_tokens_per_second_milli);
        assert!(cell.runs == 2 && matches!(figures, (Some(_), Some(_), Some(_))), "{cell:?}");
    }
    assert!(namespace.events("bounds").await?.iter().any(|it| it.contains("SweepSucceeded")));
    Ok(())
}
