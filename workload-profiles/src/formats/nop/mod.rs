//! nop: no load but one request. The start of a server is read from its log.

use serde_json::Value;

use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::Workload,
};

/// The keys of a profile.
const KEYS: [&str; 2] = ["model_name", "pvc_name"];

/// Reads a profile. Neither key has an effect: the run names the server that is started, and its model.
pub(super) fn parse(profile: &Value, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    root.all_ignored(&[("model_name", ValueType::Text), ("pvc_name", ValueType::Text)]);
    root.finish();
    Some(Workload::startup())
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
        for text in ["model_name: m\npvc_name: p", "model_name: m", "{}"] {
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
