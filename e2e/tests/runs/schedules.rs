//! Tests of schedules: fixed times, the trigger, the history limits, and who may write a template.

use anyhow::Context as _;
use crds::{BenchmarkRun, BenchmarkSchedule, Outcome, Reason, benchmark_schedule::status::BenchmarkScheduleStatus};
use e2e::{Cluster, Namespace, tools};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::runs::{SOON, simulated};

/// Applies a schedule like a GitOps tool.
fn apply(namespace: &Namespace, name: &str, more: &Value, run: &Value) -> anyhow::Result<()> {
    let mut spec = json!({"runTemplate": {"metadata": {"labels": {"team": "serving"}}, "spec": run}});
    spec.as_object_mut().context("a spec is an object")?.extend(more.as_object().cloned().unwrap_or_default());
    tools::apply(&json!({
        "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSchedule",
        "metadata": {"name": name, "namespace": namespace.name}, "spec": spec,
    }))
}

/// A short run that passes (`true`), or that misses its objective (`false`).
fn run(passes: bool) -> anyhow::Result<Value> {
    let objectives = "slo: {objectives: [{name: ttft, metric: ttft, stat: p99, max: 1ns}], enforcement: Fail}";
    Ok(serde_saphyr::from_str(&simulated(5.0, 2, if passes { "storage: {none: {}}" } else { objectives }))?)
}

async fn runs(namespace: &Namespace, schedule: &str) -> anyhow::Result<Vec<BenchmarkRun>> {
    let labelled = ListParams::default().labels(&format!("benchwright.dev/schedule={schedule}"));
    Ok(namespace.api::<BenchmarkRun>().list(&labelled).await?.items)
}

/// Waits until the condition Ready of a schedule has this reason.
async fn until_ready_is(
    namespace: &Namespace,
    schedule: &str,
    reason: Reason,
) -> anyhow::Result<BenchmarkScheduleStatus> {
    let look = || async {
        let status = namespace.api::<BenchmarkSchedule>().get(schedule).await?.status.unwrap_or_default();
        let found = status.conditions.iter().any(|it| it.kind == "Ready" && it.reason == reason);
        Ok(found.then_some(status))
    };
    namespace.until(&format!("{schedule} is {reason}"), SOON * 2, look).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn each_change_of_the_trigger_starts_one_run() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "trigger").await?;
    apply(&namespace, "gate", &json!({"trigger": "r1", "failedRunsHistoryLimit": 0}), &run(true)?)?;
    until_ready_is(&namespace, "gate", Reason::RunActive).await?;
    let status = until_ready_is(&namespace, "gate", Reason::Scheduled).await?;
    let first = runs(&namespace, "gate").await?;
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].labels()["team"], "serving");
    assert_eq!(status.last_run.and_then(|it| it.outcome), Some(Outcome::Passed));

    // The same trigger starts no run again, even if another field changes.
    apply(&namespace, "gate", &json!({"trigger": "r1", "failedRunsHistoryLimit": 1}), &run(false)?)?;
    let schedules = namespace.api::<BenchmarkSchedule>();
    let seen = || async {
        let schedule = schedules.get("gate").await?;
        let observed = schedule.status.map(|it| it.observed_generation);
        Ok((observed == schedule.metadata.generation).then_some(()))
    };
    namespace.until("the edit is seen", SOON, seen).await?;
    assert_eq!(runs(&namespace, "gate").await?.len(), 1);

    apply(&namespace, "gate", &json!({"trigger": "r2", "failedRunsHistoryLimit": 1}), &run(false)?)?;
    let status = until_ready_is(&namespace, "gate", Reason::TriggeredRunFailed).await?;
    assert_eq!(runs(&namespace, "gate").await?.len(), 2);
    assert_eq!(status.triggered.and_then(|it| it.outcome), Some(Outcome::SLOViolated));

    // Restores the schedule with its metadata, but without its status.
    let mut restored = schedules.get("gate").await?;
    schedules.delete("gate", &DeleteParams::background()).await?;
    let gone = || async { Ok(schedules.get_opt("gate").await?.is_none().then_some(())) };
    namespace.until("the schedule is gone", SOON, gone).await?;
    let none = || async { Ok(runs(&namespace, "gate").await?.is_empty().then_some(())) };
    namespace.until("its runs are gone", SOON, none).await?;
    restored.status = None;
    let metadata = &mut restored.metadata;
    (metadata.uid, metadata.resource_version, metadata.managed_fields) = (None, None, None);
    schedules.create(&PostParams::default(), &restored).await?;
    until_ready_is(&namespace, "gate", Reason::Scheduled).await?;
    assert!(runs(&namespace, "gate").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_fixed_time_starts_a_run_and_a_refused_one_is_said() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "times").await?;
    apply(&namespace, "minutely", &json!({"schedule": "* * * * *", "timeZone": "Europe/Berlin"}), &run(true)?)?;
    let look = || async { Ok(runs(&namespace, "minutely").await?.into_iter().next()) };
    let first = namespace.until("the first run", SOON, look).await?;
    let time = &first.annotations()["benchwright.dev/schedule-time"];
    assert!(time.ends_with(":00Z"), "{time}");
    let status = namespace.wait_finished(&first.name_any(), SOON).await?;
    assert_eq!(status.outcome, Some(Outcome::Passed), "{status:?}");
    assert!(namespace.events("minutely").await?.iter().any(|it| it.contains("RunStarted")));

    // The quota on runs makes the API server refuse the next run.
    let quota = json!({
        "metadata": {"name": "runs"}, "spec": {"hard": {"count/benchmarkruns.benchwright.dev": "0"}},
    });
    let quotas = namespace.api::<k8s_openapi::api::core::v1::ResourceQuota>();
    quotas.create(&PostParams::default(), &serde_json::from_value(quota)?).await?;
    apply(&namespace, "late", &json!({"trigger": "a"}), &run(true)?)?;
    let status = until_ready_is(&namespace, "late", Reason::StartRefused).await?;
    let message = status.refusal.context("the refusal is in the status")?.message;
    assert!(message.contains("exceeded quota") && message.contains("change spec.trigger"), "{message}");
    Ok(())
}

