//! `requestSample` in `report.json`: a sample of limited size of a run's requests.

use std::time::Duration;

use measurement::recorder::{RequestSample, SampledRequest};
use serde::{Deserialize, Serialize};

use super::{
    time_series::Column,
    values::{millis, round},
};

/// Decimals of a time in milliseconds.
const TIME_DIGITS: i32 = 3;

/// The sampled requests, stored as columns, sorted by due time. Times count from the start of the run. A time is null if the event did not occur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSampleDocument {
    /// Number of requests from which the sample was taken.
    pub of: u64,
    /// Index of the request's stage in `stages`.
    pub stage: Column<u32>,
    /// Number of the request within its stage.
    pub number: Column<u64>,
    /// Outcome of the request, as a key of `outcomes`.
    pub outcome: Column<String>,
    pub due_ms: Column<f64>,
    pub sent_ms: Column<Option<f64>>,
    pub first_token_ms: Column<Option<f64>>,
    pub ended_ms: Column<f64>,
}

impl RequestSampleDocument {
    /// Converts the sample to columns. `None` if no request was started.
    pub(super) fn new(sample: &RequestSample) -> Option<RequestSampleDocument> {
        let mut requests: Vec<&SampledRequest> = sample.requests().iter().collect();
        requests.sort_by_key(|it| (it.scheduled, it.stage, it.number));
        let time = |it: Duration| round(millis(it), TIME_DIGITS);
        (!requests.is_empty()).then(|| RequestSampleDocument {
            of: sample.population(),
            stage: column(&requests, |it| it.stage),
            number: column(&requests, |it| it.number),
            outcome: column(&requests, |it| it.outcome.name()),
            due_ms: column(&requests, |it| time(it.scheduled)),
            sent_ms: column(&requests, |it| it.sent.map(time)),
            first_token_ms: column(&requests, |it| it.first_token.map(time)),
            ended_ms: column(&requests, |it| time(it.ended)),
        })
    }
}

fn column<T>(requests: &[&SampledRequest], of: impl Fn(&SampledRequest) -> T) -> Column<T> {
    Column(requests.iter().map(|it| of(it)).collect())
}
