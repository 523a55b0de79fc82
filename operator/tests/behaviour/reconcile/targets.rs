//! Runs that share a target, and runs whose target is behind a Gateway.

use std::sync::Arc;

use crds::{
    BenchmarkRun, BenchmarkRunStatus,
    status::{Phase, Resolved},
};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use operator::{
    context::Context,
    plan::policy::Policy,
    reconcile::{on_error, reconcile},
};
use serde_json::{Value, json};

use super::{
    MAX_ROUNDS, context,
    server::{Fault, Server},
    world::{Story, owner, step},
};
use crate::behaviour::fixture::settings;

const URL: &str = "{target: {url: 'http://gateway.bench'}, storage: {none: {}}}";
const SERVICE: &str = "{target: {serviceRef: {name: gateway}}, storage: {none: {}}}";

/// A simulated cluster with several runs.
struct Runs {
    server: Server,
    context: Arc<Context>,
}

impl Runs {
    fn new() -> Self {
        let server = Server::default();
        let context = context(server.client());
        Runs { server, context }
    }

    /// Creates the run `namespace/name` with this second of a past hour as its creation time.
    fn create(&self, name: &str, uid: &str, second: u32, spec: &str) {
        let (namespace, name) = name.split_once('/').unwrap();
        let spec: Value = serde_saphyr::from_str(spec).unwrap();
        let created = format!("2026-01-02T03:{:02}:{:02}Z", second / 60, second % 60);
        let object = json!({
            "apiVersion": "benchwright.dev/v1alpha1", "kind": "BenchmarkRun",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1, "creationTimestamp": created},
            "spec": spec,
        });
        self.server.state().put("benchmarkruns", name, object);
    }

    fn cached(&self, name: &str) -> Option<BenchmarkRun> {
        let object = self.server.state().find("benchmarkruns", name).cloned()?;
        Some(serde_json::from_value(object).unwrap())
    }

    fn status(&self, name: &str) -> BenchmarkRunStatus {
        self.cached(name).and_then(|it| it.status).unwrap_or_default()
    }

    fn message(&self, name: &str) -> String {
        let conditions = self.status(name).conditions;
        conditions.into_iter().find(|it| it.kind == "Ready").map(|it| it.message).unwrap_or_default()
    }

    /// Runs one turn of this run.
    async fn turn(&self, name: &str) {
        let Some(run) = self.cached(name) else { return };
        self.turn_of(run).await;
    }

    async fn turn_of(&self, run: BenchmarkRun) {
        let run = Arc::new(run);
        if let Err(error) = reconcile(Arc::clone(&run), Arc::clone(&self.context)).await {
            on_error(run, &error, Arc::clone(&self.context));
        }
    }

    /// Moves everything except the operator by one step.
    fn step(&self) {
        let pods = step(&mut self.server.state(), Story::Plain);
        let runs: Vec<_> = self.names().iter().filter_map(|it| self.cached(it)).collect();
        for pod in &pods {
            let of = |it: &&BenchmarkRun| {
                pod.metadata.labels.as_ref().and_then(|l| l.get("benchwright.dev/run-uid")) == it.metadata.uid.as_ref()
            };
            runs.iter().filter(of).for_each(|it| self.context.ended_pods.note(it, pod));
        }
    }

    fn names(&self) -> Vec<String> {
        let state = self.server.state();
        state.all("benchmarkruns").map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Replaces the operator by a new one whose watch has reported all runs.
    fn restart(&mut self) {
        self.server.state().dead = false;
        self.context = context(self.server.client());
        for name in self.names() {
            let run = self.cached(&name).unwrap();
            self.context.targets.note(&run, &settings(), Timestamp::now());
        }
    }

    /// The names of pods whose launchers are working.
    fn loading(&self) -> Vec<String> {
        let state = self.server.state();
        let works = |pod: &&Value| pod["status"]["containerStatuses"][0]["state"]["terminated"].is_null();
        state.all("pods").filter(works).map(|it| it["metadata"]["name"].to_string()).collect()
    }

    /// Alternates turns and steps until a run is in this phase. Asserts that two launchers never work at the same time.
    async fn play_until(&self, name: &str, phase: Phase) {
        for _ in 0..MAX_ROUNDS {
            if self.status(name).phase == Some(phase) {
                return;
            }
            for run in self.names() {
                self.turn(&run).await;
                let loading = self.loading();
                assert!(loading.len() <= 1, "two launchers at once: {loading:?}");
            }
            self.step();
        }
        panic!("{name} never became {phase:?}: {:#?}", self.status(name));
    }
}

