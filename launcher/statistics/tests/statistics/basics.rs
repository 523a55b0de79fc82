//! Compares formulas with values that were computed by hand, and with published tables.

use statistics::{
    Interval,
    batch_means::mean_with_interval,
    binomial::quantile_ranks,
    bins::{self, Point, RateBins},
    effective_sample_size::{autocorrelation_time, effective_sample_size},
    enough,
    littles_law::LittlesLawSums,
    mser::mser,
    order_statistics::quantile,
    student::t_95,
    trend::trend,
};

use crate::processes::{Random, autoregressive};

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} and not {expected}");
}

#[test]
fn student_has_the_values_of_the_tables() {
    for (degrees, value) in [(1, 12.706_205), (9, 2.262_157), (29, 2.045_230), (30, 2.042_272)] {
        close(t_95(degrees), value, 1e-6);
    }
    for (degrees, value) in [(31, 2.039_513), (40, 2.021_075), (60, 2.000_298), (120, 1.979_930)] {
        close(t_95(degrees), value, 2e-6);
    }
    assert_eq!(t_95(0), f64::INFINITY);
}

#[test]
fn ranks_are_those_of_the_published_tables() {
    // For the median: Conover, Practical Nonparametric Statistics, and any table of the sign test.
    assert_eq!(quantile_ranks(5, 0.5), None);
    assert_eq!(quantile_ranks(6, 0.5), Some((1, 6)));
    assert_eq!(quantile_ranks(10, 0.5), Some((2, 9)));
    assert_eq!(quantile_ranks(20, 0.5), Some((6, 15)));
    assert_eq!(quantile_ranks(100, 0.5), Some((40, 61)));
    // All n values are below p99 with the probability 0.99^n, which is at most 2.5 % for n >= 368.
    assert_eq!(quantile_ranks(367, 0.99), None);
    assert_eq!(quantile_ranks(368, 0.99).map(|it| it.1), Some(368));
    // By the normal approximation, the ranks are 500,000 -+ 1.96 x 500.
    let (low, high) = quantile_ranks(1_000_000, 0.5).unwrap();
    assert!(low.abs_diff(499_020) <= 1 && high.abs_diff(500_981) <= 1, "{low} {high}");
    assert_eq!((quantile_ranks(0, 0.5), quantile_ranks(10, 1.0)), (None, None));
}

#[test]
fn enough_values_are_those_that_the_rules_say() {
    assert_eq!([0.5, 0.9, 0.99, 0.1].map(enough::for_quantile), [2.0, 10.0, 100.0, 10.0]);
    assert_eq!([0.5, 0.9, 0.99].map(enough::for_ranks), [6.0, 36.0, 368.0]);
    assert_eq!([0.5, 0.9, 0.99].map(enough::for_quantile_interval), [30.0, 30.0, 200.0]);
}

#[test]
fn too_few_values_have_no_p99_and_later_no_interval() {
    let mut random = Random(1);
    let mut p99 = |count: usize| {
        let values: Vec<f64> = (0..count).map(|_| random.exponential()).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let found = quantile(&values, &sorted, 0.99, effective_sample_size(&values)).unwrap();
        (found.value.is_some(), found.interval.is_some())
    };
    assert_eq!([99, 100, 300, 2_000].map(&mut p99), [(false, false), (true, false), (true, false), (true, true)]);
    assert_eq!(quantile(&[], &[], 0.99, 0.0), None);
}

#[test]
fn equal_values_have_an_interval_without_width() {
    let values = [7.0; 400];
    let seven = Some(Interval { low: 7.0, high: 7.0 });
    assert_eq!(mean_with_interval(&values).unwrap().interval, seven);
    let p99 = quantile(&values, &values, 0.99, 400.0).unwrap();
    assert_eq!((p99.value, p99.interval, p99.effective_values), (Some(7.0), seven, 400.0));
    assert_eq!(mean_with_interval(&[]), None);
}

#[test]
fn effective_sample_sizes_are_near_the_formula() {
    // The autocorrelation time of an autoregressive process is (1 + phi) / (1 - phi).
    for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
        let mut times: Vec<f64> =
            (0..50).map(|seed| autocorrelation_time(&autoregressive(10_000, phi, &mut Random(seed << 20)))).collect();
        times.sort_by(f64::total_cmp);
        close(times[25], expected, 0.1 * expected);
    }
    // Negatively correlated values are not worth more than their number.
    let alternating: Vec<f64> = (0..1_000).map(|it| f64::from(it % 2)).collect();
    assert_eq!(effective_sample_size(&alternating), 1_000.0);
    assert_eq!(effective_sample_size(&[]), 0.0);
    // A series with a trend is worth only a few independent values.
    let ramp: Vec<f64> = (0..100_000).map(f64::from).collect();
    assert!(effective_sample_size(&ramp) < 10.0, "{}", effective_sample_size(&ramp));
}

