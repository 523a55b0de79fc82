//! The source of the profile's text, and the checks of the spec's profile fields.

use super::{Errors, effective};
use crate::benchmark_run::{BenchmarkRunSpec, KeyRef, MAX_INLINE_PROFILE_BYTES, MAX_PROMPT_SALT_BYTES};

/// The source of the profile's text. The caller reads the ConfigMap or the shipped file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// The name of a shipped profile.
    Shipped(String),
    /// The text itself, from the spec.
    Inline(String),
    /// A key of a ConfigMap.
    ConfigMap(KeyRef),
}

impl ProfileSource {
    /// The profile that a spec names; by default the sanity check of its harness.
    pub fn from_spec(spec: &BenchmarkRunSpec) -> ProfileSource {
        let profile = &spec.profile;
        match (&profile.name, &profile.inline, &profile.config_map_ref) {
            (_, Some(text), _) => ProfileSource::Inline(text.clone()),
            (_, _, Some(key)) => ProfileSource::ConfigMap(key.clone()),
            (Some(name), _, _) => ProfileSource::Shipped(name.clone()),
            (None, None, None) => ProfileSource::Shipped(effective::harness(spec).default_profile().into()),
        }
    }

    /// The name of the source in reports.
    pub fn name(&self) -> String {
        match self {
            ProfileSource::Shipped(name) => name.clone(),
            ProfileSource::Inline(_) => "inline".into(),
            ProfileSource::ConfigMap(key) => format!("configMap/{}/{}", key.name, key.key),
        }
    }
}

pub(super) fn check(spec: &BenchmarkRunSpec, errors: &mut Errors) {
    let profile = &spec.profile;
    let given = [profile.name.is_some(), profile.inline.is_some(), profile.config_map_ref.is_some()];
    if given.into_iter().filter(|it| *it).count() > 1 {
        errors.add("spec.profile", "has more than one of name, inline and configMapRef; keep one of them");
    }
    if let Some(text) = profile.inline.as_ref().filter(|it| it.len() > MAX_INLINE_PROFILE_BYTES) {
        errors.add(
            "spec.profile.inline",
            &format!("has {} bytes, and {MAX_INLINE_PROFILE_BYTES} are allowed; put it into a ConfigMap", text.len()),
        );
    }
    let is_salt =
        |it: &str| (1..=MAX_PROMPT_SALT_BYTES).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_graphic());
    if let Some(found) = profile.prompt_salt.as_ref().filter(|it| !is_salt(it)) {
        let found: String = found.chars().take(80).collect();
        let remedy = "give the seeds.promptSalt of the report.json whose prompts are to be sent again";
        errors.add(
            "spec.profile.promptSalt",
            &format!(
                "is {found:?}, not 1 to {MAX_PROMPT_SALT_BYTES} printable ASCII characters without blanks; {remedy}"
            ),
        );
    }
}
