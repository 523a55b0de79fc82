use proptest::prelude::*;

use super::*;

fn request(stage: u32, number: u64) -> RequestRecord {
    let at = |millis: u64| Duration::from_millis(10 * number + millis);
    RequestRecord {
        stage,
        number,
        turn: None,
        scheduled: at(0),
        sent: Some(at(1)),
        permit_wait: None,
        first_token: Some(at(20)),
        last_token: Some(at(30)),
        ended: at(31),
        outcome: RequestOutcome::Ok,
        requested_input_tokens: None,
        requested_output_tokens: None,
        input_tokens: None,
        cached_tokens: None,
        class: None,
        output_tokens: None,
        content_events: 2,
        replica: None,
    }
}

fn sample(requests: impl IntoIterator<Item = (u32, u64)>) -> RequestSample {
    let mut sample = RequestSample::default();
    requests.into_iter().for_each(|(stage, number)| sample.record(&request(stage, number)));
    sample
}

#[test]
fn few_requests_are_all_in_the_sample() {
    let found = sample([(0, 0), (1, 0), (0, 1)]);
    let mut kept: Vec<(u32, u64)> = found.requests().iter().map(|it| (it.stage, it.number)).collect();
    kept.sort_unstable();
    assert_eq!((kept, found.population()), (vec![(0, 0), (0, 1), (1, 0)], 3));
    let of_two = found.requests().iter().find(|it| it.number == 1).unwrap();
    let times = [Some(of_two.scheduled), of_two.sent, of_two.first_token, Some(of_two.ended)];
    assert_eq!(times, [10, 11, 30, 41].map(|it| Some(Duration::from_millis(it))));
}

#[test]
fn the_size_is_bounded_whatever_the_number_of_requests() {
    let found = sample((0..20_000).map(|it| (0, it)));
    assert_eq!((found.requests().len(), found.population()), (MOST_SAMPLED, 20_000));
    assert!(found.kept.capacity() * size_of::<SampledRequest>() <= 50_000, "{}", found.kept.capacity());
}

#[test]
fn every_part_of_a_load_has_its_share_of_the_sample() {
    // Three stages with 10,000, 20,000 and 30,000 requests.
    let all = (0..3_u32).flat_map(|stage| (0..u64::from(stage + 1) * 10_000).map(move |it| (stage, it)));
    let found = sample(all);
    let kept = |wanted: &dyn Fn(&SampledRequest) -> bool| found.requests().iter().filter(|it| wanted(it)).count();
    // 50, 100 and 150 are expected. The standard deviations are below 9.
    let by_stage = [kept(&|it| it.stage == 0), kept(&|it| it.stage == 1), kept(&|it| it.stage == 2)];
    assert!((20..80).contains(&by_stage[0]) && (65..135).contains(&by_stage[1]), "{by_stage:?}");
    assert!((115..185).contains(&by_stage[2]), "{by_stage:?}");
    let first_half = kept(&|it| it.number < u64::from(it.stage + 1) * 5_000);
    let even = kept(&|it| it.number % 2 == 0);
    assert!((115..185).contains(&first_half) && (115..185).contains(&even), "{first_half} {even}");
}

proptest! {
    #[test]
    fn any_recorders_in_any_order_make_the_same_sample(
        count in 1_u64..2_000,
        stages in 1_u32..4,
        recorders in 1_usize..5,
        draws in prop::collection::vec(any::<u32>(), 2_000),
    ) {
        let mut all: Vec<(u32, u64)> = (0..count).map(|it| (it as u32 % stages, it / u64::from(stages))).collect();
        let expected = sample(all.iter().copied());
        prop_assert_eq!(expected.requests().len(), all.len().min(MOST_SAMPLED));
        all.sort_by_key(|(stage, number)| draws[(number * u64::from(stages) + u64::from(*stage)) as usize]);
        let mut parts = vec![RequestSample::default(); recorders];
        for (place, (stage, number)) in all.iter().enumerate() {
            parts[draws[place] as usize % recorders].record(&request(*stage, *number));
        }
        let mut sum = RequestSample::default();
        parts.iter().rev().for_each(|it| sum.add(it));
        prop_assert_eq!(sum, expected);
    }

    #[test]
    fn the_requests_of_the_lowest_ranks_are_kept(count in 1_u64..1_500) {
        let found = sample((0..count).map(|it| (0, it)));
        let mut ranks: Vec<u64> = (0..count).map(|it| rank(0, it)).collect();
        ranks.sort_unstable();
        ranks.truncate(MOST_SAMPLED);
        let kept: Vec<u64> = found.requests().iter().map(|it| it.rank).collect();
        prop_assert_eq!(kept, ranks);
    }
}
