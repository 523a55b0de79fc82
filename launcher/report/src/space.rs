//! Estimates the size of a run's results folder in bytes, as far as it is known before the load. Pure.

use workload_profiles::{Workload, loadgen::Mode};

use super::requests_parquet::BYTES_PER_ROW;

/// Bytes of the files whose size does not depend on the requests: reports, page, and samples of the servers' metrics.
const REPORTS: u64 = 16 << 20;
/// Bytes that each stage adds to these files: two standard reports, and its part of the others.
const PER_STAGE: u64 = 128 << 10;
/// Assumed number of requests in a stage for which the number is unknown before the load.
pub const ROWS_OF_UNDECIDED_STAGE: u64 = 100_000;
/// Maximum bytes per request in `measurement.bin`, without times between tokens. Most runs need about half.
const MEASUREMENT_PER_REQUEST: u64 = 128;
/// Bytes per request for times between tokens: 1,000 tokens of 4 bytes each.
const TOKEN_TIMES_PER_REQUEST: u64 = 4_000;
/// Bytes per answer in an accuracy log of LoadGen: 1,000 tokens of 8 hexadecimal digits each.
const PER_ANSWER: u64 = 8 << 10;

/// The properties of a run that determine the size of its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Number of stages.
    pub stages: u64,
    /// Number of stages for which the number of requests is unknown before the load.
    pub undecided_stages: u64,
    /// Number of requests in all other stages.
    pub requests: u64,
    /// Whether each request has a row in `requests.parquet` and a part of `measurement.bin`.
    pub with_rows: bool,
    /// Whether `measurement.bin` contains the times between tokens.
    pub with_token_times: bool,
    /// Number of answers in accuracy logs.
    pub answers: u64,
    /// Number of runs of the series that remain, including this one.
    pub runs: u64,
}

impl Planned {
    /// Reads these properties from a workload, without generating its requests.
    pub fn new(workload: &Workload, runs: u64) -> Planned {
        let answers = workload.loadgen.as_ref().map_or(0, |loadgen| {
            let accurate = |mode| matches!(mode, Mode::AccuracyOnly | Mode::SubmissionRun);
            let tests = loadgen.tests.iter().filter(|it| accurate(it.settings.mode)).count() as u64;
            tests.saturating_mul(loadgen.qsl.total_sample_count)
        });
        Planned { stages: workload.stages.len() as u64, answers, runs, ..Planned::default() }
    }

    /// Total bytes of all results folders.
    pub fn bytes(&self) -> u64 {
        let one = REPORTS
            .saturating_add(self.stages.saturating_mul(PER_STAGE))
            .saturating_add(self.answers.saturating_mul(PER_ANSWER))
            .saturating_add(self.rows().saturating_mul(self.bytes_per_request()));
        one.saturating_mul(self.runs.max(1))
    }

    fn bytes_per_request(&self) -> u64 {
        let token_times = if self.with_token_times { TOKEN_TIMES_PER_REQUEST } else { 0 };
        BYTES_PER_ROW + MEASUREMENT_PER_REQUEST + token_times
    }

    fn rows(&self) -> u64 {
        let undecided = self.undecided_stages.saturating_mul(ROWS_OF_UNDECIDED_STAGE);
        if self.with_rows { self.requests.saturating_add(undecided) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_count_where_they_leave_rows_and_runs_count_each() {
        let planned = Planned { stages: 2, requests: 1_000_000, runs: 1, ..Planned::default() };
        assert_eq!(planned.bytes(), REPORTS + 2 * PER_STAGE);
        let with_rows = Planned { with_rows: true, ..planned };
        let per_request = BYTES_PER_ROW + MEASUREMENT_PER_REQUEST;
        assert_eq!(with_rows.bytes(), REPORTS + 2 * PER_STAGE + 1_000_000 * per_request);
        assert_eq!(Planned { runs: 5, ..with_rows }.bytes(), 5 * with_rows.bytes());
        let undecided = Planned { undecided_stages: 2, ..with_rows };
        assert_eq!(undecided.bytes() - with_rows.bytes(), 2 * ROWS_OF_UNDECIDED_STAGE * per_request);
        let with_times = Planned { with_token_times: true, ..with_rows };
        assert_eq!(with_times.bytes() - with_rows.bytes(), 1_000_000 * TOKEN_TIMES_PER_REQUEST);
        assert_eq!(Planned { answers: 10, ..planned }.bytes() - planned.bytes(), 10 * PER_ANSWER);
    }

    #[test]
    fn a_sum_that_is_too_large_for_a_number_is_the_largest_number() {
        let planned = Planned { requests: u64::MAX, with_rows: true, ..Planned::default() };
        assert_eq!(planned.bytes(), u64::MAX);
    }
}
