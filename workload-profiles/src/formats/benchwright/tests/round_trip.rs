//! The workload that a report contains is a valid profile of the same workload.

use std::collections::BTreeMap;

use crds::{benchmark_run::Harness, resolve::ResolvedRun};
use proptest::prelude::*;

use super::{Target, profile, strategies::some_workload};
use crate::formats::hostile::check_round_trip;
use crate::{
    overrides, parse_text, prepare,
    problem::Findings,
    shipped,
    shipped::tests::required,
    shipped_names,
    variables::tests::{run, with},
    yaml,
};

#[test]
fn what_a_report_says_of_any_shipped_profile_is_a_profile() {
    // LoadGen's tests have a format of their own, and nop sends no load.
    for harness in Harness::ALL.into_iter().filter(|it| !matches!(it, Harness::Loadgen | Harness::Nop)) {
        for name in shipped_names(harness) {
            let run = ResolvedRun { harness, ..run("m") };
            let variables = with("m", required(name)).unwrap();
            let template = shipped(harness, name).unwrap();
            check_round_trip(&prepare(&run, template, &variables, &BTreeMap::new()).unwrap().workload);
        }
    }
}

proptest! {
    #[test]
    fn what_a_report_says_is_a_profile(workload in some_workload()) {
        check_round_trip(&workload);
    }

    #[test]
    fn no_value_in_any_place_makes_the_parser_panic(
        path in prop::sample::select(vec![
            "api", "requests", "requests.random", "requests.random.input", "requests.random.text", "stages", "stages[0]",
            "stages[0].load", "stages[0].load.open", "stages[0].load.open.rate", "stages[0].load.open.arrivals",
            "stages[0].load.open.duration", "stages[0].load.open.count", "stages[0].warmUp", "stages[0].coolDown", "stages[0].grace",
            "stages[0].name", "warmUp", "window", "probes", "abandonment", "sampling", "timeouts", "goodput", "headers", "model",
            "requests.random.prefixes", "tokenizer", "corpus", "images", "classes", "sessions", "stopRules",
        ]),
        value in prop_oneof![
            any::<f64>().prop_map(|it| it.to_string()),
            any::<i64>().prop_map(|it| it.to_string()),
            prop::sample::select(vec![
                "[]", "{}", "[[]]", "x", "null", "true", "all", "open", "{open: {}}", "{closed: {}}", "{burst: {count: 1e300}}",
                "{trace: {trace: {inline: [1, {at: 5}]}}}", "{trace: {trace: {file: {}}}}", "{gamma: {burstiness: -1}}", "gamma",
                "{points: [{at: 0s, rate: 1e308}]}", "{sinusoid: {mean: 1, period: 1ns, amplitude: 1}}", "{rampUp: {}}", "{ramp: {}}",
                "{step: {at: 1s}}", "{spike: {base: 1, peak: 2, at: 604800s, length: 604800s}}", "{count: 10000000}", "{duration: 86400s}",
                "{share: 1, after: {uniform: {min: 5s, max: 1s}}}", "{share: 2}", "{rate: 1e9}", "{random: {}}", "{sharedPrefix: {}}",
                "{conversations: {turns: 3, turn: {input: 1, output: 1}, thinkTime: {mean: 5s, max: 1s}}}", "{traceBlocks: {blockSize: 16}}",
                "{dataSet: {file: a.csv, row: {prompt: q}, output: answer}}", "{dataSet: {file: {url: x}, row: {conversation: {}}}}",
                "{recorded: {files: {files: [a, {url: 5}]}, format: {weka: 5}}}", "{users: {users: 5, rate: 1, turns: 3, count: 9}}",
                "{measured: {from: {throughput: 0}, to: {drain: {}}, position: 2}}", "{buckets: [{tokens: 5, count: 1000000}, {}]}",
                "{perRequest: 0, sizes: [{width: 1, height: 9999}]}", "{classes: [{name: a}, {name: a, weight: 0}]}",
                "{unit: session, header: host}", "[{name: a, hit: failed, limit: {inARow: 3}}, 5]", "{url: 'https://a/b', sha256: x}",
                "[{name: a, hit: {status: 999}, limit: {shareOfLast: {share: 2}}}]", "{shape: {skewNormal: {}}, mean: 5}",
                "{shape: uniform}", "{extra: {stream: 1}}", "604800s", "1ns", "sharedPrefix",
            ]).prop_map(str::to_owned),
        ],
    ) {
        let mut value_of = yaml::read(&profile("")).unwrap();
        let findings = Findings::default();
        overrides::apply(&mut value_of, &BTreeMap::from([(path.to_owned(), value)]), &[], &findings);
        if let Ok((workload, _)) = parse_text(Harness::Benchwright, Target::default(), &yaml::write(&value_of)) {
            check_round_trip(&workload);
        }
    }
}
