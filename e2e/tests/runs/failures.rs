//! Tests of runs that cannot succeed. Each ends in a terminal phase with a reason, and its message contains the remedy.

use anyhow::Context;
use crds::{
    BenchmarkRunStatus, Outcome,
    status::{ConditionStatus, Phase},
};
use e2e::{Cluster, Namespace};

use crate::runs::{SOON, simulated};

const NO_STORAGE: &str = "storage: {none: {}}";

/// The message of the condition Stalled. It is an error if the condition is not True.
fn stalled(status: &BenchmarkRunStatus) -> anyhow::Result<&str> {
    let condition = status.conditions.iter().find(|it| it.kind == "Stalled").context("no condition Stalled")?;
    assert_eq!(condition.status, ConditionStatus::True);
    Ok(&condition.message)
}

fn execution(seconds_to_start: u32) -> String {
    format!("execution: {{retry: {{limit: 0}}, deadlines: {{startSeconds: {seconds_to_start}}}}}\n")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_bad_profile_ends_stalled_with_field_and_remedy_and_no_pod() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "bad-profile").await?;
    let overrides =
        "target: {simulator: {}}\nprofile: {name: sanity_random, overrides: {load.stages.0.rate: '-3', lod.type: x}}";
    namespace.create_run("chat", overrides).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.outcome), (Some(Phase::Failed), Some(Outcome::Error)));
    assert_eq!(status.reason, "ProfileInvalid");
    let message = stalled(&status)?;
    assert!(message.contains("lod") && message.contains("load"), "names neither the path nor the near one: {message}");
    assert!(namespace.jobs().await?.is_empty() && namespace.pods("chat").await?.is_empty());

    namespace.create_run("rate", "target: {simulator: {}}\nprofile: {overrides: {load.stages.0.rate: '-3'}}").await?;
    let status = namespace.wait_finished("rate", SOON).await?;
    let message = stalled(&status)?;
    assert!(message.contains("load.stages[0].rate") && message.contains("-3"), "{message}");

    let profile = "{benchmark: llama3.1-8b, scenario: Server, dataset: {synthetic: {input: 64, output: 16}}, \
                    user_conf: \"*.Server.target_qps = 50\\n*.Server.min_duration = 2000 # two seconds\\n\"}";
    let spec = format!(
        "target: {{simulator: {{}}}}\nharness: loadgen\nprofile: {{inline: {}}}",
        serde_json::to_string(profile)?
    );
    namespace.create_run("user-conf", &spec).await?;
    let status = namespace.wait_finished("user-conf", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ProfileInvalid"), "{status:?}");
    let message = stalled(&status)?;
    assert!(message.contains("user.conf, line 2") && message.contains("a line of its own"), "{message}");
    assert!(namespace.jobs().await?.is_empty() && namespace.pods("user-conf").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_dead_target_is_said_to_be_dead_and_tried_again_on_request() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "dead-target").await?;
    let spec = "target: {serviceRef: {name: nobody}, model: m, readiness: {timeoutSeconds: 3}}\nstorage: {none: {}}";
    let again = format!("{spec}\nexecution: {{retry: {{limit: 1, reasons: [TargetUnavailable]}}}}");
    for (name, spec, attempts) in [("once", spec, 1), ("again", &again, 2)] {
        namespace.create_run(name, spec).await?;
        let status = namespace.wait_finished(name, SOON).await?;
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "TargetUnavailable"), "{status:?}");
        assert_eq!(status.attempts.len(), attempts, "{status:?}");
        assert!(stalled(&status)?.contains("nobody"), "{status:?}");
    }
    // `kubectl get` shows the reason even without options.
    let table = e2e::tools::kubectl(&["get", "benchmarkruns", "--namespace", &namespace.name])?;
    assert!(table.contains("TargetUnavailable"), "{table}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_spec_that_the_api_server_cannot_judge_is_refused_by_the_operator() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "refused").await?;
    let own = "configMapRef: {name: a, key: profile.yaml}";
    namespace.create_run("chat", &format!("target: {{simulator: {{}}}}\nprofile: {{files: [{{{own}}}]}}")).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "InvalidSpec"), "{status:?}");
    assert!(stalled(&status)?.contains("spec.profile.files[0].configMapRef.key"), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn an_image_that_does_not_exist_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "no-image").await?;
    let more = format!("launcher: {{image: 'localhost/not-there:1'}}\n{NO_STORAGE}\n{}", execution(10));
    namespace.create_run("chat", &simulated(1.0, 1, &more)).await?;
    namespace.wait_for("chat", "reason ImagePull", SOON, |it| it.reason == "ImagePull").await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "ImagePull"), "{status:?}");
    assert!(stalled(&status)?.contains("localhost/not-there:1"), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_volume_that_never_binds_is_named() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "no-volume").await?;
    let more = format!("storage: {{pvc: {{claimName: results, storageClassName: not-there}}}}\n{}", execution(10));
    namespace.create_run("chat", &simulated(1.0, 1, &more)).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "VolumePending"), "{status:?}");
    let message = stalled(&status)?;
    assert!(message.contains("results") && message.contains("not-there"), "{message}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_launcher_that_outgrows_its_memory_is_said_to_have() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "memory").await?;
    let profile = "{load: {type: concurrent, stages: [{num_requests: 20000, concurrency_level: 2000}]}, \
                    api: {type: completion, streaming: true}, \
                    data: {type: random, input_distribution: {type: fixed, min: 8000, max: 8000, mean: 8000, std_dev: 0}, \
                           output_distribution: {type: fixed, min: 400, max: 400, mean: 400, std_dev: 0}}}";
    let spec = format!(
        "target: {{simulator: {{}}}}\nprofile: {{inline: {}}}\n{NO_STORAGE}\n\
         launcher: {{resources: {{requests: {{memory: 24Mi}}, limits: {{memory: 24Mi}}}}}}",
        serde_json::to_string(profile)?
    );
    namespace.create_run("chat", &spec).await?;
    let status = namespace.wait_finished("chat", SOON).await?;
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Failed), "OOMKilled"), "{status:?}");
    assert!(stalled(&status)?.contains("memory"), "{status:?}");
    Ok(())
}
