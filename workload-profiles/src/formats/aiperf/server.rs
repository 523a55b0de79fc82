//! The API, the models and the goodput of a profile, and how long a request can take.

use std::collections::BTreeMap;

use crds::{benchmark_run::Api, units::Span};

use crate::{
    formats::{
        common::{
            bounds::MAX_PAUSE_SECONDS,
            flags::word,
            headers::headers,
            target::{note_model, note_url},
            times::span,
        },
        target::Target,
    },
    problem::quoted,
    reader::Section,
    workload::{Assignment, Extra, TrafficClass, TrafficClasses, Workload},
};

/// Maximum models of a profile.
const MAX_MODELS: usize = 1_000;
/// Default request timeout of AIPerf, in seconds.
const DEFAULT_TIMEOUT: f64 = 21_600.0;

const APIS: [(&str, Api, &str); 3] = [
    ("chat", Api::Chat, "/v1/chat/completions"),
    ("completions", Api::Completions, "/v1/completions"),
    ("responses", Api::Responses, "/v1/responses"),
];

/// Reads the API, and checks the server's address. Returns `None` if a problem was reported.
pub(super) fn api(root: &Section, target: Target) -> Option<Api> {
    address(root, target);
    let found = word(root, "endpoint-type").unwrap_or_else(|| "chat".to_owned());
    let Some((_, api, path)) = APIS.iter().find(|(name, _, _)| *name == found) else {
        let message = format!(
            "is {}, which this engine does not call; choose one of chat, completions and responses",
            quoted(&found)
        );
        root.problem("endpoint-type", message);
        word(root, "custom-endpoint");
        return None;
    };
    if let Some(found) =
        word(root, "custom-endpoint").filter(|it| it.trim_start_matches('/') != path.trim_start_matches('/'))
    {
        let remedy = "put the part before it into target.url of the run, and take custom-endpoint out";
        root.problem(
            "custom-endpoint",
            format!("is {}, and requests of this endpoint-type go to {path}; {remedy}", quoted(&found)),
        );
    }
    Some(*api)
}

fn address(root: &Section, target: Target) {
    let Some(urls) = root.list("url") else { return };
    if urls.len() > 1 {
        root.problem("url", format!("holds {} servers; name one, or a gateway before them", urls.len()));
    }
    if let [(_, url)] = urls.as_slice() {
        let url = url.as_str().unwrap_or_default();
        let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        // The launcher writes this URL for the embedded simulator, so it never differs from the target.
        if url != "http://simulator" {
            note_url(root, "url", &url, target);
        }
    }
}

/// Fills in the models, the header fields and whether answers are streamed.
pub(super) fn fill(root: &Section, target: Target, workload: &mut Workload) {
    workload.streaming = root.bool("streaming") == Some(true);
    if !workload.streaming {
        root.notice(
            "streaming",
            "is off, so that TTFT, TPOT and ITL cannot be measured; write streaming: none for them",
        );
    }
    workload.headers = root.section("header").as_ref().map(headers).unwrap_or_default();
    let strategies = [("round_robin", Assignment::RoundRobin), ("random", Assignment::Random)];
    let assignment =
        root.or_default("model-selection-strategy", Assignment::RoundRobin, |it, key| it.choice(key, &strategies));
    let models: Vec<&str> = root.list("model").into_iter().flatten().filter_map(|(_, it)| it.as_str()).collect();
    match models.as_slice() {
        [] => {}
        [one] => {
            note_model(root, "model", one, target);
            workload.model = Some((*one).to_owned());
        }
        several if several.len() > MAX_MODELS => {
            root.problem("model", format!("holds {} names; write at most {MAX_MODELS}", several.len()));
        }
        several => {
            let twice = several.iter().enumerate().find(|(index, name)| several[..*index].contains(name));
            if let Some((_, name)) = twice {
                root.problem("model", format!("holds {} twice; keep one", quoted(name)));
            }
            let classes = several.iter().map(|name| class(name)).collect();
            workload.classes = TrafficClasses { assignment: assignment.unwrap_or_default(), classes };
        }
    }
}

fn class(model: &str) -> TrafficClass {
    let (headers, extra) = (BTreeMap::new(), Extra::default());
    TrafficClass { name: model.to_owned(), weight: 1.0, model: Some(model.to_owned()), headers, output: None, extra }
}

/// How long a request can take.
pub(super) fn timeout(root: &Section) -> Option<Span> {
    let read = |it: &Section, key| it.positive_number(key, MAX_PAUSE_SECONDS as f64);
    let seconds = root.or_default("request-timeout-seconds", DEFAULT_TIMEOUT, read)?;
    span(seconds)
}
