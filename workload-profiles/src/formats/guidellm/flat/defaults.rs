//! Defaults of GuideLLM up to version 0.6, which reads its settings from environment variables.

use serde_json::{Map, Value};

use super::nested::Nested;

/// Default concurrency limit over all processes: the default of the setting `max_concurrency` in every version up to 0.6.
const MAX_CONCURRENCY: u32 = 512;
/// Keys that exist since version 0.4. Earlier versions have `rate_type` and `backend_type`, which 0.4 to 0.6 still accept.
const SINCE_0_4: [&str; 19] = [
    "profile",
    "backend",
    "backend_kwargs",
    "data_samples",
    "data_column_mapper",
    "data_collator",
    "data_num_workers",
    "dataloader_kwargs",
    "outputs",
    "output_formats",
    "output_dir",
    "sample_requests",
    "prefer_response_metrics",
    "warmup",
    "cooldown",
    "rampup",
    "max_errors",
    "max_error_rate",
    "max_global_error_rate",
];

/// Supported settings, and the key of each in the flat form.
const SETTINGS: [(&str, &str); 2] = [("MAX_CONCURRENCY", "max_concurrency"), ("PREFERRED_ROUTE", "request_type")];
/// The prefix of GuideLLM's environment variables.
pub(in crate::formats::guidellm) const SETTING: &str = "GUIDELLM__";

/// Returns the key of a setting such as `GUIDELLM__MAX_CONCURRENCY`. `Err` describes what to do instead.
pub(in crate::formats::guidellm) fn key_of_setting(name: &str) -> Result<&'static str, String> {
    let plain = name.strip_prefix(SETTING).unwrap_or(name);
    let known = SETTINGS.iter().find(|(setting, _)| *setting == plain).map(|(_, key)| *key);
    known.ok_or_else(|| {
        let names: Vec<String> = SETTINGS.iter().map(|(setting, _)| format!("{SETTING}{setting}")).collect();
        format!(
            "is a setting of GuideLLM that is not read; take it out; the settings that are read are {}",
            names.join(" and ")
        )
    })
}

/// Sets the concurrency limit of a load that is not a closed loop. `from_rate` states whether the profile's `rate` already contains this limit.
pub(super) fn max_concurrency(
    nested: &mut Nested,
    flat: &Map<String, Value>,
    kind: &str,
    from_rate: bool,
    name: &impl Fn(&str) -> String,
) {
    const KEY: &str = "max_concurrency";
    let shown = name(KEY);
    match (flat.get(KEY), kind) {
        (Some(_), "synchronous" | "concurrent" | "replay") => {
            nested.notice(&shown, format!("is not used: a load of profile {kind} has its own bound"));
        }
        (Some(_), _) if from_rate => {
            nested
                .notice(&shown, "is not used: in profile throughput, rate is the maximum number of requests in flight");
        }
        (Some(value), _) => nested.set("profile.max_concurrency", &shown, value.clone()),
        (None, "synchronous" | "concurrent" | "replay") => {}
        (None, _) if from_rate => {}
        (None, kind) => {
            nested.set("profile.max_concurrency", &shown, MAX_CONCURRENCY.into());
            if matches!(kind, "throughput" | "sweep") {
                let message = format!(
                    "is not given: at most {MAX_CONCURRENCY} requests are in flight, the setting of GuideLLM up to 0.6; write \
                     another number for another bound"
                );
                nested.notice(&shown, message);
            }
        }
    }
}

/// Adds a notice about the API if the profile neither names the API nor contains a key that exists only since version 0.4.
pub(super) fn note_api(nested: &Nested, written: &Map<String, Value>, name: &impl Fn(&str) -> String) {
    let is_new =
        written.values().filter_map(Value::as_str).any(|it| SINCE_0_4.contains(&it.replace('-', "_").as_str()));
    if !is_new {
        let message = "is not given: requests are chats, as in GuideLLM 0.4 to 0.6; versions up to 0.3 send text completions, for which \
                       write text_completions";
        nested.notice(&name("request_type"), message);
    }
}
