//! Tests that true differences are found, and that equal runs show no difference.

use comparison::{Answer, Comparison, FigureDocument, GateRule, Run, Verdict, compare};
use document::ReportDocument;

use crate::queue::{Server, run, run_of};

pub fn pair(base: &ReportDocument, other: &ReportDocument) -> Comparison {
    compare(&[Run { path: "a", report: base, more: &[] }, Run { path: "b", report: other, more: &[] }]).unwrap()
}

/// The figures of the comparison, which must have one pair with one stage.
pub fn figures(comparison: &Comparison) -> &[FigureDocument] {
    assert_eq!((comparison.pairs.len(), comparison.pairs[0].stages.len()), (1, 1));
    &comparison.pairs[0].stages[0].figures
}

pub fn figure<'a>(comparison: &'a Comparison, name: &str) -> &'a FigureDocument {
    figures(comparison).iter().find(|it| it.figure == name).unwrap_or_else(|| panic!("no {name}"))
}

fn found(comparison: &Comparison) -> Vec<&str> {
    let differs = |it: &&FigureDocument| matches!(it.verdict, Verdict::Better | Verdict::Worse);
    figures(comparison).iter().filter(differs).map(|it| it.figure.as_str()).collect()
}

#[test]
fn twenty_comparisons_of_equal_settings_find_nothing() {
    for seed in 0..20 {
        let comparison = pair(&run(Server::default(), 2 * seed), &run(Server::default(), 2 * seed + 1));
        assert_eq!(found(&comparison), Vec::<&str>::new(), "seed {seed}");
        let decided = figures(&comparison).iter().filter(|it| it.verdict == Verdict::NoDifferenceFound).count();
        assert!(decided >= 15, "seed {seed}: {decided}");
    }
}

#[test]
fn two_settings_that_differ_are_found_each_time() {
    for seed in 100..110 {
        let slower = Server { token_ms: 22.0, ..Server::default() };
        let comparison = pair(&run(Server::default(), 2 * seed), &run(slower, 2 * seed + 1));
        for name in
            ["tpot.mean", "tpot.p50", "tpot.p90", "latency.mean", "latency.p50", "interactivity.inverseOfTpotP90"]
        {
            let it = figure(&comparison, name);
            assert_eq!(it.verdict, Verdict::Worse, "seed {seed}: {it:?}");
        }
        let tpot = figure(&comparison, "tpot.mean");
        let [low, high] = tpot.interval_percent.unwrap();
        assert!(low > 5.0 && high < 15.0 && (tpot.percent.unwrap() - 10.0).abs() < 2.0, "{tpot:?}");
        // With the runs swapped, the difference is an improvement.
        let back = pair(&run(slower, 2 * seed + 1), &run(Server::default(), 2 * seed));
        assert_eq!(figure(&back, "tpot.mean").verdict, Verdict::Better);
    }
}

#[test]
fn failures_and_goodput_are_compared() {
    let failing = Server { fails_every: 12, ..Server::default() };
    let comparison = pair(&run(Server::default(), 1), &run(failing, 2));
    let errors = figure(&comparison, "errorRatio");
    assert_eq!((errors.verdict, errors.base.unwrap().value, errors.percent), (Verdict::Worse, 0.0, None));
    assert!((errors.difference.unwrap() - 1.0 / 12.0).abs() < 1e-9 && errors.interval.unwrap()[0] > 0.03, "{errors:?}");
    // Half of the requests miss the goal of 100 ms.
    let late = Server { prefill_ms: 100.0, ..Server::default() };
    let comparison = pair(&run(Server::default(), 1), &run(late, 2));
    assert_eq!(figure(&comparison, "goodputRequestsPerSecond").verdict, Verdict::Worse);
    assert_eq!(figure(&comparison, "requestsPerSecond").verdict, Verdict::NoDifferenceFound);
}

