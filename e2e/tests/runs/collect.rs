//! Tests of a run that sends no load, and reports the results folder of another run.

use anyhow::{Context, ensure};
use crds::{
    Outcome,
    status::{ConditionStatus, Phase},
};
use e2e::{Cluster, Namespace};

use crate::runs::{SOON, simulated};

const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_finished_folder_is_reported_without_a_load() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "collect").await?;
    namespace.create_run("first", &simulated(10.0, 3, CLAIM)).await?;
    let first = namespace.wait_finished("first", SOON).await?;
    assert_eq!(first.outcome, Some(Outcome::Passed), "{first:#?}");
    let folder = &first.attempts.last().context("a run that ended has an attempt")?.job_name;
    let collecting = |name: &str, more: &str| {
        // If the run sent its load, it would take a minute.
        simulated(10.0, 60, &format!("{CLAIM}\nexecution: {{collect: {{folder: {name}}}}}\n{more}"))
    };
    let missed = "slo: {objectives: [{name: many, metric: requestsPerSecond, min: 1000000}]}";
    for (name, more, outcome) in [("again", "", Outcome::Passed), ("judged", missed, Outcome::SLOViolated)] {
        namespace.create_run(name, &collecting(folder, more)).await?;
        let collected = namespace.wait_finished(name, SOON).await?;
        assert_eq!(collected.outcome, Some(outcome), "{collected:#?}");
        assert_eq!((&collected.summary, &collected.stages), (&first.summary, &first.stages));
        let [ours, theirs] = [&collected, &first].map(|it| it.artifacts.iter().find(|it| it.name == "report.json"));
        assert_eq!(ours.context("the report is listed")?, theirs.context("the report is listed")?);
        let stored = collected.conditions.iter().find(|it| it.kind == "ResultsStored").context("it says where")?;
        ensure!(stored.message.contains(folder), "{}", stored.message);
        let verified = collected.conditions.iter().find(|it| it.kind == "Verified").context("it says who measured")?;
        assert_eq!((verified.status, verified.reason.as_str()), (ConditionStatus::False, "Collected"));
        ensure!(collected.resolved.is_some_and(|it| it.endpoint.is_empty()), "nothing of the target was measured");
    }
    let verified = first.conditions.iter().find(|it| it.kind == "Verified").context("it says who measured")?;
    assert_eq!((verified.status, verified.reason.as_str()), (ConditionStatus::True, "OwnLauncher"));
    namespace.create_run("missing", &collecting("nothing-000000-a1", "")).await?;
    let missing = namespace.wait_finished("missing", SOON).await?;
    assert_eq!((missing.phase, missing.outcome), (Some(Phase::Failed), Some(Outcome::Error)), "{missing:#?}");
    let ready = missing.conditions.iter().find(|it| it.kind == "Ready").context("a run has the condition Ready")?;
    ensure!(
        ready.message.contains("spec.execution.collect.folder") && ready.message.contains("no such folder"),
        "{}",
        ready.message
    );
    Ok(())
}
