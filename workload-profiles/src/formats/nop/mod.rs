//! nop: no load. The original reads the log of a server that it started, and reports how long its start took.
//!
//! A profile is read and checked, and then refused: this launcher only sends load.

use serde_json::Value;

use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::Workload,
};

/// Why no run comes of a profile. The first words are stable: callers look for them.
const REFUSAL: &str = "sends no load: nop measures how a server starts, from its log, which this launcher does not do; to measure a server \
                       that is up, choose another harness, such as benchwright with the profile sanity_random";

/// The keys of a profile.
const KEYS: [&str; 2] = ["model_name", "pvc_name"];

/// Reads a profile. `None` goes with at least one problem in the findings: a mistake, else that nop sends no load.
pub(super) fn parse(profile: &Value, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    root.all_ignored(&[("model_name", ValueType::Text), ("pvc_name", ValueType::Text)]);
    root.finish();
    findings.problem("profile", REFUSAL);
    None
}

#[cfg(test)]
mod tests {
    use crds::benchmark_run::Harness;
    use proptest::prelude::*;

    use super::*;
    use crate::{formats::Target, parse_text};

    fn error(text: &str) -> String {
        parse_text(Harness::Nop, Target::default(), text).unwrap_err().to_string()
    }

    // Trap 17 of the formats: dates without a year, a number of a shape read as seconds, and figures that need logs at DEBUG. No
    // figure of a start is made up before logs are read with these in mind.
    #[test]
    fn a_profile_of_two_keys_is_read_and_refused_for_what_it_is() {
        for text in ["model_name: m\npvc_name: p", "model_name: m", "{}"] {
            assert_eq!(error(text), format!("profile: {REFUSAL}"), "{text}");
        }
    }

    #[test]
    fn its_mistakes_are_named_too() {
        let found = error("modelname: m\npvc_name: 5");
        assert!(found.contains("modelname: is no known key; did you mean model_name?"), "{found}");
        assert!(found.contains("pvc_name: is 5; write a text"), "{found}");
        assert!(found.contains("sends no load"), "{found}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,80}|(model_name|pvc_name|[a-z]{1,5}): [-a-z0-9.\\[\\]{}]{0,20}") {
            prop_assert!(parse_text(Harness::Nop, Target::default(), &text).is_err());
        }
    }
}
