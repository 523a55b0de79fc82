//! Interactivity, cost and contamination, computed by hand.

use crds::resolve::{Hardware, Price};
use workload_profiles::workload::{
    DataSet, DataSetFormat, LengthDistribution, Margin, PromptColumn, PromptForm, PromptReuse, PromptText,
};

use super::*;
use measurement::{rows_used::RowsUsed, window::WindowPart};

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("it was measured");
    assert!((found - expected).abs() <= expected.abs() * 1e-3, "{found} and not {expected}");
}

/// Ten requests. Request i has 11 tokens and a TPOT of i ms, and its first token arrives after 100 ms.
fn ten() -> Analysis {
    let requests = (1..=10).map(|tpot| {
        let (record, wire) = request(0, 0, 0, 11);
        let last = record.first_token.map(|it| it + ms(10) * tpot);
        (RequestRecord { last_token: last, ended: ms(1_000), ..record }, wire)
    });
    check(&case(vec![closed("c10", 10)]), requests)
}

#[test]
fn interactivity_has_three_values_that_differ() {
    let found = Interactivity::new(&ten().all).unwrap();
    close(found.inverse_of_tpot_p90, 1_000.0 / 9.0);
    close(found.median_of_inverse_tpot, 1_000.0 / 5.0);
    // The latency of request 9 is 100 ms + 10 x 9 ms, and it has 11 tokens.
    close(found.inverse_of_ntpot_p90, 11.0 / 0.190);
    assert_eq!(Interactivity::new(&check(&case(vec![closed("c1", 1)]), []).all), None);
}

#[test]
fn cost_is_price_times_accelerators_over_tokens_an_hour() {
    let all = ten().all;
    // The run has 110 output tokens and 100 prompt tokens in one second.
    let price = Price { per_accelerator_hour: 3.6, currency: "EUR".into() };
    let hardware = Hardware { accelerator: None, accelerators: 4, price: Some(price) };
    let cost = CostFigures::new(&all, &hardware);
    close(cost.output_tokens_per_second_per_accelerator, 110.0 / 4.0);
    close(cost.total_tokens_per_second_per_accelerator, 210.0 / 4.0);
    close(cost.cost_per_million_output_tokens, 3.6 * 4.0 / (110.0 * 3_600.0) * 1e6);
    close(cost.cost_per_million_total_tokens, 3.6 * 4.0 / (210.0 * 3_600.0) * 1e6);
    let free = CostFigures::new(&all, &Hardware { price: None, ..hardware.clone() });
    assert_eq!((free.cost_per_million_output_tokens, free.cost_per_million_total_tokens), (None, None));
    let mixed = Figures { token_count: Some(TokenCount::Mixed), ..all };
    assert_eq!(CostFigures::new(&mixed, &hardware), CostFigures::default());
    let none = check(&case(vec![closed("c1", 1)]), []).all;
    assert_eq!(CostFigures::new(&none, &hardware), CostFigures::default());
}

fn random() -> RequestSource {
    let length = LengthDistribution::fixed;
    RequestSource::random(length(1_000), length(10), PromptText::Words)
}

/// The contamination of a workload with two stages. The first stage is a warm-up with 7 requests.
fn contamination(change: impl FnOnce(&mut Case), rows: Option<RowsUsed>) -> Contamination {
    let mut case = case(vec![closed("warm", 1), closed("c1", 1)]);
    case.workload.requests = random();
    case.workload.stages[0].warm_up = Some(Margin::All);
    change(&mut case);
    let mut all = check(&case, [request(1, 0, 0, 2)]).all;
    all.excluded.insert(WindowPart::WarmUp, [(RequestOutcome::Ok, 7)].into());
    Contamination::new(&all, &case.workload, &case.run, rows)
}

