//! Tests of a run with LoadGen tests: the figures and the names of the logs are in the status, and the logs themselves on the volume.

use anyhow::Context;
use crds::{Outcome, status::Phase};
use e2e::{Cluster, Namespace, PATIENT};

use crate::runs::SOON;

/// An accuracy test of 100 samples, followed by a performance test of three seconds that sends enough queries for early stopping. The limits for TTFT
/// and TPOT are wide enough for a busy test machine.
const SPEC: &str = "target: {simulator: {}}\nharness: loadgen\nstorage: {pvc: {claimName: results, size: 1Gi}}\n\
    profile: {name: sanity, variables: {mode: both, target_qps: '200', min_duration: '2000', min_query_count: '600'}, \
              overrides: {settings.ttft_latency: '60000', settings.tpot_latency: '60000'}}\n";

const LOGS: [&str; 3] =
    ["Performance/mlperf_log_summary.txt", "Performance/mlperf_log_detail.txt", "Accuracy/mlperf_log_accuracy.json"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn the_logs_of_a_loadgen_run_are_named_in_its_status_and_lie_on_its_volume() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "loadgen").await?;
    namespace.create_run("server", &format!("{SPEC}{PATIENT}")).await?;
    let status = namespace.wait_finished("server", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Succeeded), Some(Outcome::Passed)), "{status:?}");
    let summary = status.summary.as_ref().context("a run that succeeded has figures")?;
    let tests: Vec<_> =
        status.stages.iter().map(|it| (it.name.as_str(), it.requests, it.failed + it.cancelled)).collect();
    let queries = summary.requests.checked_sub(100).context("fewer requests than samples")?;
    assert_eq!(tests, [("accuracy", 100, 0), ("performance", queries, 0)]);
    assert!(
        queries >= 600 && summary.ttft.is_some() && summary.output_tokens_per_second_milli.is_some(),
        "{summary:?}"
    );

    let job = &status.attempts.last().context("a run that ended has an attempt")?.job_name;
    let mut logs = Vec::new();
    for name in LOGS {
        let artifact = status.artifacts.iter().find(|it| it.name == name);
        let artifact = artifact.with_context(|| format!("{name} is not among {:?}", status.artifacts))?;
        assert_eq!(artifact.uri, format!("pvc://results/{job}/{name}"));
        let folder = format!("/results/{job}");
        let log = namespace.print_from_claim("results", &["show", &folder, "--file", name]).await?;
        assert_eq!(artifact.bytes, log.len() as u64, "{name} is another one than the status tells of");
        logs.push(log);
    }
    assert!(logs[0].contains("Mode     : PerformanceOnly") && logs[0].contains("Result is : VALID"), "{}", logs[0]);
    let counted = format!("\"key\": \"result_query_count\", \"value\": {queries},");
    assert!(logs[1].contains(&counted), "not {counted} in {}", logs[1]);
    let answers: Vec<serde_json::Value> = serde_json::from_str(&logs[2])?;
    assert_eq!(answers.len(), 100, "an answer a sample");
    Ok(())
}