#[track_caller]
fn assert_waits(runs: &Runs, name: &str, message: &str) {
    let status = runs.status(name);
    assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Pending), "TargetBusy"), "{status:#?}");
    assert_eq!(runs.message(name), message);
    assert!(status.attempts.is_empty(), "{status:#?}");
}

#[tokio::test]
async fn runs_of_one_target_follow_each_other_in_the_order_of_their_creation() {
    let runs = Runs::new();
    // In lists sorted by name this run comes last, although it is the oldest.
    runs.create("bench/c", "uid-1", 1, SERVICE);
    runs.create("bench/b", "uid-2", 2, URL);
    runs.create("bench/a", "uid-3", 3, URL);
    runs.turn("c").await;
    runs.turn("b").await;
    runs.turn("a").await;
    assert_waits(&runs, "b", "1st in line for http://gateway.bench; bench/c uses it now");
    assert_waits(&runs, "a", "2nd in line for http://gateway.bench; bench/c uses it now");
    for (name, next) in [("c", Some("b")), ("b", Some("a")), ("a", None)] {
        runs.play_until(name, Phase::Succeeded).await;
        let waiting = next.map(|it| runs.status(it).load_start_time);
        assert!(waiting.is_none_or(|it| it.is_none()), "{next:?} measured before {name} had ended");
    }
    let label = runs
        .server
        .state()
        .all("jobs")
        .map(|it| it["metadata"]["labels"]["benchwright.dev/target"].clone())
        .collect::<Vec<_>>();
    assert!(label.len() == 3 && label.iter().all(|it| *it == label[0] && it.is_string()), "{label:?}");
}

#[tokio::test]
async fn a_run_of_another_namespace_is_waited_for_and_named() {
    let runs = Runs::new();
    runs.create("tenant/nightly", "uid-1", 1, "{target: {url: 'http://gateway.bench.svc:80'}, storage: {none: {}}}");
    runs.create("bench/chat", "uid-2", 2, SERVICE);
    runs.turn("nightly").await;
    runs.turn("chat").await;
    assert_waits(
        &runs,
        "chat",
        "1st in line for http://gateway.bench.svc.cluster.local:80; tenant/nightly uses it now",
    );
    runs.play_until("chat", Phase::Succeeded).await;
}

/// Argo CD's BeforeHookCreation and Flux's force delete a run and create it again.
#[tokio::test]
async fn a_run_that_is_made_again_waits_for_the_launcher_of_its_namesake() {
    for restarted in [false, true] {
        let mut runs = Runs::new();
        runs.create("bench/chat", "uid-1", 1, SERVICE);
        runs.play_until("chat", Phase::Running).await;
        let first = runs.cached("chat").unwrap();
        runs.server.state().remove("benchmarkruns", "chat");
        if restarted {
            runs.restart();
        } else {
            runs.turn_of(first).await;
        }
        runs.create("bench/chat", "uid-2", 2, SERVICE);
        runs.turn("chat").await;
        let target = "http://gateway.bench.svc.cluster.local:80";
        assert_waits(&runs, "chat", &format!("1st in line for {target}; the pod of bench/chat has not ended yet"));
        // Simulates the garbage collector, which deletes the Job of a deleted run.
        let job = runs
            .server
            .state()
            .all("jobs")
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .next()
            .unwrap();
        runs.server.state().remove("jobs", &job);
        runs.play_until("chat", Phase::Succeeded).await;
        assert_eq!(runs.status("chat").attempts.len(), 1, "restarted: {restarted}");
    }
}