/// A user who may write schedules, and nothing else, must not gain access to a Secret.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: make e2e"]
async fn a_template_refers_only_to_what_a_pod_of_its_author_may_use() -> anyhow::Result<()> {
    let namespace = Namespace::new(&Cluster::with_operator().await?, "templates").await?;
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": "planner"},
        "rules": [{"apiGroups": ["benchwright.dev"], "resources": ["benchmarkschedules"], "verbs": ["create", "get", "patch"]}],
    }))?;
    namespace.api::<Role>().create(&PostParams::default(), &role).await?;
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "planner"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "planner"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "planner"}],
    }))?;
    namespace.api::<RoleBinding>().create(&PostParams::default(), &binding).await?;
    // The null removes the other target from the stored schedule.
    let with_token =
        json!({"simulator": null, "url": "http://h", "auth": {"secretKeyRef": {"name": "other", "key": "a"}}});
    let plain = json!({"simulator": {}});
    let write = async |method: &str, target: &Value, trigger: &str| {
        let schedule = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkSchedule", "metadata": {"name": "mine"},
            "spec": {"suspend": true, "trigger": trigger, "runTemplate": {"spec": {"target": target}}},
        });
        let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkschedules", namespace.name);
        let (path, content) = match method {
            "POST" => (path, "application/json"),
            _ => (format!("{path}/mine"), "application/merge-patch+json"),
        };
        let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
        let request = request.header("Impersonate-User", "planner").body(serde_json::to_vec(&schedule)?)?;
        match namespace.client.request::<Value>(request).await {
            Ok(_) => anyhow::Ok(String::new()),
            Err(kube::Error::Api(status)) => Ok(status.message),
            Err(error) => Err(error.into()),
        }
    };
    // The policy and its binding take effect a moment after their creation.
    let refused = || async {
        let message = write("POST", &with_token, "a").await?;
        Ok(message
            .contains("spec.runTemplate.spec.target.auth.secretKeyRef.name: is \"other\"; naming a Secret requires")
            .then_some(()))
    };
    namespace.until("the refusal", SOON, refused).await?;
    assert_eq!(write("POST", &plain, "a").await?, "");
    let message = write("PATCH", &with_token, "a").await?;
    assert!(message.contains("the right to create pods, which planner lacks"), "{message}");
    // A user who may not read the objects of the run template may still change the other fields of the schedule.
    let patch = Patch::Merge(json!({"spec": {"runTemplate": {"spec": {"target": with_token}}}}));
    namespace.api::<BenchmarkSchedule>().patch("mine", &PatchParams::default(), &patch).await?;
    let request = json!({"spec": {"trigger": "b"}});
    let path = format!("/apis/benchwright.dev/v1alpha1/namespaces/{}/benchmarkschedules/mine", namespace.name);
    let request = http::Request::patch(path)
        .header("Content-Type", "application/merge-patch+json")
        .header("Impersonate-User", "planner")
        .body(serde_json::to_vec(&request)?)?;
    namespace.client.request::<Value>(request).await?;
    Ok(())
}
