use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::benchmark_run::MAX_NAME_BYTES;

/// A spec with two factors: two servers, and three rates.
fn spec(more: Value) -> BenchmarkSweepSpec {
    let mut spec = json!({
        "runTemplate": {"spec": {"target": {"url": "http://a:8000"}, "profile": {"name": "sanity_constant"}}},
        "factors": [
            {"name": "server", "levels": [{"name": "a"}, {"name": "b", "set": {"target.url": "http://b:8000"}}]},
            {"name": "rate", "field": "profile.variables.rate", "values": [2, 5, "10"]},
        ],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    serde_json::from_value(spec).expect("a spec")
}

fn resolved(more: Value) -> ResolvedSweep {
    resolve("sweep", &spec(more), "uid").unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn names(sweep: &ResolvedSweep) -> Vec<&str> {
    sweep.cells.iter().map(|it| it.name.as_str()).collect()
}

/// Checks that the spec is refused, with one error at this path that contains this text.
fn check_refused(more: Value, path: &str, part: &str) {
    let errors = resolve("sweep", &spec(more), "uid").expect_err("refused");
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(error.path, path, "{error}");
    assert!(error.message.contains(part), "{error}");
}

#[test]
fn every_combination_is_a_cell_with_its_own_spec() {
    let sweep = resolved(json!({}));
    assert_eq!(
        names(&sweep),
        [
            "server=a,rate=2",
            "server=a,rate=5",
            "server=a,rate=10",
            "server=b,rate=2",
            "server=b,rate=5",
            "server=b,rate=10"
        ]
    );
    let last = sweep.run_spec(5, 2);
    assert_eq!(last["target"]["url"], "http://b:8000");
    assert_eq!(last["profile"]["variables"], json!({"rate": "10"}));
    assert_eq!(sweep.cell_spec(0)["target"]["url"], "http://a:8000");
}

#[test]
fn cells_of_one_repeat_share_a_seed() {
    let sweep = resolved(json!({}));
    assert_eq!(sweep.run_spec(0, 1)["seed"], sweep.run_spec(5, 1)["seed"]);
    assert_ne!(sweep.run_spec(0, 1)["seed"], sweep.run_spec(0, 2)["seed"]);
    let fixed = resolved(json!({"runTemplate": {"spec": {"target": {"url": "http://a:8000"}, "seed": 7}}}));
    assert_eq!([fixed.run_spec(0, 1)["seed"].clone(), fixed.run_spec(3, 2)["seed"].clone()], [json!(7), json!(7)]);
}

#[test]
fn filters_keep_and_leave_out_cells() {
    let sweep = resolved(json!({"only": [{"rate": 2}, {"rate": 10}], "exclude": [{"server": "b", "rate": "10"}]}));
    assert_eq!(names(&sweep), ["server=a,rate=2", "server=a,rate=10", "server=b,rate=2"]);
    // Without its partner, a cell has no baseline.
    assert_eq!(sweep.baselines, [None, None, Some(0)]);
}

#[test]
fn the_baseline_differs_in_the_chosen_factors_alone() {
    assert_eq!(resolved(json!({})).baselines, [None, None, None, Some(0), Some(1), Some(2)]);
    let by_rate = resolved(json!({"baseline": {"rate": 5}}));
    assert_eq!(by_rate.baselines, [Some(1), None, Some(1), Some(4), None, Some(4)]);
    let one = resolved(json!({"baseline": {"server": "b", "rate": 5}}));
    assert_eq!(one.baselines, [Some(4), Some(4), Some(4), Some(4), None, Some(4)]);
}

#[test]
fn every_second_repeat_is_reversed() {
    let cells = |order: &str| -> Vec<usize> {
        let more = json!({"order": order, "only": [{"rate": 2}, {"rate": 5}], "repeats": 2});
        resolved(more).order.into_iter().map(|it| it.0).collect()
    };
    assert_eq!(cells("Alternated"), [0, 1, 2, 3, 3, 2, 1, 0]);
    assert_eq!(cells("Listed"), [0, 1, 2, 3, 0, 1, 2, 3]);
    let random = cells("Random");
    assert_eq!(random, cells("Random"));
    for half in random.chunks(4) {
        let mut sorted = half.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
    }
}

#[test]
fn a_wrong_spec_is_refused_with_field_value_and_remedy() {
    check_refused(json!({"exclude": [{"sever": "a"}]}), "spec.exclude[0].sever", "did you mean server?");
    check_refused(json!({"baseline": {"rate": 3}}), "spec.baseline.rate", "is 3, which is no level of rate");
    check_refused(json!({"only": [{"rate": 2}], "exclude": [{"rate": 2}]}), "spec.exclude", "leaves no cell");
    let repeated = json!({"runTemplate": {"spec": {"target": {"url": "http://a"}, "repeat": 5}}});
    check_refused(repeated, "spec.runTemplate.spec.repeat", "write spec.repeats: 5");
    let searched = json!({"runTemplate": {"spec": {"target": {"url": "http://a"}, "search": {}}}});
    check_refused(searched, "spec.runTemplate.spec.search", "vary the load with a factor");
    let twice = json!({"factors": [{"name": "rate", "field": "profile.variables.rate", "values": [1, "1"]}]});
    check_refused(twice, "spec.factors[0].values[1]", "is called 1, like level 0");
    let same_name = json!({"factors": [{"name": "a", "field": "seed", "values": [1]}, {"name": "a", "field": "queueName", "values": [2]}]});
    check_refused(same_name, "spec.factors[1].name", "is a again");
    let lost = json!({"factors": [{"name": "a", "field": "target.server.args[3]", "values": ["x"]}]});
    check_refused(lost, "spec.factors[0]", "level x: target.server.args[3] names element 3 of a list of 0");
    let excluded = json!({"exclude": [{"server": "a"}]});
    check_refused(excluded, "spec.baseline", "is server=a, and no cell has a partner");
    let same_field = json!({"factors": [
        {"name": "a", "field": "profile.variables.x", "values": [1, 2]},
        {"name": "b", "levels": [{"name": "c", "set": {"profile.variables.x": 3}}, {"name": "d"}]},
    ]});
    check_refused(same_field, "spec.factors[1]", "sets profile.variables.x, as the factor a does");
    let both = json!({"factors": [{"name": "a", "field": "seed", "values": [1], "levels": [{"name": "b"}]}]});
    check_refused(both, "spec.factors[0]", "levels beside field");
}

#[test]
fn values_of_any_kind_name_their_levels() {
    let values = json!([-3, 3, "[1, 8]", "--no-prefix-caching", "a/b", true, ""]);
    let sweep = resolved(json!({"factors": [{"name": "x", "field": "profile.variables.x", "values": values}]}));
    assert_eq!(names(&sweep), ["x=-3", "x=3", "x=1--8", "x=-no-prefix-caching", "x=a-b", "x=true", "x=empty"]);
}

#[test]
fn a_huge_matrix_is_refused_with_its_count() {
    let factor = |name: &str, levels: usize| json!({"name": name, "field": format!("profile.variables.{name}"), "values": (0..levels).collect::<Vec<_>>()});
    let large = json!({"factors": [factor("a", 50), factor("b", 50), factor("c", 40)]});
    check_refused(large, "spec.factors", "have 100000 combinations; use fewer levels: at most 256 cells can run");
    let many = json!({"factors": [factor("a", 50), factor("b", 50)]});
    check_refused(many, "spec.factors", "have 2500 cells; at most 256 can run");
    let huge: Vec<Value> = ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().map(|it| factor(it, 64)).collect();
    check_refused(json!({"factors": huge}), "spec.factors", "have 281474976710656 combinations");
}

#[test]
fn names_of_runs_fit_a_benchmark_run() {
    let name = "n".repeat(MAX_SWEEP_NAME_BYTES);
    let sweep = resolve(&name, &spec(json!({})), "uid").expect("the longest name");
    assert_eq!(sweep.attempt_name(MAX_CELLS - 1, MAX_SWEEP_REPEATS, MAX_SWEEP_ATTEMPTS).len(), MAX_NAME_BYTES);
    let errors = resolve(&format!("{name}n"), &spec(json!({})), "uid").expect_err("too long");
    assert_eq!(errors[0].path, "metadata.name");
}

#[test]
fn the_name_of_a_run_tells_its_cell_repeat_and_attempt() {
    let sweep = resolved(json!({"repeats": 2}));
    for at in [(0, 1, 1), (5, 2, 1), (3, 1, 5)] {
        assert_eq!(sweep.attempt_named(&sweep.attempt_name(at.0, at.1, at.2)), Some(at));
    }
    for name in
        ["sweep-c0-r1", "sweep-c7-r1", "sweep-c1-r3", "sweep-c01-r1", "sweep-c1-r1-a1", "sweep-c1-r1-a6", "swee-c1-r1"]
    {
        assert_eq!(sweep.attempt_named(name), None, "{name}");
    }
}

/// Plays a sweep. `fails(cell, repeat, attempt)` says whether an attempt fails. Returns all attempts in order, and why the sweep ended.
fn play(sweep: &ResolvedSweep, fails: impl Fn(usize, u32, u32) -> bool) -> (Vec<(usize, u32, u32)>, Ended) {
    let (mut attempts, mut made) = (Attempts::new(), Vec::new());
    loop {
        match next(sweep, &attempts, Duration::ZERO) {
            Next::Run { cell, repeat, attempt } => {
                made.push((cell, repeat, attempt));
                let ending = if fails(cell, repeat, attempt) { Attempt::Failed } else { Attempt::Succeeded };
                attempts.entry((cell, repeat)).or_default().push(ending);
            }
            Next::Wait { .. } => panic!("nothing is running"),
            Next::End(ended) => return (made, ended),
        }
    }
}

#[test]
fn failed_runs_are_tried_again_and_then_end_the_sweep_or_not() {
    let fails = |cell: usize, repeat: u32, _: u32| (cell, repeat) == (1, 1);
    let (made, ended) = play(&resolved(json!({"attempts": 3})), fails);
    assert_eq!(ended, Ended::Complete);
    assert_eq!(made.iter().filter(|it| it.0 == 1 && it.1 == 1).count(), 3);
    assert_eq!(made.len(), 12 + 2);
    let (made, ended) = play(&resolved(json!({"attempts": 2, "onFailure": "Stop"})), fails);
    assert_eq!((made, ended), (vec![(0, 1, 1), (1, 1, 1), (1, 1, 2)], Ended::RunFailed));
}

#[test]
fn no_run_starts_after_the_budget() {
    let sweep = resolved(json!({"budgetSeconds": 60}));
    assert_eq!(next(&sweep, &Attempts::new(), Duration::from_secs(60)), Next::End(Ended::Budget));
    assert_eq!(next(&sweep, &Attempts::new(), Duration::from_secs(59)), Next::Run { cell: 0, repeat: 1, attempt: 1 });
}

proptest! {
    /// A sweep may lose everything but the ended attempts at any time: it then continues with the same attempts, and runs nothing twice.
    #[test]
    fn a_sweep_continues_after_every_crash(crash in 0_usize..12, repeats in 1_u32..4, failing in 0_usize..6) {
        let sweep = resolved(json!({"repeats": repeats, "attempts": 2}));
        let fails = |cell: usize, _: u32, attempt: u32| cell == failing && attempt == 1;
        let (all, _) = play(&sweep, fails);
        let mut attempts = Attempts::new();
        let kept = crash.min(all.len());
        for (cell, repeat, attempt) in &all[..kept] {
            let ending = if fails(*cell, *repeat, *attempt) { Attempt::Failed } else { Attempt::Succeeded };
            attempts.entry((*cell, *repeat)).or_default().push(ending);
        }
        let mut after = Vec::new();
        while let Next::Run { cell, repeat, attempt } = next(&sweep, &attempts, Duration::ZERO) {
            after.push((cell, repeat, attempt));
            // While it runs, nothing else starts.
            attempts.entry((cell, repeat)).or_default().push(Attempt::Running);
            prop_assert_eq!(next(&sweep, &attempts, Duration::ZERO), Next::Wait { cell, repeat });
            let ending = if fails(cell, repeat, attempt) { Attempt::Failed } else { Attempt::Succeeded };
            *attempts.get_mut(&(cell, repeat)).and_then(|it| it.last_mut()).expect("the attempt") = ending;
        }
        prop_assert_eq!(&after[..], &all[kept..]);
    }
}
