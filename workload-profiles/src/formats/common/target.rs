//! The model and the server that a profile names, compared with the run's target.

use crate::{formats::Target, reader::Section};

/// Returns the model that a key names, with a notice if the run requests another model. `None` if the key is absent, empty or wrong.
pub(in crate::formats) fn model(section: &Section, key: &'static str, target: Target) -> Option<String> {
    let model = section.text(key).map(str::trim).filter(|it| !it.is_empty())?;
    note_model(section, key, model, target);
    Some(model.to_owned())
}

/// Adds a notice if a key contains a URL that differs from the run's target.
pub(in crate::formats) fn check_url(section: &Section, key: &'static str, target: Target) {
    if let Some(url) = section.text(key) {
        note_url(section, key, url, target);
    }
}

/// Adds a notice if the run requests another model.
pub(in crate::formats) fn note_model(section: &Section, key: &str, model: &str, target: Target) {
    if let Some(requested) = target.model.filter(|it| *it != model) {
        section.notice(key, format!("is {model}, but target.model of the run is {requested}, which is used"));
    }
}

/// Adds a notice if the run's target differs from `url`. Ignores a trailing slash, and an empty URL.
pub(in crate::formats) fn note_url(section: &Section, key: &str, url: &str, target: Target) {
    let url = url.trim_end_matches('/');
    if !url.is_empty() {
        section.findings.names_url(url);
    }
    if let Some(target) = target.url.filter(|it| !url.is_empty() && it.trim_end_matches('/') != url) {
        section.notice(key, format!("is {url}, but requests are sent to the target of the run, {target}"));
    }
}

#[cfg(test)]
mod tests {
    use crds::benchmark_run::Harness;

    use super::*;
    use crate::parse_text;

    fn check(harness: Harness, profile: &str, key: &str, is_named: bool) {
        let target = Target { url: Some("http://h"), ..Target::default() };
        let (_, notices) = parse_text(harness, target, profile).unwrap();
        let found = notices.iter().any(|it| it.to_string().starts_with(&format!("{key}: ")));
        assert_eq!(found, is_named, "{profile}: {notices:?}");
    }

    #[test]
    fn a_slash_at_the_end_is_no_other_target_in_any_format() {
        for (url, is_named) in [("http://h", false), ("http://h/", false), ("", false), ("http://other/", true)] {
            check(
                Harness::InferencePerf,
                &format!(
                    "load: {{stages: [{{rate: 1, duration: 1}}]}}\ndata: {{type: mock}}\nserver: {{base_url: '{url}'}}"
                ),
                "server.base_url",
                is_named,
            );
            check(
                Harness::Fmperf,
                &format!("scenarios: long-input\nqps_values: 1\nbase_url: '{url}'"),
                "base_url",
                is_named,
            );
            check(
                Harness::PriorityMix,
                &format!("trafficClasses: [{{name: a}}]\nendpoint_url: '{url}'"),
                "endpoint_url",
                is_named,
            );
        }
    }
}