#[test]
fn a_long_series_has_the_autocorrelation_time_of_its_process() {
    let values = autoregressive(1_000_000, 0.9, &mut Random(3));
    close(autocorrelation_time(&values), 19.0, 2.0);
    // The result comes from 16,384 means of 61 successive values each. Their correlation needs more than 512 lags.
    let values = autoregressive(1_000_000, 0.999_99, &mut Random(3));
    assert!(effective_sample_size(&values) < 40.0, "{}", effective_sample_size(&values));
}

#[test]
fn a_trend_is_the_slope_and_outliers_do_not_move_it() {
    let mut random = Random(5);
    let mut points: Vec<Point> = (0..40)
        .map(|it| {
            let time = f64::from(it);
            Point { start: time, time, value: 100.0 + 0.5 * time + random.normal() }
        })
        .collect();
    points[7].value = 900.0;
    let found = trend(&points).unwrap();
    close(found.slope, 0.5, 0.05);
    close(found.change, 39.0 * 0.5 / 109.75, 0.02);
    let interval = found.interval.unwrap();
    assert!(interval.contains(found.change) && interval.low > 0.1 && interval.high < 0.25, "{interval:?}");
    assert_eq!((trend(&points[..1]), trend(&[])), (None, None));
    let zero = |time| Point { start: time, time, value: 0.0 };
    assert_eq!(trend(&[zero(0.0), zero(1.0)]), None);
}

#[test]
fn mser_leaves_out_what_differs_at_the_begin() {
    let mut values = vec![9.0, 7.0, 4.0];
    values.extend([1.0, 1.1, 0.9, 1.0, 1.0, 1.1, 0.9, 1.0, 1.0]);
    assert_eq!(mser(&values), Some(3));
    assert_eq!(mser(&[1.0; 20]), Some(0));
    let ramp: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(mser(&ramp), None);
    assert_eq!((mser(&[]), mser(&[1.0])), (Some(0), Some(0)));
}

#[test]
fn bins_hold_every_value_once() {
    let values: Vec<(f64, f64)> = (0..207).map(|it| (f64::from(it), f64::from(it % 23))).collect();
    assert_eq!((bins::number(199), bins::number(207), bins::number(1_000_000)), (None, Some(10), Some(60)));
    let series = bins::quantiles(&values, 10, [0.5, 1.0]);
    assert_eq!((series[0].len(), series[1].len()), (10, 10));
    assert_eq!((series[0][0].start, series[0][1].start, series[0][0].time), (0.0, 20.0, 9.5));
    assert_eq!((series[0][0].value, series[1][0].value), (9.0, 19.0));
    assert!(bins::quantiles(&values, 0, [0.5])[0].is_empty());
}

#[test]
fn rates_add_up_to_what_came_within_the_bins() {
    let mut bins = RateBins::new(10.0, 20.0, 5).unwrap();
    for at in [9.9, 10.0, 11.0, 13.9, 20.0, 20.1] {
        bins.add(at, 1.0);
    }
    let rates = |bins: &RateBins| bins.rates().iter().map(|it| it.value).collect::<Vec<f64>>();
    assert_eq!(rates(&bins), [1.0, 0.5, 0.0, 0.0, 0.5]);
    assert_eq!((bins.rates()[1].start, bins.rates()[1].time), (12.0, 13.0));
    // An amount of ten arrives evenly from 9 to 19. One of it arrives before the first bin, and the last bin gets only half as much as the others.
    let mut bins = RateBins::new(10.0, 20.0, 5).unwrap();
    bins.spread(9.0, 19.0, 10.0);
    assert_eq!(rates(&bins), [1.0, 1.0, 1.0, 1.0, 0.5]);
    bins.spread(12.5, 13.5, 4.0);
    bins.spread(14.0, 14.0, 2.0);
    bins.spread(25.0, 30.0, 9.0);
    bins.spread(5.0, 7.0, 9.0);
    assert_eq!(rates(&bins), [1.0, 3.0, 2.0, 1.0, 0.5]);
    assert_eq!((RateBins::new(1.0, 1.0, 5), RateBins::new(0.0, 1.0, 0)), (None, None));
}

#[test]
fn littles_law_holds_for_a_closed_loop_and_not_for_a_growing_queue() {
    // Four requests of 2 s each are always in flight.
    let mut sums = LittlesLawSums::new(10.0, 20.0);
    for slot in 0..4 {
        (0..30).for_each(|it| {
            sums.add(2.0 * f64::from(it) + 0.5 * f64::from(slot), 2.0 * f64::from(it + 1) + 0.5 * f64::from(slot))
        });
    }
    let law = sums.law().unwrap();
    close(law.concurrency, 4.0, 1e-12);
    close(law.throughput * law.latency, 4.0, 1e-12);
    close(law.residual, 0.0, 1e-12);
    // One request arrives per second, but an answer comes only every two seconds.
    let mut sums = LittlesLawSums::new(0.0, 100.0);
    (0..100).for_each(|it| sums.add(f64::from(it), 2.0 * f64::from(it + 1)));
    let law = sums.law().unwrap();
    close(law.throughput, 0.5, 1e-12);
    assert!(law.residual > 0.3, "{law:?}");
    assert_eq!(LittlesLawSums::new(0.0, 1.0).law(), None);
}
