//! The real loop on an API server of our own that loses, refuses and repeats, with an operator that is killed.

mod forgery;
mod server;
mod stories;
mod world;

use std::{collections::BTreeSet, sync::Arc};

use crds::{BenchmarkRun, BenchmarkRunStatus, status::Phase};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::events::Reporter;
use operator::{
    connection::{Health, Limits},
    context::Context,
    reconcile::{on_error, reconcile},
};
use serde_json::{Value, json};

use self::{
    server::{Server, State},
    world::{Story, step},
};
use crate::fixture::{run, settings};

/// Far more than any story takes; what needs more goes in circles.
const MAX_ROUNDS: usize = 60;

/// What is left when all has come to rest.
#[derive(Debug, PartialEq)]
struct End {
    status: Value,
    children: BTreeSet<String>,
}

impl End {
    /// The last word of a pod that was deleted can be seen only while it goes: who is away in that moment has no figures.
    fn without_figures(&self) -> (Vec<&Value>, Vec<&String>) {
        let fields = ["phase", "outcome", "reason", "attempts", "observedGeneration"];
        let kept = self.children.iter().filter(|it| !it.starts_with("jobs/"));
        (fields.map(|it| &self.status[it]).into(), kept.collect())
    }
}

struct Play {
    server: Server,
    context: Arc<Context>,
}

impl Play {
    fn new(spec: &str) -> Self {
        let server = Server::default();
        let mut object = serde_json::to_value(run(spec)).unwrap();
        object["metadata"]["creationTimestamp"] = json!(server::now());
        server.state().put("benchmarkruns", "chat", object);
        let context = context(&server);
        Play { server, context }
    }

    fn cached(&self) -> Option<BenchmarkRun> {
        let object = self.server.state().find("benchmarkruns", "chat").cloned()?;
        Some(serde_json::from_value(object).unwrap())
    }

    /// One turn of the operator, then one step of everything else. False when nothing is left to be done.
    async fn round(&mut self, story: Story) -> bool {
        let Some(run) = self.cached() else { return false };
        let before = self.server.state().writes.len();
        let run = Arc::new(run);
        let turn = reconcile(Arc::clone(&run), Arc::clone(&self.context)).await;
        if let Err(error) = &turn {
            on_error(run, error, Arc::clone(&self.context));
        }
        if std::mem::take(&mut self.server.state().dead) {
            // Nothing that was only in memory is left.
            self.context = context(&self.server);
        }
        let wrote = self.server.state().writes.len() > before;
        let pods = step(&mut self.server.state(), story);
        self.watch(&pods);
        let terminal = self.status().phase.is_some_and(Phase::is_terminal);
        turn.is_err() || wrote || !terminal
    }

    /// What the watch on pods does with each event.
    fn watch(&self, pods: &[Pod]) {
        let Some(run) = self.cached() else { return };
        pods.iter().for_each(|it| self.context.ended_pods.note(&run, it));
    }

    async fn play_until(&mut self, phase: Phase) {
        for _ in 0..MAX_ROUNDS {
            if self.status().phase == Some(phase) {
                return;
            }
            self.round(Story::Plain).await;
        }
        panic!("never {phase:?}: {:#?}", self.status());
    }

    async fn play_out(&mut self, story: Story) -> End {
        for _ in 0..MAX_ROUNDS {
            if !self.round(story).await {
                return self.end();
            }
        }
        panic!("it goes in circles: {:#?}", self.status());
    }

    /// Pods that work on, and that nobody has asked to end.
    fn loading(&self) -> Vec<String> {
        let state = self.server.state();
        let works = |pod: &&Value| {
            pod["metadata"]["deletionTimestamp"].is_null()
                && pod["status"]["containerStatuses"][0]["state"]["terminated"].is_null()
        };
        state.all("pods").filter(works).map(|it| it["metadata"]["name"].to_string()).collect()
    }

    fn status(&self) -> BenchmarkRunStatus {
        self.cached().and_then(|it| it.status).unwrap_or_default()
    }

    fn end(&self) -> End {
        let status = timeless(serde_json::to_value(self.status()).unwrap());
        let state = self.server.state();
        assert!(state.most_live_jobs <= 1, "{} Jobs at once", state.most_live_jobs);
        End { status, children: children(&state) }
    }
}

fn context(server: &Server) -> Arc<Context> {
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    Arc::new(Context::new(server.client(), settings(), reporter, Arc::new(Health::new(Limits::default()))))
}

fn children(state: &State) -> BTreeSet<String> {
    let plurals = ["configmaps", "persistentvolumeclaims", "jobs"];
    let kept = state.objects.keys().filter(|(plural, _)| plurals.contains(&plural.as_str()));
    kept.map(|(plural, name)| format!("{plural}/{name}")).collect()
}

/// The same value with every time taken out.
fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("a time"),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, timeless(value))).collect(),
        other => other,
    }
}