#[test]
fn what_has_no_interval_cannot_be_decided() {
    let comparison = pair(&run(Server::default(), 1), &run(Server { token_ms: 40.0, ..Server::default() }, 2));
    let itl = figure(&comparison, "itl.p50");
    assert_eq!((itl.verdict, itl.interval), (Verdict::CannotBeDecided, None));
    assert!(itl.why.contains("use TPOT") && itl.difference.unwrap() > 15.0, "{itl:?}");

    // 20 requests are too few for a p99.
    let comparison = pair(&run_of(Server::default(), 20, 1), &run(Server::default(), 2));
    let ttft = figure(&comparison, "ttft.p99");
    assert!(ttft.verdict == Verdict::CannotBeDecided && ttft.why.starts_with("A: too few values for "), "{ttft:?}");

    // If both runs have the same reason, it is reported once.
    let comparison = pair(&run_of(Server::default(), 20, 1), &run_of(Server::default(), 20, 2));
    assert!(figure(&comparison, "ttft.p99").why.starts_with("too few values for "));
}

#[test]
fn one_sentence_tells_what_a_comparison_comes_to() {
    let told = |base: &ReportDocument, other: &ReportDocument| {
        let pair = pair(base, other).pairs.remove(0);
        (pair.answer, pair.sentence)
    };
    let base = run(Server::default(), 1);
    let slower = run(Server { token_ms: 22.0, ..Server::default() }, 3);
    let (answer, text) = told(&base, &slower);
    assert!(answer == Answer::Worse && text.starts_with("B is slower: TPOT mean +"), "{text}");
    let (answer, text) = told(&slower, &base);
    assert!(answer == Answer::Better && text.starts_with("B is faster: TPOT mean -"), "{text}");
    let (answer, text) = told(&base, &run(Server::default(), 2));
    assert!(answer == Answer::Equal && text.starts_with("A and B are equal within "), "{text}");
    let (answer, text) = told(&run_of(Server::default(), 12, 1), &run_of(Server::default(), 12, 2));
    assert!(answer == Answer::Undecided && text.contains("too short to tell: "), "{text}");
    // A TTFT seven times as long is found with 40 requests, although the requests depend on each other.
    let stuck = Server { prefill_ms: 400.0, ..Server::default() };
    let (answer, text) = told(&run_of(Server::default(), 40, 1), &run_of(stuck, 40, 2));
    assert!(answer == Answer::Worse && text.contains("TTFT mean +"), "{text}");
}

#[test]
fn a_series_of_runs_has_the_mean_over_them_and_the_interval_between_them() {
    let of = |server: Server, seeds: [u64; 3]| seeds.map(|seed| run(server, seed));
    let (one, two) = (of(Server::default(), [1, 2, 3]), of(Server { token_ms: 22.0, ..Server::default() }, [4, 5, 6]));
    let runs = [
        Run { path: "a", report: &one[0], more: &one[1..] },
        Run { path: "b", report: &two[0], more: &two[1..] },
        Run { path: "c", report: &two[1], more: &[] },
    ];
    let comparison = compare(&runs).unwrap();
    assert_eq!(comparison.runs.iter().map(|it| it.runs).collect::<Vec<_>>(), [Some(3), Some(3), None]);
    let tpot = comparison.pairs[0].stages[0].figures.iter().find(|it| it.figure == "tpot.mean").unwrap();
    let means = one.each_ref().map(|it| it.stages[0].figures.tpot_ms.as_ref().unwrap().mean);
    let base = tpot.base.unwrap();
    assert!((base.value - means.iter().sum::<f64>() / 3.0).abs() < 0.01, "{tpot:?}");
    // t = 4.303 with two degrees of freedom.
    let spread = means.iter().map(|it| (it - base.value).powi(2)).sum::<f64>() / 2.0;
    let half = 4.303 * (spread / 3.0).sqrt();
    assert!((base.high.unwrap() - base.value - half).abs() < 0.02 * half + 1e-3, "{tpot:?} {half}");
    assert_eq!(tpot.verdict, Verdict::Worse);
    // ITL has an interval, because it comes from the differences between runs.
    let itl = comparison.pairs[0].stages[0].figures.iter().find(|it| it.figure == "itl.mean").unwrap();
    assert!(itl.interval.is_some());
    assert!(comparison.pairs[1].stages[0].figures.iter().any(|it| it.verdict == Verdict::Worse));
}

