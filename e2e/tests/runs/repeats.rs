//! Tests of a run that repeats its load within one attempt.

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace};

use crate::runs::{SOON, simulated};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_series_has_a_folder_for_each_run_and_the_status_their_mean() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "repeats").await?;
    let slo = "slo: {objectives: [{name: latency, metric: latency, stat: p50, max: 60s}]}";
    let spec = simulated(10.0, 2, &format!("storage: {{pvc: {{claimName: results, size: 1Gi}}}}\nrepeat: 2\n{slo}"));
    namespace.create_run("chat", &spec).await?;
    let status = namespace.wait_finished("chat", 2 * SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{status:?}");
    let summary = status.summary.context("figures")?;
    assert_eq!((summary.mean_of_runs, summary.requests, status.attempts.len()), (Some(2), 20, 1));
    assert!(status.objectives[0].run.starts_with('r'), "{:?}", status.objectives);
    let files: Vec<&str> = status.artifacts.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(files, ["repeats.json", "repeats.md", "junit.xml", "r1/report.json", "r2/report.json"]);

    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let folder = format!("/results/{job}");
    let page = namespace.print_from_claim("results", &["show", &folder]).await?;
    assert!(page.starts_with("# chat, 2 runs: Passed"), "{page}");
    let of_run = format!("{folder}/r2");
    let report = namespace.print_from_claim("results", &["show", &of_run, "--file", "report.json"]).await?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    assert_eq!(report["run"]["repeatNumber"], 2, "{}", report["run"]);
    Ok(())
}