#[test]
fn prompts_that_are_drawn_anew_were_in_no_cache() {
    let found = contamination(|_| {}, None);
    assert_eq!((found.exposure, found.own_salt), (Exposure::Unlikely, Some(true)));
    let warm_up = found.warm_up.unwrap();
    assert_eq!((warm_up.stages.as_slice(), warm_up.requests), (["warm".to_owned()].as_slice(), 7));
    assert_eq!(warm_up.prompts, Some(WarmUpPrompts::Other));

    let given = contamination(|it| it.run.prompt_salt = "other".into(), None);
    assert_eq!((given.exposure, given.own_salt), (Exposure::Possible, Some(false)));
    assert!(given.why.contains("promptSalt"), "{}", given.why);

    let repeated = contamination(|it| it.workload.prompts = PromptReuse::Repeated, None);
    assert_eq!((repeated.exposure, repeated.own_salt), (Exposure::Possible, None));
    assert_eq!(repeated.warm_up.unwrap().prompts, Some(WarmUpPrompts::Same));
    let one_stage = contamination(
        |it| {
            it.workload.prompts = PromptReuse::Repeated;
            it.workload.stages.truncate(1);
        },
        None,
    );
    assert_eq!(one_stage.warm_up.unwrap().prompts, Some(WarmUpPrompts::Other));
}

#[test]
fn rows_that_are_sent_again_are_told() {
    let data_set = |it: &mut Case| {
        let column = PromptColumn::from_form(PromptForm::Text);
        it.workload.requests = RequestSource::DataSet(DataSet::new("a.jsonl", DataSetFormat::Jsonl, column, 5, 4));
    };
    let rows = |begun, distinct| Some(RowsUsed { rows: 4, begun, distinct });
    let once = contamination(data_set, rows(4, 4));
    assert_eq!((once.exposure, once.own_salt), (Exposure::Possible, None));
    assert_eq!(once.warm_up.unwrap().prompts, Some(WarmUpPrompts::Other));
    let again = contamination(data_set, rows(10, 4));
    assert!(again.why.contains("6 requests or conversations"), "{}", again.why);
    assert_eq!(again.data_set.and_then(RowsUsed::passes), Some(2.5));
    assert_eq!(again.warm_up.unwrap().prompts, Some(WarmUpPrompts::Same));
    assert_eq!(contamination(data_set, None).warm_up.unwrap().prompts, None);
}

#[test]
fn tokens_from_a_cache_that_nothing_explains_are_seen() {
    let case =
        Case { workload: Workload { requests: random(), ..case(vec![closed("c1", 1)]).workload }, ..case(vec![]) };
    let exposure = |cached| {
        let (record, wire) = request(0, 0, 0, 2);
        let record = RequestRecord { input_tokens: Some(1_000), cached_tokens: Some(cached), ..record };
        check(&case, [(record, wire)]).contamination.exposure
    };
    assert_eq!((exposure(16), exposure(900)), (Exposure::Unlikely, Exposure::Seen));
}

#[test]
fn hits_that_servers_count_and_the_load_does_not_explain_make_a_cache_possible() {
    let after = |hits: f64, looked_up: f64| {
        let mut found = contamination(|_| {}, None);
        found.add_counts(hits, looked_up);
        (found.exposure, found.server_share)
    };
    assert_eq!(after(0.0, 10_000.0), (Exposure::Unlikely, Some(0.0)));
    assert_eq!(after(1_000.0, 10_000.0), (Exposure::Possible, Some(0.1)));
    // The load has one request, and one block of it may be in the cache by chance.
    assert_eq!(after(16.0, 1_000.0), (Exposure::Unlikely, Some(0.016)));
    assert_eq!(after(1_000.0, 0.0), (Exposure::Unlikely, None));
    assert_eq!(after(f64::NAN, 1_000.0), (Exposure::Unlikely, None));
    // The second stage sends the same prompts as the first.
    let repeated = || contamination(|it| it.workload.prompts = PromptReuse::Repeated, None);
    let why = repeated().why;
    assert!(why.contains("a rerun meets a warm cache, unless spec.seed changes"), "{why}");
    let of_two_stages = {
        let mut found = repeated();
        found.add_counts(1_000.0, 10_000.0);
        found
    };
    assert_eq!((of_two_stages.exposure, &of_two_stages.why), (Exposure::Possible, &why));
    let mut alone = case(vec![closed("c1", 1)]);
    (alone.workload.requests, alone.workload.prompts) = (random(), PromptReuse::Repeated);
    let all = check(&alone, [request(0, 0, 0, 2)]).all;
    let after = |hits: f64| {
        let mut found = Contamination::new(&all, &alone.workload, &alone.run, None);
        found.add_counts(hits, 10_000.0);
        assert_eq!(found.exposure, Exposure::Possible);
        found.why
    };
    assert_eq!(after(16.0), why);
    assert!(after(1_000.0).starts_with(&why) && after(1_000.0).contains("than this load explains"));
}