#[test]
fn a_short_series_needs_more_runs_and_not_longer_stages() {
    let of = |seeds: [u64; 2]| seeds.map(|seed| run(Server::default(), seed));
    let (one, two) = (of([1, 2]), of([3, 4]));
    let runs =
        [Run { path: "a", report: &one[0], more: &one[1..] }, Run { path: "b", report: &two[0], more: &two[1..] }];
    let comparison = compare(&runs).unwrap();
    let stage = &comparison.pairs[0].stages[0];
    assert_eq!((stage.runs, stage.answer), (Some(2), Answer::Undecided), "{}", stage.sentence);
    assert!(stage.sentence.starts_with("too few runs to tell: "), "{}", stage.sentence);
    assert!(stage.sentence.contains("; `--repeat ") && !stage.sentence.contains("stages of"), "{}", stage.sentence);
    let gate = GateRule::default().apply(&comparison);
    assert!(gate.reasons.iter().any(|it| it.contains("; `--repeat ")), "{:?}", gate.reasons);
}

#[test]
fn a_run_without_a_success_has_no_figures_to_compare() {
    let none = run(Server { fails_every: 1, ..Server::default() }, 2);
    assert_eq!((none.figures.succeeded, none.figures.ttft_ms.is_some()), (0, false));
    for (comparison, name) in
        [(pair(&run(Server::default(), 1), &none), "B"), (pair(&none, &run(Server::default(), 1)), "A")]
    {
        let ttft = figure(&comparison, "ttft.mean");
        assert_eq!((ttft.verdict, ttft.difference), (Verdict::CannotBeDecided, None));
        assert!(figures(&comparison).iter().all(|it| it.verdict == Verdict::CannotBeDecided));
        assert!(
            comparison.pairs[0].remarks[0].label == "outcome" || ttft.why == format!("{name} has no value"),
            "{ttft:?}"
        );
    }
    let comparison = pair(&none, &none);
    assert!(figures(&comparison).iter().all(|it| !it.figure.contains('.')), "a time that neither run has is left out");
}

#[test]
fn values_that_are_no_numbers_decide_nothing() {
    let (base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    let uncertainty = &mut other.stages[0].uncertainty;
    let ttft = uncertainty.ttft_ms.as_mut().unwrap();
    ttft.mean.as_mut().unwrap().high = Some(f64::NAN);
    ttft.p50.as_mut().unwrap().low = Some(1e9);
    ttft.p90.as_mut().unwrap().effective_values = None;
    uncertainty.tpot_ms = None;
    other.stages[0].figures.latency_ms.as_mut().unwrap().mean = f64::NAN;
    let comparison = pair(&base, &other);
    for (name, why) in [
        ("ttft.mean", "does not contain its value"),
        ("ttft.p50", "does not contain its value"),
        ("ttft.p90", "does not contain its value"),
        ("tpot.p50", "the report has no interval of this figure"),
        ("latency.mean", "B has no value"),
    ] {
        let it = figure(&comparison, name);
        assert!(it.verdict == Verdict::CannotBeDecided && it.why.contains(why), "{it:?}");
    }
    assert_eq!(figure(&comparison, "latency.p50").verdict, Verdict::NoDifferenceFound);
    other.stages[0].uncertainty.absent = Some("the launcher kept no record of each request".into());
    other.stages[0].uncertainty.latency_ms = None;
    assert!(figure(&pair(&base, &other), "latency.p50").why.contains("kept no record"));
}

#[test]
fn a_sure_difference_that_is_small_is_none() {
    let base = run(Server::default(), 1);
    let mut other = base.clone();
    let scale = |it: &mut ReportDocument, factor: f64| {
        let mean = it.stages[0].uncertainty.tpot_ms.as_mut().unwrap().mean.as_mut().unwrap();
        let value = mean.value.unwrap() * factor;
        (mean.value, mean.low, mean.high) = (Some(value), Some(value), Some(value));
    };
    for (factor, verdict) in [(1.005, Verdict::NoDifferenceFound), (1.02, Verdict::Worse), (0.98, Verdict::Better)] {
        let mut base = base.clone();
        scale(&mut base, 1.0);
        scale(&mut other, factor);
        let comparison = pair(&base, &other);
        let it = figure(&comparison, "tpot.mean");
        assert_eq!(it.verdict, verdict, "{it:?}");
        assert_eq!(it.why.contains("below 1 %"), factor == 1.005, "{it:?}");
        other = base.clone();
    }
}

#[test]
fn a_server_that_does_not_keep_up_is_worse_than_one_that_does() {
    let mut steady = run(Server::default(), 1);
    steady.stages[0].overloaded = Some(false);
    let mut overloaded = run(Server { prefill_ms: 9_000.0, ..Server::default() }, 2);
    overloaded.stages[0].overloaded = Some(true);
    let wide = |it: &mut document::EstimateDocument| (it.low, it.high) = (Some(-1e9), Some(1e9));
    let ttft = overloaded.stages[0].uncertainty.ttft_ms.as_mut().unwrap();
    ttft.mean.as_mut().map(wide).unwrap();
    for (base, other, verdict) in [(&steady, &overloaded, Verdict::Worse), (&overloaded, &steady, Verdict::Better)] {
        let comparison = pair(base, other);
        let it = figure(&comparison, "ttft.mean");
        assert_eq!((it.verdict, it.interval), (verdict, None), "{it:?}");
        assert!(it.why.contains("did not keep up with its load"), "{it:?}");
        assert!(comparison.pairs[0].remarks.iter().any(|it| it.label == "overload"));
    }
    let both = pair(&overloaded, &overloaded);
    let it = figure(&both, "ttft.mean");
    assert_eq!(it.verdict, Verdict::CannotBeDecided, "{it:?}");
    // A report of an earlier release does not contain whether the server was overloaded, so the interval decides.
    steady.stages[0].overloaded = None;
    let it = figure(&pair(&steady, &overloaded), "ttft.mean").clone();
    assert_eq!(it.verdict, Verdict::CannotBeDecided, "{it:?}");
    // A figure with a very wide interval cannot be decided.
    overloaded.stages[0].overloaded = Some(false);
    let it = figure(&pair(&steady, &overloaded), "ttft.mean").clone();
    assert_eq!(it.verdict, Verdict::CannotBeDecided, "{it:?}");
    assert!(it.why.contains("a difference of more than 25 %"), "{it:?}");
}

#[test]
fn each_other_run_is_compared_with_the_first() {
    let runs =
        [run(Server::default(), 1), run(Server::default(), 2), run(Server { token_ms: 25.0, ..Server::default() }, 3)];
    let all: Vec<Run<'_>> = runs.iter().map(|report| Run { path: "x", report, more: &[] }).collect();
    let comparison = compare(&all).unwrap();
    let names: Vec<&str> = comparison.runs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["A", "B", "C"]);
    let tpot = |pair: usize| {
        let figures = &comparison.pairs[pair].stages[0].figures;
        figures.iter().find(|it| it.figure == "tpot.mean").map(|it| it.verdict)
    };
    assert_eq!((tpot(0), tpot(1)), (Some(Verdict::NoDifferenceFound), Some(Verdict::Worse)));
    assert_eq!((compare(&all[..1]), compare(&[]), compare(&[all[0]; 27])), (None, None, None));
}

