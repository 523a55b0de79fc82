//! Section `api`: which endpoint is called, and how.

use std::collections::BTreeMap;

use crds::{benchmark_run::Api, units::Span};
use serde_json::{Value, json};

use super::values::{MAX_CONSTRAINT_SECONDS, span, unsupported};
use crate::{
    formats::common::headers::{header_name, headers},
    problem::quoted,
    reader::Section,
    workload::{AfterFailure, Extra, Goodput, Sessions, Unit},
    yaml::decimal,
};

/// How requests are sent.
pub(super) struct ApiSection {
    pub api: Api,
    pub streaming: bool,
    pub headers: BTreeMap<String, String>,
    /// Additional fields of the request body.
    pub extra: Extra,
    /// The latency limits in the SLO header fields.
    pub goodput: Goodput,
    /// The header field that contains the id of a session.
    pub session_header: Option<String>,
    /// A header field of answers whose value inference-perf sends with the next request of the session.
    pub session_token_header: Option<String>,
}

#[derive(Clone, Copy)]
enum Type {
    Supported(Api),
    Unsupported(&'static str),
}

impl ApiSection {
    /// Reads the section. If it is absent, returns inference-perf's defaults.
    pub fn read(section: Option<Section>) -> Self {
        let Some(section) = section else {
            return ApiSection {
                api: Api::Completions,
                streaming: false,
                headers: BTreeMap::new(),
                extra: Extra::default(),
                goodput: Goodput::default(),
                session_header: None,
                session_token_header: None,
            };
        };
        let types = [
            ("completion", Type::Supported(Api::Completions)),
            ("chat", Type::Supported(Api::Chat)),
            ("anthropic_messages", Type::Supported(Api::Messages)),
            ("embeddings", Type::Unsupported("embeddings")),
        ];
        let api = match section.choice("type", &types) {
            Some(Type::Supported(api)) => api,
            Some(Type::Unsupported(name)) => {
                section.problem("type", unsupported(name, &["completion", "chat", "anthropic_messages"]));
                Api::Completions
            }
            None => Api::Completions,
        };
        let streaming = section.bool("streaming").unwrap_or(false);
        if !streaming {
            section
                .notice("streaming", "is off, so that TTFT, TPOT and ITL cannot be measured; set it to true for them");
        }
        let extra = section.section("response_format").map(|it| response_format(&section, it, api));
        let session_header = header_name(&section, "session_id_header_key");
        let session_token_header = section.text("session_token_header_key").map(str::to_owned);
        let fields = section.section("headers");
        let headers = fields.as_ref().map(headers).unwrap_or_default();
        let goodput = slo_headers(&section, fields.as_ref(), &headers);
        section.finish();
        let extra = extra.unwrap_or_default();
        ApiSection { api, streaming, headers, extra, goodput, session_header, session_token_header }
    }

    /// Returns how sessions are sent. `has_sessions` states whether the load has any.
    pub fn sessions(&self, root: &Section, unit: Unit, has_sessions: bool) -> Sessions {
        for (key, header) in
            [("session_id_header_key", &self.session_header), ("session_token_header_key", &self.session_token_header)]
        {
            if header.is_some() && !has_sessions {
                root.notice(
                    "api",
                    format!("has {key}, which is not sent: the requests of this load do not belong to sessions"),
                );
            }
        }
        if self.session_token_header.is_some() && has_sessions {
            root.problem("api", "has session_token_header_key, and tokens of answers are not sent back; take it out, or route by session_id_header_key");
        }
        let after_failure = if unit == Unit::Session { AfterFailure::End } else { AfterFailure::Continue };
        let header = self.session_header.clone().filter(|_| has_sessions);
        Sessions { unit, header, keep_connection: false, after_failure }
    }
}

/// Reads the format that answers must have. As in inference-perf, only chats send the format. The body field has the same name as the key.
fn response_format(api: &Section, section: Section, kind: Api) -> Extra {
    let schema = section.section("json_schema").map(|it| {
        let fields: serde_json::Map<_, _> = it.entries().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        Value::Object(fields)
    });
    let name = section.text("name").unwrap_or("structured_output");
    let object = section.choice("type", &[("json_schema", false), ("json_object", true)]) == Some(true);
    let format = if object {
        json!({"type": "json_object"})
    } else {
        section.require("json_schema", "write the JSON schema that answers must follow, or type: json_object");
        json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
    };
    section.finish();
    if kind != Api::Chat {
        api.notice("response_format", "is not sent: inference-perf sends it only with chats");
        return Extra::default();
    }
    let fields = BTreeMap::from([("response_format".to_owned(), format)]);
    Extra::try_from(fields).unwrap_or_else(|error| {
        api.problem("response_format", format!("cannot be sent: {error}"));
        Extra::default()
    })
}

/// Reads the header fields for SLOs. They are sent to the server, and a good request must also meet them.
fn slo_headers(api: &Section, fields: Option<&Section>, headers: &BTreeMap<String, String>) -> Goodput {
    let (unit, per_second) =
        api.choice("slo_unit", &[("ms", ("ms", 1e3)), ("s", ("s", 1.0)), ("us", ("us", 1e6))]).unwrap_or(("ms", 1e3));
    let bound = |key: &'static str, figure: &str| -> Option<Span> {
        let wanted = api.text(key).map_or_else(|| format!("x-slo-{figure}-{unit}"), str::to_owned);
        let (name, text) = headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(&wanted))?;
        let seconds = decimal(text.trim()).map(|it| it / per_second);
        let seconds = seconds.filter(|it| *it > 0.0 && *it <= MAX_CONSTRAINT_SECONDS);
        if seconds.is_none() {
            let message = format!("is {}; write a number of {unit} above 0, as it is an SLO", quoted(text));
            fields?.problem(name, message);
        }
        span(seconds?)
    };
    Goodput { ttft: bound("slo_ttft_header", "ttft"), tpot: bound("slo_tpot_header", "tpot"), ..Goodput::default() }
}
