//! What the API server refuses by the rules in the CRD, before any operator sees it.

use anyhow::Context;
use e2e::{Cluster, Namespace};

use crate::simulated;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_spec_that_cannot_be_run_is_refused_with_a_remedy() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "admission").await?;
    let simulator = "target: {simulator: {}}";
    for (name, spec, remedy) in [
        ("chat", "target: {}", "exactly one of url, serviceRef and simulator"),
        ("chat", "target: {simulator: {}, url: 'http://h'}", "exactly one of url, serviceRef and simulator"),
        ("chat", "target: {url: 'ftp://h'}", "spec.target.url"),
        ("chat", &format!("{simulator}\nharness: locust"), "inference-perf"),
        (
            "chat",
            &format!("{simulator}\nprofile: {{name: a, inline: b}}"),
            "at most one of name, inline and configMapRef",
        ),
        ("chat", &format!("{simulator}\nstorage: {{pvc: {{}}, none: {{}}}}"), "at most one of pvc and none"),
        ("chat", &format!("{simulator}\nprofile: {{files: [{{}}]}}"), "exactly one of configMapRef and claim"),
        ("chat", "target: {url: 'http://h:800000'}", "spec.target.url"),
        ("chat", "target: {url: 'unix:/run/vllm.sock'}", "spec.target.url"),
        (
            "chat",
            &format!("{simulator}\nlauncher: {{resources: {{requests: {{cpu: lots}}}}}}"),
            "spec.launcher.resources.requests.cpu",
        ),
        ("chat", &format!("{simulator}\nlauncher: {{labels: {{benchwright.dev/run: x}}}}"), "choose another prefix"),
        ("chat.v1", simulator, "46 letters"),
        (&"c".repeat(47), simulator, "46 letters"),
    ] {
        let refused = namespace.create_run(name, spec).await.err();
        let message = refused.with_context(|| format!("{spec} was accepted"))?.to_string();
        assert!(message.contains(remedy), "{spec}: {message}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_is_immutable_but_for_suspend_and_cancel() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "immutable").await?;
    namespace.create_run("chat", &simulated(1.0, 1, "suspend: true\nstorage: {none: {}}")).await?;
    for change in ["seed: 7", "target: {model: other}", "validity: {maxErrorRatio: '0.5'}"] {
        let refused = namespace.patch_run("chat", change).await.err();
        let message = refused.with_context(|| format!("{change} was accepted"))?.to_string();
        assert!(message.contains("immutable"), "{change}: {message}");
    }
    namespace
        .wait_for("chat", "phase Suspended", crate::SOON, |it| it.phase == Some(crds::status::Phase::Suspended))
        .await?;
    namespace.patch_run("chat", "suspend: false").await?;
    let status = namespace.wait_finished("chat", crate::SOON).await?;
    assert_eq!(status.outcome, Some(crds::Outcome::Passed), "{status:?}");
    Ok(())
}
