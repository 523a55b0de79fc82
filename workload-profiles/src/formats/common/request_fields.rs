//! Fields that a profile adds to the body of each request.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bounds::MAX_TOKENS;
use crate::{
    reader::Section,
    workload::{Extra, Sampling},
};

/// Adds the fields of the mapping `key` to the sampling, and replaces fields with the same name. `ignore_eos` and `min_tokens` become settings,
/// because the launcher writes these two fields itself.
pub(in crate::formats) fn add_request_fields(section: &Section, key: &'static str, sampling: &mut Sampling) {
    let Some(fields) = section.section(key) else { return };
    if fields.value("ignore_eos").is_some() {
        sampling.ignore_eos = fields.bool("ignore_eos").unwrap_or(sampling.ignore_eos);
    }
    if fields.value("min_tokens").is_some() {
        // 0 is the server's default, so it is not sent.
        sampling.min_tokens = fields.count_u32("min_tokens", 0..=MAX_TOKENS).filter(|it| *it > 0);
    }
    for name in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
        if fields.value(name).is_some() {
            fields.problem(name, "would replace the length of each answer; set the output length of the data instead");
        }
    }
    let handled = ["ignore_eos", "min_tokens", "max_tokens", "max_completion_tokens", "max_output_tokens"];
    let others = fields.entries().filter(|(name, _)| !handled.contains(name));
    add_fields(section, key, others.map(|(name, value)| (name.to_owned(), value.clone())), sampling);
}

/// Adds the fields that a flag sets.
pub(in crate::formats) fn add_fields(
    section: &Section,
    flag: &str,
    fields: impl IntoIterator<Item = (String, Value)>,
    sampling: &mut Sampling,
) {
    let mut all = BTreeMap::from(sampling.extra.clone());
    all.extend(fields);
    match Extra::try_from(all) {
        Ok(extra) => sampling.extra = extra,
        Err(error) => section.problem(flag, format!("cannot be sent: {error}")),
    }
}
