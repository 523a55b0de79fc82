//! Tests of runs that the API server refuses because of rules in the CRD, before the operator sees them.

use anyhow::Context;
use e2e::{Cluster, Namespace};

use crate::runs::simulated;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_spec_that_cannot_be_run_is_refused_with_a_remedy() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "admission").await?;
    let simulator = "target: {simulator: {}}";
    let profile = |of: &str| format!("{simulator}\nprofile: {{{of}}}");
    let objective = |of: &str| format!("{simulator}\nslo: {{objectives: [{{name: a, {of}}}]}}");
    for (name, spec, remedy) in [
        ("chat", "target: {}", "exactly one of url, serviceRef, gatewayRef, simulator and server"),
        (
            "chat",
            "target: {simulator: {}, url: 'http://h'}",
            "exactly one of url, serviceRef, gatewayRef, simulator and server",
        ),
        ("chat", "target: {url: 'http://h', gatewayRef: {name: g}}", "exactly one of url, serviceRef, gatewayRef"),
        ("chat", "target: {gatewayRef: {name: G}}", "spec.target.gatewayRef.name"),
        ("chat", "target: {gatewayRef: {name: g, namespace: a.b}}", "spec.target.gatewayRef.namespace"),
        ("chat", "target: {gatewayRef: {name: g, port: 0}}", "spec.target.gatewayRef.port"),
        ("chat", "target: {server: {engine: VLLM, method: Helm}}", "spec.target.server.method"),
        ("chat", "target: {server: {engine: VLLM, gatewayRef: {name: G}}}", "spec.target.server.gatewayRef.name"),
        ("chat", "target: {url: 'ftp://h'}", "spec.target.url"),
        ("chat", &format!("{simulator}\nharness: locust"), "inference-perf"),
        (
            "chat",
            &format!("{simulator}\nprofile: {{name: a, inline: b}}"),
            "at most one of name, inline and configMapRef",
        ),
        ("chat", &format!("{simulator}\nstorage: {{pvc: {{}}, none: {{}}}}"), "at most one of pvc, s3 and none"),
        (
            "chat",
            &format!("{simulator}\nstorage: {{s3: {{bucket: B, secretRef: {{name: s}}}}}}"),
            "spec.storage.s3.bucket",
        ),
        ("chat", &format!("{simulator}\nprofile: {{files: [{{}}]}}"), "exactly one of configMapRef and claim"),
        ("chat", "target: {url: 'http://h:800000'}", "spec.target.url"),
        ("chat", "target: {url: 'unix:/run/vllm.sock'}", "spec.target.url"),
        (
            "chat",
            &format!("{simulator}\nlauncher: {{resources: {{requests: {{cpu: lots}}}}}}"),
            "spec.launcher.resources.requests.cpu",
        ),
        ("chat", &format!("{simulator}\nlauncher: {{labels: {{benchwright.dev/run: x}}}}"), "choose another prefix"),
        ("chat", &profile("variables: {rates: [1, 2]}"), "spec.profile.variables.rates"),
        ("chat", &profile("overrides: {load: {type: x}}"), "spec.profile.overrides.load"),
        (
            "chat",
            &profile(&format!("variables: {{a: {}{}}}", "[".repeat(40), "]".repeat(40))),
            "spec.profile.variables.a",
        ),
        ("chat", &profile(&format!("overrides: {{a: {}}}", "x".repeat(1025))), "spec.profile.overrides.a"),
        ("chat", &format!("{simulator}\nvalidity: {{maxErrorRatio: '2'}}"), "spec.validity.maxErrorRatio"),
        ("chat", &format!("{simulator}\nvalidity: {{maxErrorRatio: 2}}"), "spec.validity.maxErrorRatio"),
        ("chat", &format!("{simulator}\nvalidity: {{maxErrorRatio: true}}"), "spec.validity.maxErrorRatio"),
        ("chat", &objective("metric: ttft, stat: p99, max: 1s, min: 1s"), "one and only one schema"),
        ("chat", &objective("metric: ttft, stat: p99"), "one and only one schema"),
        ("chat", &objective("metric: ttft, max: 1s"), "needs stat"),
        ("chat", &objective("metric: errorRatio, stat: p99, max: 1"), "a rate or share has none"),
        ("chat", &objective("metric: errorRatio, max: fast"), "spec.slo.objectives[0].max"),
        ("chat", &objective("metric: errorRatio, max: -1"), "spec.slo.objectives[0].max"),
        ("chat", &format!("{simulator}\nslo: {{baseline: {{runRef: before}}}}"), "add an objective"),
        ("chat", &profile("files: [{configMapRef: null}]"), "exactly one of configMapRef and claim"),
        ("chat", &format!("{simulator}\nrepeat: 31"), "spec.repeat"),
        (
            "chat",
            &format!("{simulator}\nrepeat: 2\nprofile: {{promptSalt: x}}"),
            "promptSalt and repeat cannot be combined",
        ),
        ("chat", &format!("{simulator}\nrepeat: 2\nharness: loadgen"), "LoadGen tests cannot be repeated"),
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
async fn each_member_of_target_is_accepted_alone() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "members").await?;
    for (name, target) in [
        ("by-url", "url: 'http://h:8000'"),
        ("by-service", "serviceRef: {name: gateway}"),
        ("by-gateway", "gatewayRef: {name: g.v1, namespace: llm-d, sectionName: http, port: 80, httpRoute: llm}"),
        ("by-simulator", "simulator: {}, exclusive: false"),
    ] {
        namespace.create_run(name, &format!("target: {{{target}}}\nsuspend: true")).await?;
        let stored = namespace.status(name).await;
        assert!(stored.is_ok(), "{name}: {stored:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn what_is_empty_is_as_if_it_were_left_out() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "empty").await?;
    let profile =
        "{variables: {isl: null}, overrides: {a.b: null}, files: [{configMapRef: null, claim: {claimName: a}}]}";
    let spec =
        format!("target: {{simulator: {{}}}}\nsuspend: true\nvalidity: {{maxErrorRatio: null}}\nprofile: {profile}");
    namespace.create_run("chat", &spec).await?;
    let phase = Some(crds::status::Phase::Suspended);
    namespace.wait_for("chat", "phase Suspended", crate::runs::SOON, |it| it.phase == phase).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_run_is_immutable_but_for_suspend_cancel_and_cleanup() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "immutable").await?;
    namespace.create_run("chat", &simulated(1.0, 1, "suspend: true\nstorage: {none: {}}")).await?;
    for change in [
        "target: {model: other}",
        "harness: loadgen",
        "profile: {variables: {isl: 7}}",
        "profile: {files: [{claim: {claimName: a}}]}",
        "seed: 7",
        "repeat: 2",
        "launcher: {labels: {team: a}}",
        "storage: {required: false}",
        "validity: {maxErrorRatio: '0.5'}",
        "slo: {enforcement: Report}",
        "execution: {retry: {limit: 3}}",
    ] {
        let refused = namespace.patch_run("chat", change).await.err();
        let message = refused.with_context(|| format!("{change} was accepted"))?.to_string();
        assert!(message.contains("immutable"), "{change}: {message}");
    }
    namespace
        .wait_for("chat", "phase Suspended", crate::runs::SOON, |it| it.phase == Some(crds::status::Phase::Suspended))
        .await?;
    namespace.patch_run("chat", "cleanup: {run: {afterSuccessSeconds: 3600}}").await?;
    namespace.patch_run("chat", "suspend: false").await?;
    let status = namespace.wait_finished("chat", crate::runs::SOON).await?;
    assert_eq!(status.outcome, Some(crds::Outcome::Passed), "{status:?}");
    Ok(())
}
