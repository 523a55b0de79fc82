//! Profiles that are cut, changed and mistyped.

use proptest::prelude::*;

use super::*;
use crate::formats::hostile::{self, VALUES, changed, cut};

const PROFILES: [&str; 4] = [
    "model: m\nurl: http://x\nendpoint-type: chat\nstreaming: none\nconcurrency: 1,2\nrequest-count: 50\nisl: 100\nisl-stddev: 5\nosl: 20\n\
     extra-inputs: ignore_eos:true\nwarmup-request-count: 5\ngoodput: 'request_latency:250'\n",
    "aiperf profile -m m --request-rate 5 --arrival-pattern gamma --arrival-smoothness 2 --benchmark-duration 60 --benchmark-grace-period inf",
    "user-centric-rate: 2\nnum-users: 15\nsession-turns-mean: 20\nbenchmark-duration: 60\nshared-system-prompt-length: 70\nrequest-cancellation-rate: 5\n",
    "input-file: t.jsonl\ncustom-dataset-type: mooncake_trace\nconcurrency: 16\nrequest-count: 500\nsynthesis-speedup-ratio: 2\nheader: 'x-a:1'\n",
];

#[test]
fn the_profiles_are_right_as_they_are() {
    for profile in PROFILES {
        hostile::check_round_trip(&workload(profile));
    }
}

proptest! {
    #[test]
    fn a_cut_profile_never_panics(which in 0..PROFILES.len(), share in 0.0..1.0) {
        let text = cut(PROFILES[which], share);
        hostile::check(Harness::Aiperf, text);
    }

    #[test]
    fn a_changed_letter_never_panics(which in 0..PROFILES.len(), share in 0.0..1.0, letter in "[ -~\n]") {
        let text = changed(PROFILES[which], share, &letter);
        hostile::check(Harness::Aiperf, &text);
    }

    #[test]
    fn any_flag_with_any_value_never_panics(which in 0..PROFILES.len(), flag in prop::sample::select(root_keys()), value in prop::sample::select(&VALUES)) {
        let flags: Vec<&str> = PROFILES[which].lines().filter(|it| !it.starts_with(&format!("{flag}:"))).collect();
        let text = format!("{}\n{flag}: {value}", flags.join("\n"));
        hostile::check(Harness::Aiperf, &text);
    }
}
