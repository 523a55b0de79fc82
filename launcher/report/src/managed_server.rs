//! The server that was started for a run, as the rows and sentences of its section in Markdown and on the page. No text is escaped here.

use std::time::Duration;

use crds::{benchmark_run::Lifecycle, leftovers::Leftovers, units::Span};

use crate::text::optional;
use document::ManagedServerDocument;

/// The columns of [`rows`].
pub const COLUMNS: [&str; 7] = ["replica", "URL", "process", "started", "launch to ready", "requests", "end"];
/// The index of the column with the start time, which a page shows to the second.
pub const STARTED: usize = 3;
/// Prefix of the exit text of a replica that ended unexpectedly.
pub(crate) const DIED: &str = "died";

/// When the server was started, and whether it still runs, as a sentence.
pub fn headline(server: &ManagedServerDocument) -> &'static str {
    match (server.reused, &server.end) {
        _ if server.in_pods && server.lifecycle == Lifecycle::PerRun => {
            "It ran in a cluster, was started before this load, and is removed after it."
        }
        _ if server.in_pods => "It runs in a cluster, and continues after this run.",
        (true, _) => "It was started before this run, and still runs.",
        (false, Some(_)) => "It was started for this run, and ended with it.",
        (false, None) if server.lifecycle == Lifecycle::PerRun => "It was started for the runs of this series.",
        (false, None) => "It was started for this run, and still runs.",
    }
}

/// One row per replica.
pub fn rows(server: &ManagedServerDocument) -> impl Iterator<Item = [String; COLUMNS.len()]> {
    server.replicas.iter().enumerate().map(|(index, it)| {
        let ready = it.ready_ms.map(|it| Span(Duration::from_millis(it)).rounded().to_string());
        let exit = it.exit.clone().unwrap_or_else(|| "runs".to_owned());
        [
            index.to_string(),
            it.url.clone(),
            it.pid.to_string(),
            it.started.to_string(),
            optional(ready, |it| it),
            optional(it.requests, |it| it.to_string()),
            if it.died { format!("{DIED}: {exit}") } else { exit },
        ]
    })
}

/// Sentences about the whole server: its unknown options, the notes of the run, and what it left behind when it ended.
pub fn notes(server: &ManagedServerDocument) -> Vec<String> {
    let options: Vec<String> = server.unknown_options.iter().map(|it| format!("--{it}")).collect();
    let options = (!options.is_empty())
        .then(|| format!("options that this release does not know and passes on unchanged: {}", options.join(", ")));
    let left = match server.end.as_ref().map(Leftovers::notes) {
        None => Vec::new(),
        Some(notes) if notes.is_empty() => {
            vec!["after its end, none of its processes, ports or shared memory was left".to_owned()]
        }
        Some(notes) => notes,
    };
    options.into_iter().chain(server.notes.iter().cloned()).chain(left).collect()
}
