//! Section `server`: only the model and `ignore_eos` affect the load.

use crate::{
    formats::{
        common::target::{check_url, model},
        target::Target,
    },
    reader::{Section, ValueType},
};

/// Reads the model, and whether the server ignores the end-of-sequence token.
pub(super) fn read(section: Option<Section>, target: Target) -> (Option<String>, bool) {
    let Some(section) = section else { return (None, true) };
    const MOCK: &str = "mock";
    let servers = [("vllm", "vllm"), ("sglang", "sglang"), ("tgi", "tgi"), (MOCK, MOCK)];
    if section.choice("type", &servers) == Some(MOCK) {
        section.problem(
            "type",
            "is \"mock\", which calls no server; take it out, and set target.simulator for a run without one",
        );
    }
    let model = model(&section, "model_name", target);
    check_url(&section, "base_url", target);
    if section.ignored("api_key", ValueType::Text) {
        section.notice("api_key", "is not sent; put the token into a Secret, and name the Secret in target.auth");
    }
    if section.ignored("cert_path", ValueType::Text) | section.ignored("key_path", ValueType::Text) {
        section.notice("cert_path", "is not used: client certificates are not supported yet");
    }
    let ignore_eos = section.bool("ignore_eos").unwrap_or(true);
    section.finish();
    (model, ignore_eos)
}
