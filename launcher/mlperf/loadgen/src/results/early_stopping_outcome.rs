//! The result of early stopping for a phase, in LoadGen's words.
//!
//! The Server scenario counts how many queries exceed a limit. SingleStream and MultiStream have no limit. If there are enough queries, they estimate
//! a latency that the percentile does not exceed, with 99 % confidence. Offline has no early stopping.

use crate::{
    logs::number,
    results::{Series, early_stopping::EarlyStopping},
};

/// The second percentile that SingleStream estimates, in addition to its target.
const SECOND: f64 = 0.99;

/// The result of one test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlyStoppingOutcome {
    /// Whether there were enough queries.
    pub met: bool,
    /// One or more lines. The last one has no line end.
    pub text: String,
    /// The estimate at the target percentile, in nanoseconds; `None` if there is none.
    pub estimate: Option<i64>,
    /// The estimate at the 99th percentile, in nanoseconds; `None` except in SingleStream.
    pub estimate_99: Option<i64>,
}

impl EarlyStoppingOutcome {
    /// Runs the test of the Server scenario. Of `queries` queries, `over` exceeded the limit.
    pub fn of_limit(percentile: f64, queries: u64, over: u64) -> EarlyStoppingOutcome {
        let test = match test(percentile) {
            Ok(test) => test,
            Err(none) => return none,
        };
        let needed = test.queries(over);
        let text = if queries >= needed {
            " * Run successful.".into()
        } else {
            format!(
                " * Run unsuccessful.\n * Processed {queries} queries.\n * Would need to run at least {} more queries,\n \
                 with the run being successful if every additional\n query were under latency.",
                needed - queries
            )
        };
        EarlyStoppingOutcome { met: queries >= needed, text, ..EarlyStoppingOutcome::default() }
    }

    /// Runs the test of SingleStream and MultiStream. `second` states whether to estimate the second percentile too, which SingleStream needs.
    pub fn of_estimate(percentile: f64, queries: u64, values: &Series, second: bool) -> EarlyStoppingOutcome {
        let test = match test(percentile) {
            Ok(test) => test,
            Err(none) => return none,
        };
        let least = test.least_for_estimate();
        let Some(over) = test.estimate_budget(queries) else {
            let text = format!(
                " * Only processed {queries} queries.\n * Need to process at least {least} queries for early stopping."
            );
            return EarlyStoppingOutcome { text, ..EarlyStoppingOutcome::default() };
        };
        let estimate = values.at(queries - over);
        let label = number::label(percentile, 1);
        let mut it = EarlyStoppingOutcome { met: true, estimate: Some(estimate), ..EarlyStoppingOutcome::default() };
        it.text = format!(
            " * Processed at least {least} queries ({queries}).\n * Would discard {} highest latency queries.\n \
             * Early stopping {label}th percentile estimate: {estimate}",
            over - 1
        );
        if second {
            it.add_second(queries, values);
        }
        it
    }

    /// Returns the text as one line, for the detail log.
    pub fn line(&self) -> String {
        self.text.replace('\n', " ")
    }

    fn add_second(&mut self, queries: u64, values: &Series) {
        let test = EarlyStopping::at(SECOND).expect("the percentile is a constant between 0 and 1");
        let label = number::label(SECOND, 1);
        self.estimate_99 = test.estimate_budget(queries).map(|over| values.at(queries - over));
        self.text += &match self.estimate_99 {
            Some(estimate) => format!("\n * Early stopping {label}th percentile estimate: {estimate}"),
            None => format!(
                "\n * Not enough queries processed for {label}th percentile\n early stopping estimate (would need to \
                 process at\n least {} total queries).",
                test.least_for_estimate()
            ),
        };
    }
}

/// Creates the test for a percentile. If the percentile cannot be tested, returns an outcome that is not met, with the reason in its text.
fn test(percentile: f64) -> Result<EarlyStopping, EarlyStoppingOutcome> {
    EarlyStopping::at(percentile)
        .map_err(|error| EarlyStoppingOutcome { text: format!(" * {error}"), ..EarlyStoppingOutcome::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_run_needs_more_queries_with_each_one_over_the_limit() {
        let met = EarlyStoppingOutcome::of_limit(0.99, 459, 0);
        assert_eq!((met.met, met.text.as_str()), (true, " * Run successful."));
        let unmet = EarlyStoppingOutcome::of_limit(0.99, 459, 1);
        let expected = " * Run unsuccessful.\n * Processed 459 queries.\n * Would need to run at least 203 more queries,\n \
                        with the run being successful if every additional\n query were under latency.";
        assert_eq!((unmet.met, unmet.text.as_str()), (false, expected));
    }

    #[test]
    fn an_estimate_sets_the_slowest_aside() {
        let values = Series::from_values(&(1..=64).collect::<Vec<i64>>());
        let found = EarlyStoppingOutcome::of_estimate(0.9, 64, &values, true);
        assert_eq!((found.met, found.estimate, found.estimate_99), (true, Some(64), None));
        let expected = " * Processed at least 64 queries (64).\n * Would discard 0 highest latency queries.\n \
                        * Early stopping 90.0th percentile estimate: 64\n * Not enough queries processed for 99.0th \
                        percentile\n early stopping estimate (would need to process at\n least 662 total queries).";
        assert_eq!(found.text, expected);
        let few = EarlyStoppingOutcome::of_estimate(0.9, 63, &values, true);
        assert_eq!((few.met, few.estimate), (false, None));
    }

    #[test]
    fn queries_without_values_do_no_harm() {
        let found = EarlyStoppingOutcome::of_estimate(0.9, 1_000, &Series::default(), true);
        assert_eq!((found.met, found.estimate), (true, Some(0)));
    }

    #[test]
    fn a_percentile_that_nothing_proves_is_never_met() {
        for percentile in [0.0, 1.0, f64::NAN] {
            let found = EarlyStoppingOutcome::of_limit(percentile, u64::MAX, 0);
            assert!(!found.met && found.text.contains("target_latency_percentile"), "{found:?}");
            assert!(!EarlyStoppingOutcome::of_estimate(percentile, 1_000, &Series::default(), false).met);
        }
    }
}
