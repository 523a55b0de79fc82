use std::time::Duration;

use super::*;

fn time(micros: u64) -> FigureValue {
    FigureValue::Time(Span(Duration::from_micros(micros)))
}

#[test]
fn one_missed_objective_decides_and_then_one_that_is_undecided() {
    use Met::{False, Inconclusive, True};
    for (all, expected, text) in [
        (&[][..], True, "0 of 0 objectives met"),
        (&[True, True], True, "2 of 2 objectives met"),
        (&[True, Inconclusive], Inconclusive, "1 of 2 objectives met, 1 inconclusive"),
        (&[Inconclusive, False, True], False, "1 of 3 objectives met, 1 missed, 1 inconclusive"),
    ] {
        let counts = ObjectiveCounts::count(all.iter().copied());
        assert_eq!((counts.all(), counts.to_string().as_str()), (expected, text));
    }
}

#[test]
fn a_value_that_misses_by_little_does_not_read_as_its_limit() {
    assert_eq!(time(402_123).beside(time(500_000)), "402.1ms");
    assert_eq!(time(500_000).beside(time(500_000)), "500ms");
    assert_eq!(time(500_004).beside(time(500_000)), "500.004ms");
    let number = FigureValue::Number;
    assert_eq!(number(903.456).beside(number(900.0)), "903.5");
    assert_eq!(number(899.999).beside(number(900.0)), "899.999");
    assert_eq!(number(f64::NAN).beside(number(900.0)), "NaN");
}

#[test]
fn values_are_read_as_they_are_written() {
    for (value, text) in [(time(1_500), "\"1.5ms\""), (FigureValue::Number(0.25), "0.25")] {
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
        assert_eq!(serde_json::from_str::<FigureValue>(text).unwrap(), value);
    }
}

#[test]
fn a_time_and_a_number_have_no_order() {
    assert_eq!(time(1).partial_cmp(&FigureValue::Number(1.0)), None);
    assert_eq!(FigureValue::Number(f64::NAN).partial_cmp(&FigureValue::Number(1.0)), None);
    assert!(time(1) <= time(1));
}
