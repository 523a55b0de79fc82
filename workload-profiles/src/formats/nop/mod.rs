//! nop: no load except one request. How long a server takes to start is read from its log.

use serde_json::Value;

use super::format::{Format, profile};
use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::Workload,
};

/// The keys of a profile.
const KEYS: [&str; 5] = ["model_name", "pvc_name", "image", "service_account", SLEEP_LEVELS];
/// A key of our own. llm-d-benchmark reads the sleep mode from the deployment.
const SLEEP_LEVELS: &str = "sleep_levels";

/// The profiles of nop.
pub(super) const FORMAT: Format = Format {
    parse: |profile, _, findings| parse(profile, findings),
    root_keys: || &[],
    stage_length: None,
    shipped: &[profile!("nop", "nop")],
};

/// Reads a profile. llm-d-benchmark's keys have no effect, because the run names the server to start and its model.
fn parse(profile: &Value, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    // Earlier releases of llm-d-benchmark also have `image` and `service_account`.
    let of_the_original = ["model_name", "pvc_name", "image", "service_account"];
    root.all_ignored(&of_the_original.map(|it| (it, ValueType::Text)));
    let levels = root.list(SLEEP_LEVELS).unwrap_or_default();
    let sleep_levels: Vec<u8> = levels.iter().filter_map(|(_, it)| level(it)).collect();
    let is_twice = sleep_levels.iter().enumerate().any(|(at, it)| sleep_levels[..at].contains(it));
    if sleep_levels.len() < levels.len() || is_twice {
        let found = Value::Array(levels.into_iter().map(|(_, it)| it.clone()).collect());
        root.problem(SLEEP_LEVELS, format!("is {found}; write the levels 1 and 2, each at most once, such as [1, 2]"));
    }
    root.finish();
    Some(Workload { sleep_levels, ..Workload::startup() })
}

/// Returns a level of vLLM's sleep mode: 1 or 2.
fn level(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|it| u8::try_from(it).ok()).filter(|it| (1..=2).contains(it))
}

#[cfg(test)]
mod tests {
    use crds::benchmark_run::Harness;
    use proptest::prelude::*;

    use crate::{
        formats::Target,
        parse_text,
        workload::{Work, Workload},
    };

    #[test]
    fn a_profile_is_the_start_of_a_server_and_one_request() {
        let earlier = "model_name: m\npvc_name: p\nimage: i\nservice_account: s";
        for text in ["model_name: m\npvc_name: p", earlier, "model_name: m", "{}"] {
            let (workload, notices) = parse_text(Harness::Nop, Target::default(), text).unwrap();
            assert_eq!((workload.work, workload.stages.len()), (Work::Startup, 1), "{text}");
            assert_eq!(notices, [], "{text}");
        }
    }

    #[test]
    fn it_is_written_and_read_as_what_it_is() {
        let json = serde_json::to_value(Workload::startup()).unwrap();
        assert_eq!(json["work"], "startup");
        assert_eq!(serde_json::from_value::<Workload>(json).unwrap(), Workload::startup());
    }

    #[test]
    fn levels_of_sleep_are_one_and_two() {
        let read = |text: &str| parse_text(Harness::Nop, Target::default(), text);
        assert_eq!(read("sleep_levels: [2, 1]").unwrap().0.sleep_levels, [2, 1]);
        assert_eq!(read("sleep_levels: []").unwrap().0.sleep_levels, Vec::<u8>::new());
        for wrong in ["[3]", "[0]", "[1,1]", "[x]", "[1.5]"] {
            let error = read(&format!("sleep_levels: {wrong}")).unwrap_err().to_string();
            assert!(error.contains("sleep_levels: is [") && error.contains("write the levels 1 and 2"), "{error}");
        }
        assert!(read("sleep_levels: 1").unwrap_err().to_string().contains("write a list"));
    }

    #[test]
    fn its_mistakes_are_named() {
        let found = parse_text(Harness::Nop, Target::default(), "modelname: m\npvc_name: 5").unwrap_err().to_string();
        assert!(found.contains("modelname: is no known key; did you mean model_name?"), "{found}");
        assert!(found.contains("pvc_name: is 5; write a text"), "{found}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,80}|(model_name|pvc_name|[a-z]{1,5}): [-a-z0-9.\\[\\]{}]{0,20}") {
            if let Ok((workload, _)) = parse_text(Harness::Nop, Target::default(), &text) {
                prop_assert_eq!(workload.work, Work::Startup);
            }
        }
    }
}
