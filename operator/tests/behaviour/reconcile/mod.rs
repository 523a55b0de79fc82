//! The real loop of the operator on a fake API server that loses, refuses and repeats requests, while the operator may be killed.

mod ending;
mod faults;
mod forgery;
mod kept_servers;
mod leaks;
mod llm_d;
mod network;
mod policies;
mod provenance;
mod refused;
mod restored;
pub mod server;
mod servers;
mod stale;
mod stories;
mod targets;
mod unread;
pub mod world;

use std::{collections::BTreeSet, sync::Arc};

use crds::{BenchmarkRun, BenchmarkRunStatus, status::Phase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, runtime::events::Reporter};
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
use crate::behaviour::fixture::{run, settings};

/// Many more rounds than a story needs. A story that exceeds it is in an endless cycle.
const MAX_ROUNDS: usize = 60;

/// The state at the end of a story, when nothing changes any more.
#[derive(Debug, PartialEq)]
pub struct End {
    status: Value,
    children: BTreeSet<String>,
}

impl End {
    /// The end without figures, for comparisons. A pod's last report is only visible while the pod is being deleted, so an operator that is down at
    /// that time has no figures.
    fn without_figures(&self) -> (Vec<&Value>, Vec<&String>) {
        let fields = ["phase", "outcome", "reason", "attempts", "observedGeneration"];
        let kept = self.children.iter().filter(|it| !it.starts_with("jobs/"));
        (fields.map(|it| &self.status[it]).into(), kept.collect())
    }
}

pub struct Play {
    pub server: Server,
    client: Client,
    context: Arc<Context>,
}

impl Play {
    pub fn new(spec: &str) -> Self {
        let server = Server::default();
        let mut object = serde_json::to_value(run(spec)).unwrap();
        object["metadata"]["creationTimestamp"] = json!(server::now());
        server.state().put("benchmarkruns", "chat", object);
        let client = server.client();
        Play { server, context: context(client.clone()), client }
    }

    /// Uses another client from now on.
    fn use_client(&mut self, client: Client) {
        self.context = context(client.clone());
        self.client = client;
    }

    fn cached(&self) -> Option<BenchmarkRun> {
        let object = self.server.state().find("benchmarkruns", "chat").cloned()?;
        Some(serde_json::from_value(object).unwrap())
    }

    /// Runs one turn of the operator, and then one step of everything else. Returns false if nothing is left to do.
    pub async fn round(&mut self, story: Story) -> bool {
        let Some(run) = self.cached() else { return false };
        let before = self.server.state().writes.len();
        let run = Arc::new(run);
        let turn = reconcile(Arc::clone(&run), Arc::clone(&self.context)).await;
        if let Err(error) = &turn {
            on_error(run, error, Arc::clone(&self.context));
        }
        if std::mem::take(&mut self.server.state().dead) {
            // The operator restarts, so its in-memory state is lost.
            self.context = context(self.client.clone());
        }
        let wrote = self.server.state().writes.len() > before;
        let pods = step(&mut self.server.state(), story);
        self.watch(&pods);
        let terminal = self.status().phase.is_some_and(Phase::is_terminal);
        turn.is_err() || wrote || !terminal
    }

    /// Processes pod events like the operator's watch on pods.
    pub fn watch(&self, pods: &[Pod]) {
        let Some(run) = self.cached() else { return };
        pods.iter().for_each(|it| self.context.ended_pods.note(&run, it));
    }

    pub async fn play_until(&mut self, phase: Phase) {
        for _ in 0..MAX_ROUNDS {
            if self.status().phase == Some(phase) {
                return;
            }
            self.round(Story::Plain).await;
        }
        panic!("never {phase:?}: {:#?}", self.status());
    }

    pub async fn play_out(&mut self, story: Story) -> End {
        for _ in 0..MAX_ROUNDS {
            if !self.round(story).await {
                return self.end();
            }
        }
        panic!("it goes in circles: {:#?}", self.status());
    }

    /// The names of pods that are working and are not being deleted.
    fn loading(&self) -> Vec<String> {
        let state = self.server.state();
        let works = |pod: &&Value| {
            pod["metadata"]["deletionTimestamp"].is_null()
                && pod["status"]["containerStatuses"][0]["state"]["terminated"].is_null()
        };
        state.all("pods").filter(works).map(|it| it["metadata"]["name"].to_string()).collect()
    }

    /// Lets time pass, by moving all recorded times back by this many seconds.
    fn pass_time(&self, seconds: i64) {
        let mut state = self.server.state();
        let keys: Vec<_> = state.objects.keys().cloned().collect();
        for (plural, name) in keys {
            let object = earlier(state.find(&plural, &name).unwrap().clone(), seconds);
            state.put(&plural, &name, object);
        }
    }

    fn ready_message(&self) -> String {
        let conditions = self.status().conditions;
        conditions.iter().find(|it| it.kind == "Ready").map(|it| it.message.clone()).unwrap_or_default()
    }

    pub fn status(&self) -> BenchmarkRunStatus {
        self.cached().and_then(|it| it.status).unwrap_or_default()
    }

    fn end(&self) -> End {
        let status = timeless(serde_json::to_value(self.status()).unwrap());
        let state = self.server.state();
        assert!(state.most_live_jobs <= 1, "{} Jobs at once", state.most_live_jobs);
        End { status, children: children(&state) }
    }
}

fn context(client: Client) -> Arc<Context> {
    let reporter = Reporter { controller: "benchwright-operator".into(), instance: Some("test".into()) };
    Arc::new(Context::new(client, settings(), reporter, Arc::new(Health::new(Limits::default()))))
}

fn children(state: &State) -> BTreeSet<String> {
    let plurals = ["configmaps", "persistentvolumeclaims", "jobs"];
    let kept = state.objects.keys().filter(|(plural, _)| plurals.contains(&plural.as_str()));
    kept.map(|(plural, name)| format!("{plural}/{name}")).collect()
}

/// Returns the value with all times moved back.
fn earlier(value: Value, seconds: i64) -> Value {
    match value {
        Value::String(text) => match text.parse::<Timestamp>() {
            Ok(time) => json!((time - SignedDuration::from_secs(seconds)).to_string()),
            Err(_) => json!(text),
        },
        Value::Array(items) => items.into_iter().map(|it| earlier(it, seconds)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, earlier(value, seconds))).collect(),
        other => other,
    }
}

/// Returns the value without times.
fn timeless(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("a time"),
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, timeless(value))).collect(),
        other => other,
    }
}