/// The run is deleted with a finalizer, or with `--cascade=orphan`.
#[tokio::test]
async fn the_job_of_a_deleted_run_is_deleted_once_and_waited_for() {
    for is_kept in [true, false] {
        let runs = Runs::new();
        runs.create("bench/a", "uid-1", 1, SERVICE);
        runs.play_until("a", Phase::Running).await;
        let mut deleted = runs.server.state().find("benchmarkruns", "a").unwrap().clone();
        deleted["metadata"]["deletionTimestamp"] = json!(Timestamp::now().to_string());
        deleted["metadata"]["generation"] = json!(2);
        runs.server.state().put("benchmarkruns", "a", deleted);
        let seen = runs.cached("a").unwrap();
        if !is_kept {
            runs.server.state().remove("benchmarkruns", "a");
        }
        runs.create("bench/b", "uid-2", 2, SERVICE);
        for _ in 0..3 {
            runs.context.targets.note(&seen, &settings(), Timestamp::now());
            runs.turn_of(seen.clone()).await;
        }
        let deletions: Vec<_> =
            runs.server.state().deletions.iter().filter(|it| it.starts_with("jobs/")).cloned().collect();
        assert_eq!(deletions.len(), 1, "kept: {is_kept}: {deletions:?}");
        runs.turn("b").await;
        let target = "http://gateway.bench.svc.cluster.local:80";
        assert_waits(&runs, "b", &format!("1st in line for {target}; the pod of bench/a has not ended yet"));
        runs.play_until("b", Phase::Succeeded).await;
    }
}

/// A pod with a running container and the label of the target.
fn pod(namespace: &str, target: &Value, owners: Value) -> Value {
    json!({
        "metadata": {
            "name": "forged", "namespace": namespace, "uid": "uid-forged",
            "labels": {"benchwright.dev/target": target, "benchwright.dev/run": "x", "benchwright.dev/run-uid": "uid-x"},
            "ownerReferences": owners,
        },
        "spec": {"containers": []},
        "status": {"containerStatuses": [{
            "name": "launcher", "image": "i", "imageID": "i", "ready": true, "restartCount": 0, "state": {"running": {}},
        }]},
    })
}

#[tokio::test]
async fn a_label_of_another_namespace_holds_no_target() {
    let of_job = json!([owner("job", "uid-of-job")]);
    for (namespace, owners, waits) in
        [("bench", of_job.clone(), true), ("bench", json!([]), false), ("other", of_job, false)]
    {
        let runs = Runs::new();
        runs.create("bench/first", "uid-1", 1, SERVICE);
        runs.play_until("first", Phase::Succeeded).await;
        let target =
            runs.server.state().all("jobs").next().unwrap()["metadata"]["labels"]["benchwright.dev/target"].clone();
        runs.server.state().put("pods", "forged", pod(namespace, &target, owners.clone()));
        runs.create("bench/chat", "uid-2", 2, SERVICE);
        runs.turn("chat").await;
        assert_eq!(
            runs.status("chat").reason == "TargetBusy",
            waits,
            "{namespace} {owners}: {:#?}",
            runs.status("chat")
        );
    }
}

#[tokio::test]
async fn an_operator_that_is_killed_after_the_intent_lets_nobody_else_begin() {
    for fault in [Fault::KilledAfter, Fault::AnswerLost] {
        let mut runs = Runs::new();
        runs.create("bench/a", "uid-1", 2, SERVICE);
        runs.server.state().fault = Some((0, fault));
        runs.turn("a").await;
        assert_eq!(runs.status("a").attempts.len(), 1, "the intent was written");
        if fault == Fault::KilledAfter {
            runs.restart();
        }
        // This run is older, but it was suspended before and has been resumed.
        runs.create("bench/b", "uid-2", 1, SERVICE);
        runs.turn("b").await;
        assert_waits(&runs, "b", "1st in line for http://gateway.bench.svc.cluster.local:80; bench/a uses it now");
        runs.play_until("b", Phase::Succeeded).await;
    }
}

