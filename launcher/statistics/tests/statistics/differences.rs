//! Tests differences of two estimates: formulas that were checked by hand, and how often equal processes seem to differ. `make statistics-coverage`
//! prints the whole table.

use statistics::{
    Interval,
    batch_means::mean_with_interval,
    difference::{ERROR_95, Estimated, Method, difference},
    normal::upper_quantile,
    order_statistics::quantile,
    share::{share_with_interval, wilson},
    student::{NORMAL_95, t_95, two_sided},
};

use crate::processes::{Process, QUANTILES, Random};

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found} and not {expected}");
}

#[test]
fn quantiles_have_the_values_of_the_tables() {
    for (probability, value) in
        [(0.025, NORMAL_95), (0.001, 3.090_232_306), (5e-6, 4.417_173_413), (0.4, 0.253_347_103)]
    {
        close(upper_quantile(probability), value, 1e-8);
        close(upper_quantile(1.0 - probability), -value, 1e-6);
    }
    assert_eq!((upper_quantile(0.5), upper_quantile(0.0)), (0.0, f64::INFINITY));
    // From the NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2. At 95 %, `two_sided` equals `t_95`.
    for (probability, degrees, value) in
        [(0.02, 9, 2.821), (0.002, 9, 4.297), (0.002, 29, 3.396), (0.01, 5, 4.032), (0.1, 20, 1.725)]
    {
        close(two_sided(probability, degrees), value, 3e-4);
    }
    for degrees in [1, 2, 5, 9, 20, 29, 30, 100] {
        close(two_sided(ERROR_95, degrees), t_95(degrees), 2e-4);
    }
    assert_eq!((two_sided(0.0, 9), two_sided(0.05, 0), two_sided(1.0, 9)), (f64::INFINITY, f64::INFINITY, 0.0));
}

#[test]
fn a_share_has_the_interval_of_wilson() {
    // From Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I: 81 of 263, 15 of 148, 0 of 20.
    for (events, count, low, high) in
        [(81.0, 263.0, 0.2553, 0.3662), (15.0, 148.0, 0.0624, 0.1605), (0.0, 20.0, 0.0, 0.1611)]
    {
        let found = wilson(events / count, count, NORMAL_95);
        assert!((found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5, "{found:?}");
    }
    let found = share_with_interval(&[false; 100]).unwrap();
    assert_eq!((found.value, found.effective_values), (Some(0.0), 100.0));
    assert!(found.interval.is_some_and(|it| it.low == 0.0 && it.high > 0.03 && it.high < 0.04));
    assert!(share_with_interval(&[false; 3]).unwrap().interval.is_some_and(|it| it.high > 0.5));
    assert_eq!(share_with_interval(&[]), None);
    // Failures in clusters are worth fewer independent values.
    let together: Vec<bool> = (0..1_000).map(|it| it % 100 < 10).collect();
    let apart: Vec<bool> = (0..1_000).map(|it| it % 10 == 0).collect();
    let width = |values: &[bool]| share_with_interval(values).unwrap().interval.map(|it| it.high - it.low).unwrap();
    assert!(width(&together) > 1.5 * width(&apart));
}

#[test]
fn differences_of_shares_are_those_of_newcombe() {
    // From Newcombe, Interval estimation for the difference between independent proportions, 1998, table II, method 10: 56/70 - 48/80, 9/10 - 3/10.
    for (one, two, low, high) in
        [((56.0, 70.0), (48.0, 80.0), 0.0524, 0.3339), ((9.0, 10.0), (3.0, 10.0), 0.1705, 0.8090)]
    {
        let of = |(events, count): (f64, f64)| Estimated {
            value: events / count,
            interval: wilson(events / count, count, NORMAL_95),
            method: Method::Share { effective_values: count },
        };
        let found = difference(&of(two), &of(one), ERROR_95);
        assert!((found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5, "{found:?}");
        let back = difference(&of(one), &of(two), ERROR_95);
        assert_eq!((back.low, back.high), (-found.high, -found.low));
    }
}

#[test]
fn an_interval_at_95_percent_is_the_one_that_was_given() {
    for method in [Method::Mean { effective_values: 400.0 }, Method::Quantile] {
        let given = Estimated { value: 10.0, interval: Interval { low: 9.0, high: 12.0 }, method };
        let (same, wider) = (given.at(ERROR_95), given.at(0.001));
        close(same.low, 9.0, 2e-4);
        close(same.high, 12.0, 2e-4);
        assert!(wider.low < 8.5 && wider.high > 13.0 && wider.low > 0.0, "{wider:?}");
    }
    let at_zero = Estimated { value: 0.0, interval: Interval { low: 0.0, high: 0.0 }, method: Method::Quantile };
    assert_eq!(at_zero.at(0.001), Interval { low: 0.0, high: 0.0 });
}

/// Mean, p50, p90 and p99 of one draw; `None` if any of them has no interval.
fn estimates(process: Process, count: usize, seed: u64) -> Option<[Estimated; 4]> {
    let values = process.draw(count, &mut Random(seed << 20));
    let mut sorted = values.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let mean = mean_with_interval(&values)?;
    let method = Method::Mean { effective_values: mean.effective_values };
    let first = Estimated { value: mean.value?, interval: mean.interval?, method };
    let mut all = [first; 4];
    for (place, (p, _)) in QUANTILES.into_iter().enumerate() {
        let found = quantile(&values, &sorted, p, mean.effective_values)?;
        all[1 + place] = Estimated { value: found.value?, interval: found.interval?, method: Method::Quantile };
    }
    Some(all)
}

/// The share of 500 pairs in which any of the four figures differs, for a joint error of 1 %.
fn found_together(process: Process, count: usize) -> f64 {
    let (mut found, mut pairs) = (0, 0);
    for draw in 0..500 {
        let (Some(one), Some(two)) = (estimates(process, count, 2 * draw), estimates(process, count, 2 * draw + 1))
        else {
            continue;
        };
        pairs += 1;
        let differs = |place: usize| !difference(&one[place], &two[place], 0.01 / 4.0).contains(0.0);
        found += u64::from((0..4).any(differs));
    }
    assert!(pairs > 300, "{pairs}");
    found as f64 / pairs as f64
}

#[test]
fn equal_processes_seldom_differ() {
    for (process, count) in
        [(Process::Exponential, 1_000), (Process::Autoregressive(0.5), 2_000), (Process::Queue(0.5), 10_000)]
    {
        let share = found_together(process, count);
        assert!(share <= 0.02, "{process:?}: {share}");
    }
}
