//! `spec.backend`: the server's API, and how it is called.

use std::collections::BTreeMap;

use crds::{benchmark_run::Api, units::Span};
use serde_json::Value;

use super::values::{is_null, span, unsupported};
use crate::{
    formats::{
        common::{
            bounds::{MAX_PAUSE_SECONDS, MAX_TOKENS},
            headers::headers,
            target::{model, note_url},
        },
        target::Target,
    },
    reader::{Section, ValueType, described},
    workload::{Extra, Timeouts},
};

/// Default connect timeout, in seconds.
const DEFAULT_CONNECT: f64 = 5.0;

/// How requests are sent.
pub(super) struct Backend {
    pub api: Api,
    pub streaming: bool,
    pub model: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub timeouts: Timeouts,
    /// Maximum tokens of an answer, if the data does not specify its length.
    pub max_tokens: Option<u32>,
    pub body: Body,
}

/// Fields that the profile adds to the body of each request.
#[derive(Default)]
pub(super) struct Body {
    pub extra: Extra,
    /// Whether the server ignores the end-of-sequence token. Default: true for requests with an output length, false for others.
    pub ignore_eos: Option<bool>,
    pub min_tokens: Option<u32>,
}

#[derive(Clone, Copy)]
enum Format {
    Api(Api),
    Unsupported(&'static str),
}

/// Reads the section. If it is absent, returns GuideLLM's defaults.
pub(super) fn read(spec: &Section, target: Target) -> Option<Backend> {
    let Some(section) = spec.section("backend") else {
        return Some(Backend {
            api: Api::Chat,
            streaming: true,
            model: None,
            headers: BTreeMap::new(),
            timeouts: timeouts(None, Some(DEFAULT_CONNECT), true)?,
            max_tokens: None,
            body: Body::default(),
        });
    };
    if let Some(kind) = section.text("kind").filter(|it| *it != "openai_http") {
        section.problem("kind", unsupported(kind, "write openai_http, and a server that answers over HTTP"));
        // Do not report further problems, because the other keys belong to the unsupported kind.
        return None;
    }
    check_target(&section, target);
    let model = model(&section, "model", target);
    let format = request_format(&section);
    let streaming = section.bool("stream").unwrap_or(true);
    if !streaming {
        section.notice("stream", "is off, so that TTFT, TPOT and ITL cannot be measured; set it to true for them");
    }
    let timeout = section.positive_number("timeout", MAX_PAUSE_SECONDS as f64);
    let written_connect = section.positive_number("timeout_connect", MAX_PAUSE_SECONDS as f64);
    let connect = if is_null(&section, "timeout_connect") { None } else { written_connect.or(Some(DEFAULT_CONNECT)) };
    let max_tokens = max_tokens(&section);
    let (headers, body) = extras(&section);
    connection(&section, target);
    section.finish();
    Some(Backend {
        api: format?,
        streaming,
        model,
        headers,
        timeouts: timeouts(timeout, connect, streaming)?,
        max_tokens,
        body,
    })
}

fn check_target(section: &Section, target: Target) {
    if let Some(url) = section.text("target") {
        note_url(section, "target", url.trim_end_matches('/').trim_end_matches("/v1"), target);
    }
}

fn request_format(section: &Section) -> Option<Api> {
    let formats = [
        ("/v1/chat/completions", Format::Api(Api::Chat)),
        ("/v1/completions", Format::Api(Api::Completions)),
        ("/v1/responses", Format::Api(Api::Responses)),
        // Versions up to 0.6 have these names.
        ("chat_completions", Format::Api(Api::Chat)),
        ("text_completions", Format::Api(Api::Completions)),
        ("/v1/embeddings", Format::Unsupported("/v1/embeddings")),
        ("/v1/audio/transcriptions", Format::Unsupported("/v1/audio/transcriptions")),
        ("/v1/audio/translations", Format::Unsupported("/v1/audio/translations")),
        ("audio_transcriptions", Format::Unsupported("audio_transcriptions")),
        ("audio_translations", Format::Unsupported("audio_translations")),
        ("/pooling", Format::Unsupported("/pooling")),
    ];
    let api = match section.or_default("request_format", formats[0].1, |it, key| it.choice(key, &formats))? {
        Format::Api(api) => api,
        Format::Unsupported(name) => {
            let remedy = "write /v1/chat/completions, /v1/completions or /v1/responses";
            section.problem("request_format", unsupported(name, remedy));
            return None;
        }
    };
    let path = match api {
        Api::Completions => "/v1/completions",
        Api::Responses => "/v1/responses",
        Api::Chat | Api::Messages => "/v1/chat/completions",
    };
    if let Some(routes) = section.section("api_routes") {
        for (key, route) in routes.entries() {
            let names = [path, if api == Api::Completions { "text_completions" } else { "chat_completions" }];
            let is_path = route.as_str().is_some_and(|it| it.trim_matches('/') == path.trim_matches('/'));
            if names.contains(&key) && !is_path {
                routes
                    .problem(key, format!("is {}; requests are sent to {path}, take the route out", described(route)));
            }
        }
    }
    Some(api)
}

/// GuideLLM's `timeout` limits the time without any data from the server.
fn timeouts(timeout: Option<f64>, connect: Option<f64>, streaming: bool) -> Option<Timeouts> {
    let connect = span(connect.unwrap_or(MAX_PAUSE_SECONDS as f64))?;
    let silence: Option<Span> = timeout.and_then(span);
    Some(match streaming {
        true => Timeouts { connect, first_token: silence, token_gap: silence, request: None },
        false => Timeouts { connect, first_token: None, token_gap: None, request: silence },
    })
}

fn max_tokens(section: &Section) -> Option<u32> {
    let (name, alias) = ("max_tokens", "max_completion_tokens");
    if section.value(name).is_some() && section.value(alias).is_some() {
        section.problem(alias, format!("means the same as {name}; keep one of them"));
    }
    let key = if section.value(alias).is_some() { alias } else { name };
    section.count_u32(key, 1..=MAX_TOKENS)
}

/// Reads `extras`: fields that are added to each request.
fn extras(section: &Section) -> (BTreeMap<String, String>, Body) {
    let Some(extras) = section.section("extras") else { return (BTreeMap::new(), Body::default()) };
    let sent = extras.section("headers").as_ref().map(headers).unwrap_or_default();
    for key in ["params", "files", "content"] {
        if extras.section(key).is_some_and(|it| it.entries().next().is_some()) {
            extras.problem(key, "is not supported; take it out, or write fields of the body under body");
        }
    }
    for key in ["method", "stream"] {
        if extras.value(key).is_some() {
            let remedy =
                if key == "stream" { "write it beside extras" } else { "take it out, every request is a POST" };
            extras.problem(key, format!("is not supported here; {remedy}"));
        }
    }
    let body = extras.section("body").map(body).unwrap_or_default();
    extras.finish();
    (sent, body)
}

fn body(section: Section) -> Body {
    let ignore_eos = section.bool("ignore_eos");
    let min_tokens = section.count_u32("min_tokens", 0..=MAX_TOKENS).filter(|it| *it > 0);
    let own = ["ignore_eos", "min_tokens"];
    let others = section.entries().filter(|(key, value)| !own.contains(key) && !value.is_null());
    let fields: BTreeMap<String, Value> = others.map(|(key, it)| (key.to_owned(), it.clone())).collect();
    let extra = Extra::try_from(fields).unwrap_or_else(|error| {
        section.problem_of_all(format!("cannot be sent: {error}"));
        Extra::default()
    });
    Body { extra, ignore_eos, min_tokens }
}

/// Checks keys about the connection. They have no effect, because the run's target decides these settings.
fn connection(section: &Section, target: Target) {
    if section.ignored("api_key", ValueType::Text) {
        section.notice("api_key", "is not sent; put the token into a Secret, and name the Secret in target.auth");
    }
    let is_tls = target.url.is_some_and(|it| it.starts_with("https:"));
    let verify = match section.value("verify") {
        // Versions up to 0.6 accept the path of a certificate.
        Some(Value::String(_)) => section.ignored("verify", ValueType::Text),
        _ => section.bool("verify").unwrap_or(false),
    };
    if is_tls && !verify {
        section.notice("verify", "is off, so that GuideLLM takes every certificate; here target.tls of the run decides, and certificates are checked unless it says otherwise");
    }
    if section.bool("http2") == Some(false) {
        section.notice("http2", "is not used: target.http of the run decides on the version of HTTP");
    }
    section.ignored("follow_redirects", ValueType::Bool);
    if section.bool("server_history") == Some(true) {
        section
            .problem("server_history", unsupported("true", "set it to false, and each turn holds the turns before it"));
    }
    if section.value("multiturn_reasoning").is_some_and(|it| !matches!(it, Value::Bool(false))) {
        section.problem(
            "multiturn_reasoning",
            unsupported("on", "set it to false, and later turns hold the answers without the reasoning"),
        );
    }
    // The two keys below have no effect: no request has tools, and the launcher checks in its own way whether the server is ready.
    section.ignored("tool_call_missing_behavior", ValueType::Text);
    section.value("validate_backend");
}
