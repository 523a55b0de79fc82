use measurement::{
    latency_origin::LatencyOrigin,
    record::{RequestOutcome, RequestRecord},
    recorder::WireTally,
};
use proptest::prelude::*;

use super::*;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The heat map of requests. Each request has the time of its first token and the gaps after it.
fn heat(requests: &[(Duration, Vec<Duration>)]) -> Option<ItlHeat> {
    let mut series = TimeSeries::new(240, LatencyOrigin::Scheduled);
    for (number, (first, gaps)) in (0..).zip(requests) {
        let last = *first + gaps.iter().sum::<Duration>();
        let tokens = gaps.len() as u32 + 1;
        let record = RequestRecord {
            stage: 0,
            number,
            turn: None,
            scheduled: *first,
            sent: Some(*first),
            permit_wait: None,
            first_token: Some(*first),
            last_token: Some(last),
            ended: last,
            outcome: RequestOutcome::Ok,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            output_tokens: Some(tokens),
            content_events: tokens,
            replica: None,
        };
        series.record(&record, &WireTally { gaps: gaps.iter().copied().collect(), ..WireTally::default() });
    }
    ItlHeat::new(&series)
}

#[test]
fn equal_times_are_one_row() {
    // The bins are 62.5 ms wide. Gaps end at 20, 40 and 60 ms (first bin) and at 80 ms (second bin).
    let found = heat(&[(ms(0), vec![ms(20); 4])]).unwrap();
    assert_eq!((found.bins_per_column, found.counts), (1, vec![vec![3], vec![1]]));
    assert!(found.edges.len() == 2 && found.edges[0] < ms(20) && ms(20) < found.edges[1], "{:?}", found.edges);
}

#[test]
fn without_gaps_there_is_no_map() {
    assert_eq!(heat(&[]), None);
    assert_eq!(heat(&[(ms(5), Vec::new())]), None);
}

#[test]
fn rows_have_equal_ratios_and_a_long_run_has_two_bins_in_a_column() {
    let mut requests: Vec<(Duration, Vec<Duration>)> =
        (0..1_000).map(|it| (ms(60 * it), vec![ms(10), ms(20), ms(40)])).collect();
    requests.push((ms(30_000), vec![ms(5_120)]));
    let found = heat(&requests).unwrap();
    // 60 s need 121 bins of 0.5 s; each column has two bins.
    assert_eq!((found.bins_per_column, found.counts.len(), found.edges.len()), (2, 61, 41));
    let ratios = found.edges.windows(2).map(|it| it[1].as_secs_f64() / it[0].as_secs_f64());
    // 10 ms to 5.12 s is nine doublings.
    assert!(ratios.into_iter().all(|it| (it - (9.0 / 40.0_f64).exp2()).abs() < 0.01), "{:?}", found.edges);
    let of_row = |row: usize| found.counts.iter().map(|column| column[row]).sum::<u64>();
    let row = |time: Duration| found.edges.iter().filter(|edge| **edge <= time).count() - 1;
    for (time, count) in [(ms(10), 1_000), (ms(20), 1_000), (ms(40), 1_000), (ms(5_120), 1)] {
        assert_eq!(of_row(row(time)), count, "{time:?}");
    }
    assert_eq!((row(ms(10)), row(ms(5_120))), (0, 39));
}

#[test]
fn a_few_gaps_of_zero_are_in_the_lowest_row() {
    let mut gaps = vec![ms(20); 999];
    gaps.push(Duration::ZERO);
    let found = heat(&[(ms(0), gaps)]).unwrap();
    assert_eq!(found.counts.iter().map(|column| column[0]).sum::<u64>(), 1_000);
    assert!(found.edges.len() == 2 && found.edges[0] > ms(19), "{:?}", found.edges);
}

#[test]
fn many_gaps_of_zero_leave_the_rows_to_the_others() {
    // Half of the gaps are zero, a few are shorter than 0.1 ms.
    let gaps = [vec![Duration::ZERO; 500], vec![Duration::from_micros(20); 10], vec![ms(20); 490]].concat();
    let found = heat(&[(ms(0), gaps)]).unwrap();
    assert!(found.edges[0] > Duration::from_micros(95) && found.edges[0] < Duration::from_micros(100), "{found:?}");
    let of_row = |row: usize| found.counts.iter().map(|column| column[row]).sum::<u64>();
    assert_eq!((of_row(0), of_row(found.edges.len() - 2)), (510, 490));
}

#[test]
fn gaps_of_zero_alone_are_one_row() {
    let found = heat(&[(ms(0), vec![Duration::ZERO; 9])]).unwrap();
    assert_eq!((found.counts.iter().flatten().sum::<u64>(), found.edges.len()), (9, 2));
}

proptest! {
    #[test]
    fn every_gap_is_counted_once(
        requests in prop::collection::vec(
            (0_u64..300_000, prop::collection::vec(0_u64..10_000_000, 0..8)), 1..40)
    ) {
        let gaps: u64 = requests.iter().map(|(_, gaps)| gaps.len() as u64).sum();
        let requests: Vec<(Duration, Vec<Duration>)> = requests
            .into_iter()
            .map(|(first, gaps)| (ms(first), gaps.into_iter().map(|it| Duration::from_nanos(it * 100)).collect()))
            .collect();
        let Some(found) = heat(&requests) else {
            prop_assert_eq!(gaps, 0);
            return Ok(());
        };
        prop_assert_eq!(found.counts.iter().flatten().sum::<u64>(), gaps);
        prop_assert!(found.counts.len() <= MOST_COLUMNS && found.edges.len() <= MOST_ROWS + 1);
        prop_assert!(found.edges.is_sorted_by(|one, other| one < other), "{:?}", found.edges);
        prop_assert!(found.counts.iter().all(|column| column.len() + 1 == found.edges.len()));
    }
}