#[test]
fn stages_match_by_name_and_load() {
    let base = run(Server::default(), 1);
    let two = |change: &dyn Fn(&mut ReportDocument)| {
        let mut report = run(Server::default(), 2);
        let second = report.stages[0].clone();
        report.stages.push(document::StageDocument { name: "r20".into(), ..second });
        change(&mut report);
        report
    };
    // The only stage of one run matches the stage with the same name. The other stages are reported as unmatched.
    let comparison = pair(&base, &two(&|_| {}));
    let [only] = &comparison.pairs[0].unmatched[..] else { panic!("{:?}", comparison.pairs[0].unmatched) };
    assert_eq!(
        (only.run.as_str(), only.stage.as_str(), only.why.as_str()),
        ("B", "r20", "A has no stage of this name")
    );
    assert_eq!(comparison.pairs[0].stages.len(), 1);

    let faster = two(&|it| {
        let text = serde_json::to_string(&it.stages[1].load).unwrap().replace("10.0", "40.0");
        it.stages[1].load = serde_json::from_str(&text).unwrap();
    });
    let comparison = pair(&two(&|_| {}), &faster);
    let unmatched = &comparison.pairs[0].unmatched;
    assert_eq!(unmatched.len(), 2, "{unmatched:?}");
    assert!(unmatched.iter().all(|it| it.why.contains("another load")), "{unmatched:?}");
    // A longer stage with the same load still matches.
    let longer = two(&|it| {
        let longer = run_of(Server::default(), 1_500, 3).stages[0].load.clone();
        it.stages[1].load = longer;
    });
    assert_eq!(pair(&two(&|_| {}), &longer).pairs[0].unmatched, []);
}