#[tokio::test]
async fn cancel_suspend_and_deletion_of_a_waiting_run_work_at_once() {
    let runs = Runs::new();
    runs.create("bench/a", "uid-1", 1, SERVICE);
    runs.turn("a").await;
    for (field, value, phase) in
        [("cancel", json!("Graceful"), Phase::Cancelled), ("suspend", json!(true), Phase::Suspended)]
    {
        runs.create("bench/b", "uid-2", 2, SERVICE);
        runs.turn("b").await;
        assert_eq!(runs.status("b").reason, "TargetBusy");
        let mut object = runs.server.state().find("benchmarkruns", "b").unwrap().clone();
        object["spec"][field] = value;
        object["metadata"]["generation"] = json!(2);
        runs.server.state().put("benchmarkruns", "b", object);
        runs.turn("b").await;
        assert_eq!(runs.status("b").phase, Some(phase));
        let last = runs.cached("b").unwrap();
        runs.server.state().remove("benchmarkruns", "b");
        runs.turn_of(last).await;
    }
    assert_eq!(runs.context.targets.count(), 1, "only the holder is left");
}

#[tokio::test]
async fn two_hundred_waiting_runs_write_once_and_only_the_first_is_woken() {
    let runs = Runs::new();
    let mut woken = runs.context.targets.woken(None).names().boxed();
    runs.create("bench/holder", "uid-holder", 0, SERVICE);
    runs.turn("holder").await;
    let waiting: Vec<String> = (0..200).map(|it| format!("w{it:03}")).collect();
    for (at, name) in waiting.iter().enumerate() {
        let second = u32::try_from(at).unwrap() + 1;
        runs.create(&format!("bench/{name}"), &format!("uid-{name}"), second, SERVICE);
        runs.turn(name).await;
    }
    assert_waits(
        &runs,
        "w199",
        "200th in line for http://gateway.bench.svc.cluster.local:80; bench/holder uses it now",
    );
    // Events are excluded, because a separate task writes them.
    let writes = || runs.server.state().writes.iter().filter(|it| !it.ends_with("events")).count();
    let before = writes();
    for name in &waiting {
        runs.turn(name).await;
    }
    assert_eq!(writes(), before, "a waiting run is written without news");
    for _ in 0..MAX_ROUNDS {
        runs.turn("holder").await;
        runs.step();
    }
    assert_eq!(runs.status("holder").phase, Some(Phase::Succeeded));
    let first = woken.next().now_or_never().flatten();
    assert_eq!(first, Some(("bench".to_owned(), "w000".to_owned())));
    for name in &waiting {
        runs.turn(name).await;
    }
    let starting: Vec<_> = waiting.iter().filter(|it| !runs.status(it).attempts.is_empty()).collect();
    assert_eq!(starting, ["w000"]);
}

fn put(runs: &Runs, plural: &str, name: &str, spec: Value, status: Value) {
    let object = json!({"metadata": {"name": name, "namespace": "bench"}, "spec": spec, "status": status});
    runs.server.state().put(plural, name, object);
}

/// A missing object, and the action that creates it.
type Step<'a> = (&'static str, &'a dyn Fn());

