//! Tests of runs with objectives, and of runs that are compared with an earlier run.

use anyhow::Context;
use crds::{
    BenchmarkRunStatus, Met, Outcome,
    status::{Condition, ConditionStatus, Phase},
};
use e2e::{Cluster, Namespace, tools};

use crate::runs::{SOON, simulated};

const CLAIM: &str = "storage: {pvc: {claimName: results, size: 1Gi}}";
/// Two objectives: every machine meets the first, and no machine meets the second.
const OBJECTIVES: &str = "[{name: latency, metric: latency, stat: p50, stage: '*', max: 60s}, \
    {name: throughput, metric: requestsPerSecond, min: 1000000}]";

fn slo_met(status: &BenchmarkRunStatus) -> anyhow::Result<&Condition> {
    status.conditions.iter().find(|it| it.kind == "SLOMet").with_context(|| format!("no condition SLOMet: {status:?}"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_that_misses_an_objective_fails_with_its_figures_and_names_it() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "objectives").await?;
    let spec = simulated(10.0, 3, &format!("{CLAIM}\nslo: {{objectives: {OBJECTIVES}}}"));
    namespace.create_run("chat", &spec).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Failed), Some(Outcome::SLOViolated)), "{status:?}");
    assert_eq!(status.reason, "SLOViolated");
    assert!(status.summary.is_some() && status.columns.is_some(), "its figures count: {status:?}");

    let condition = slo_met(&status)?;
    assert_eq!((condition.status, condition.reason.as_str()), (ConditionStatus::False, "SLOViolated"));
    let message = &condition.message;
    assert!(message.starts_with("1 of 2 objectives met, 1 missed: throughput ("), "{message}");
    let rows: Vec<_> = status.objectives.iter().map(|it| (it.name.as_str(), it.met, it.limit.as_str())).collect();
    assert_eq!(rows, [("latency", Met::True, "60s"), ("throughput", Met::False, "1000000")]);

    let table = tools::kubectl(&["get", "benchmarkruns", "--namespace", &namespace.name])?;
    let mut columns = table.lines().map(|it| it.split_whitespace().collect::<Vec<_>>());
    let (header, row) = (columns.next().context("a header")?, columns.next().context("a row")?);
    assert!(header.contains(&"SLO") && row.contains(&"SLOViolated") && row.contains(&"False"), "{table}");

    let wide = tools::kubectl(&["get", "benchmarkruns", "--output", "wide", "--namespace", &namespace.name])?;
    let ready = status.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    // kubectl prints only the first line of the message.
    let message = ready.message.lines().next().context("a message")?;
    assert!(wide.contains("MESSAGE") && wide.contains(message), "{wide}\n{ready:?}");

    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let folder = format!("/results/{job}");
    let junit = namespace.print_from_claim("results", &["show", &folder, "--file", "junit.xml"]).await?;
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_is_compared_with_an_earlier_one_on_the_same_claim() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "baseline").await?;
    let reported = format!("{CLAIM}\nslo: {{enforcement: Report, objectives: {OBJECTIVES}}}");
    namespace.create_run("before", &simulated(10.0, 3, &reported)).await?;
    let before = namespace.wait_finished("before", SOON).await?;
    assert_eq!((before.phase, before.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{before:?}");
    assert_eq!(slo_met(&before)?.status, ConditionStatus::False, "enforcement Report changes the outcome alone");

    // On every machine, a second run is at most eleven times as slow as the first, so this baseline is always met.
    let compared = |run: &str| {
        let baseline = format!("baseline: {{runRef: {run}, maxRegressionPercent: 1000}}");
        let objective = "{name: latency, metric: latency, stat: p50, max: 60s}";
        simulated(10.0, 3, &format!("{CLAIM}\nslo: {{objectives: [{objective}], {baseline}}}"))
    };
    namespace.create_run("after", &compared("before")).await?;
    let after = namespace.wait_finished("after", SOON).await?;
    assert_eq!((after.outcome, slo_met(&after)?.status), (Some(Outcome::Passed), ConditionStatus::True), "{after:?}");
    let job = &after.attempts.last().context("a run that ended has an attempt")?.job_name;
    let folder = format!("/results/{job}");
    let report = namespace.print_from_claim("results", &["show", &folder, "--file", "report.json"]).await?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    assert!(report["objectives"][0]["baseline"].as_f64().is_some_and(|it| it > 0.0), "{}", report["objectives"]);

    namespace.create_run("alone", &compared("nobody")).await?;
    let alone = namespace.wait_finished("alone", SOON).await?;
    assert_eq!((alone.phase, alone.reason.as_str()), (Some(Phase::Failed), "InvalidSpec"), "{alone:?}");
    let ready = alone.conditions.iter().find(|it| it.kind == "Ready").context("a condition Ready")?;
    assert!(ready.message.starts_with("spec.slo.baseline.runRef: is \"nobody\""), "{}", ready.message);
    Ok(())
}
