//! Decides which requests count at a look, while further requests are in flight.

use statistics::median;

use crate::evidence::Outcome;

/// What is known about a request. Times are in seconds from the start of the trial's load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// When the request was due.
    pub due: f64,
    /// The value that the objective limits; `None` if it is not known yet.
    pub value: Option<f64>,
    /// Whether the request is known to have missed the objective. `false` while its value is unknown.
    pub missed: bool,
}

/// How an objective judges a request whose value is not known yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Open {
    /// For a latency, which is at least the age of the request. Once the age exceeds this limit, the request has missed the objective.
    AtLeastItsAge(f64),
    /// For a time per token or an error, about which the age shows nothing.
    Unknown,
}

/// Returns the outcomes of the requests that were due at `from` or later, at the time `now`. `seen` and the result are in the order of due times.
///
/// The youngest requests are left out, even those with an answer. Otherwise requests that are answered early would be over-represented. For a
/// latency, these are the requests younger than its limit; otherwise, those younger than the median age of the requests without a value.
pub fn outcomes(seen: &[Seen], open: Open, from: f64, now: f64) -> Vec<Outcome> {
    let too_young = match open {
        Open::AtLeastItsAge(limit) => limit,
        Open::Unknown => {
            let ages: Vec<f64> = seen.iter().filter(|it| it.value.is_none()).map(|it| now - it.due).collect();
            median(&ages).unwrap_or_default()
        }
    };
    let decided = |it: &Seen| match (it.value, open) {
        (Some(value), _) => Some(Outcome { value, missed: it.missed }),
        (None, Open::AtLeastItsAge(limit)) if now - it.due > limit => {
            Some(Outcome { value: now - it.due, missed: true })
        }
        (None, _) => None,
    };
    seen.iter().filter(|it| it.due >= from && it.due < now - too_young).filter_map(decided).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(due: f64, value: Option<f64>) -> Seen {
        Seen { due, value, missed: value.is_some_and(|it| it > 1.0) }
    }

    #[test]
    fn an_old_request_without_an_answer_misses_a_latency() {
        let all = [seen(0.0, Some(0.5)), seen(1.0, None), seen(2.0, Some(3.0)), seen(9.5, Some(0.2)), seen(9.9, None)];
        let found = outcomes(&all, Open::AtLeastItsAge(1.0), 0.0, 10.0);
        let of = |value, missed| Outcome { value, missed };
        assert_eq!(found, [of(0.5, false), of(9.0, true), of(3.0, true)]);
        assert_eq!(outcomes(&all, Open::AtLeastItsAge(1.0), 1.5, 10.0), [of(3.0, true)]);
    }

    #[test]
    fn other_open_requests_cut_the_window() {
        let all = [seen(0.0, Some(0.5)), seen(4.0, None), seen(6.0, Some(0.5)), seen(8.0, None)];
        // The requests without a value are 6 s and 2 s old, so their median age is 4 s.
        assert_eq!(outcomes(&all, Open::Unknown, 0.0, 10.0), [Outcome { value: 0.5, missed: false }]);
        assert_eq!(outcomes(&all[..1], Open::Unknown, 0.0, 10.0).len(), 1);
    }
}