#[tokio::test]
async fn a_gateway_gives_the_url_as_soon_as_all_its_parts_are_ready() {
    let runs = Runs::new();
    runs.create(
        "bench/chat",
        "uid-1",
        1,
        "{target: {gatewayRef: {name: gw}}, storage: {none: {}}, execution: {deadlines: {prepareSeconds: 999999999}}}",
    );
    let backend = json!({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "pool"});
    let rules = json!([{"matches": [{"path": {"type": "PathPrefix", "value": "/llm"}}], "backendRefs": [backend]}]);
    let accepted = json!({"parentRef": {"name": "gw"}, "conditions": [{"type": "Accepted", "status": "True"}]});
    let route = json!({"parentRefs": [{"name": "gw"}], "rules": rules});
    let gateway = json!({"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]});
    let steps: [Step<'_>; 5] = [
        ("has no such Gateway; create it", &|| put(&runs, "gateways", "gw", gateway.clone(), json!({}))),
        ("no HTTPRoute to an InferencePool", &|| put(&runs, "httproutes", "llm", route.clone(), json!({}))),
        ("InferencePool \"pool\", which does not exist; create it", &|| {
            put(&runs, "inferencepools", "pool", json!({}), json!({}))
        }),
        ("has not accepted", &|| put(&runs, "httproutes", "llm", route.clone(), json!({"parents": [accepted]}))),
        ("has no address", &|| {
            put(&runs, "gateways", "gw", gateway.clone(), json!({"addresses": [{"value": "10.0.0.7"}]}))
        }),
    ];
    for (missing, mend) in steps {
        runs.turn("chat").await;
        let status = runs.status("chat");
        assert_eq!((status.phase, status.reason.as_str()), (Some(Phase::Pending), "TargetNotFound"), "{status:#?}");
        assert!(runs.message("chat").contains(missing), "{:?} does not hold {missing:?}", runs.message("chat"));
        // The profile is only rendered when the target is ready, not in every turn of the wait.
        let metrics = runs.context.metrics.text();
        assert!(metrics.contains("render_duration_seconds_count 0"), "{metrics}");
        mend();
    }
    runs.play_until("chat", Phase::Starting).await;
    let endpoint = runs.status("chat").resolved.map(|it: Resolved| it.endpoint);
    assert_eq!(endpoint.as_deref(), Some("http://10.0.0.7:80/llm"));
    let state = runs.server.state();
    let run_yaml = state.all("configmaps").next().unwrap()["data"]["run.yaml"].as_str().unwrap().to_owned();
    assert!(run_yaml.contains("url: http://10.0.0.7:80/llm"), "the launcher gets a plain URL: {run_yaml}");
}

#[tokio::test]
async fn a_gateway_of_another_namespace_needs_a_grant_and_its_existence_is_not_told() {
    let runs = Runs::new();
    let spec = "{target: {gatewayRef: {name: gw, namespace: infra}}, storage: {none: {}}, execution: {deadlines: {prepareSeconds: 999999999}}}";
    runs.create("bench/chat", "uid-1", 1, spec);
    runs.turn("chat").await;
    let absent = runs.message("chat");
    assert!(absent.contains("no ReferenceGrant there lets BenchmarkRuns of namespace bench"), "{absent}");
    let gateway = json!({"metadata": {"name": "gw", "namespace": "infra"}, "spec": {"listeners": []}});
    runs.server.state().put("gateways", "gw", gateway);
    runs.turn("chat").await;
    assert_eq!(runs.message("chat"), absent, "the message tells whether the Gateway of another tenant exists");
    let grant = json!({
        "metadata": {"name": "grant", "namespace": "infra"},
        "spec": {
            "from": [{"group": "benchwright.dev", "kind": "BenchmarkRun", "namespace": "bench"}],
            "to": [{"group": "gateway.networking.k8s.io", "kind": "Gateway"}],
        },
    });
    runs.server.state().put("referencegrants", "grant", grant);
    runs.turn("chat").await;
    assert!(runs.message("chat").contains("no listener for HTTP or HTTPS"), "{}", runs.message("chat"));
}

#[tokio::test]
async fn a_run_that_waits_for_its_namespace_does_not_hold_its_target() {
    let mut runs = Runs::new();
    let limit = "namespaces: [{names: [bench], limits: {maxConcurrentAttempts: 1}}]";
    let context = Arc::into_inner(context(runs.server.client())).unwrap();
    runs.context = Arc::new(context.with_policy(Policy::parse(limit).unwrap()));
    runs.create("bench/first", "uid-1", 1, "{target: {simulator: {}}, storage: {none: {}}}");
    runs.turn("first").await;
    runs.create("bench/second", "uid-2", 2, SERVICE);
    runs.turn("second").await;
    assert_eq!(runs.status("second").reason, "NamespaceBusy");
    runs.create("other/chat", "uid-3", 3, URL);
    runs.turn("chat").await;
    assert_eq!(runs.status("chat").attempts.len(), 1, "{:#?}", runs.status("chat"));
}
