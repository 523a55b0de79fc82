//! The reason why a phase cannot be planned.

use workload_profiles::{
    loadgen::{Effective, Qsl, Scenario, Settings},
    workload::MAX_REQUESTS,
};

/// The reason why a phase cannot be planned: LoadGen would loop forever, run out of memory, or behave unpredictably.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A setting has a value that no queries can be generated from.
    #[error("{setting} is {found}; {remedy}")]
    Value {
        /// LoadGen's name of the setting.
        setting: &'static str,
        /// The value of the setting.
        found: String,
        /// How to correct it.
        remedy: &'static str,
    },
    /// There would be more queries or samples than a run may have.
    #[error("{setting} is {found}, for which a phase needs more than {MAX_REQUESTS} samples; {remedy}")]
    TooMany {
        /// LoadGen's name of the setting.
        setting: &'static str,
        /// The value of the setting.
        found: String,
        /// How to correct it.
        remedy: &'static str,
    },
    /// The due time of a query is too large to be computed.
    #[error("{setting} is {found}, so that a query would be due after more than 292 years; {remedy}")]
    TooLate {
        /// LoadGen's name of the setting.
        setting: &'static str,
        /// The value of the setting.
        found: String,
        /// How to correct it.
        remedy: &'static str,
    },
    /// The phase would have no queries.
    #[error("{settings} leave no query to issue; {remedy}")]
    Nothing {
        /// LoadGen's names of the settings, with their values.
        settings: String,
        /// How to correct it.
        remedy: &'static str,
    },
    /// There is no accuracy phase with this number.
    #[error("there is no accuracy set {set}, counted from 0; the test has {sets}")]
    NoSet {
        /// The requested sample set.
        set: u64,
        /// Number of sample sets.
        sets: u64,
    },
}

fn value(setting: &'static str, found: impl ToString, remedy: &'static str) -> QueryError {
    QueryError::Value { setting, found: found.to_string(), remedy }
}

fn too_many(setting: &'static str, found: impl ToString, remedy: &'static str) -> QueryError {
    QueryError::TooMany { setting, found: found.to_string(), remedy }
}

const LATENCY: &str = "set target_latency to about the latency that a query will have";
const RATE: &str = "set target_qps to about the rate that the system will reach";

/// Returns the setting that determines the query rate, its value, and how to correct it.
fn pace(settings: &Settings, effective: &Effective) -> (&'static str, String, &'static str) {
    match settings.scenario {
        Scenario::SingleStream => {
            ("single_stream_expected_latency_ns", settings.single_stream_expected_latency_ns.to_string(), LATENCY)
        }
        Scenario::MultiStream => {
            ("multi_stream_expected_latency_ns", settings.multi_stream_expected_latency_ns.to_string(), LATENCY)
        }
        Scenario::Server => ("server_target_qps", effective.target_qps.to_string(), RATE),
        Scenario::Offline => ("offline_expected_qps", effective.target_qps.to_string(), RATE),
    }
}

/// Checks the settings of a test that apply to every phase.
pub(super) fn check(settings: &Settings, effective: &Effective, qsl: &Qsl) -> Result<(), QueryError> {
    if qsl.total_sample_count == 0 {
        return Err(value("total_sample_count", 0, "give a data set with at least one sample"));
    }
    if effective.performance_sample_count == 0 {
        return Err(value("performance_sample_count", 0, "set performance_sample_count_override, or leave both out"));
    }
    for (setting, count) in [
        ("performance_sample_count", effective.performance_sample_count),
        ("accuracy_sample_count", effective.accuracy_sample_count),
    ] {
        if count.min(qsl.total_sample_count) > MAX_REQUESTS {
            return Err(too_many(setting, count, "set its override to fewer"));
        }
    }
    if effective.samples_per_query == 0 {
        return Err(match settings.scenario {
            Scenario::Offline => nothing(settings),
            _ => value("multi_stream_samples_per_query", 0, "set samples_per_query to 1 or more"),
        });
    }
    let loaded = effective.performance_sample_count.min(qsl.total_sample_count);
    if settings.scenario == Scenario::MultiStream && effective.samples_per_query > MAX_REQUESTS - loaded {
        return Err(too_many_in_a_query(effective));
    }
    check_pace(settings, effective)
}

fn too_many_in_a_query(effective: &Effective) -> QueryError {
    too_many("multi_stream_samples_per_query", effective.samples_per_query, "set samples_per_query to fewer")
}

/// Checks that the rate or the expected latency is finite and above 0.
pub(super) fn check_pace(settings: &Settings, effective: &Effective) -> Result<(), QueryError> {
    if effective.target_qps.is_finite() && effective.target_qps > 0.0 {
        return Ok(());
    }
    let (setting, found, remedy) = pace(settings, effective);
    Err(QueryError::Value { setting, found, remedy })
}

/// The error for a minimum number of samples above the limit.
pub(super) fn too_many_at_least(settings: &Settings, effective: &Effective) -> QueryError {
    let asked = settings.min_query_count;
    let fewer = "set min_query_count to fewer";
    match settings.scenario {
        Scenario::Offline if settings.performance_issue_unique => {
            too_many("performance_sample_count", effective.performance_sample_count, "set its override to fewer")
        }
        Scenario::Offline if asked < effective.samples_per_query => too_many_at_pace(settings, effective),
        Scenario::SingleStream if asked <= MAX_REQUESTS && effective.min_query_count > MAX_REQUESTS => {
            too_many_at_pace(settings, effective)
        }
        Scenario::MultiStream if effective.samples_per_query > asked => too_many_in_a_query(effective),
        _ => too_many("min_query_count", asked, fewer),
    }
}

/// The error for a rate at which too many queries would be due.
pub(super) fn too_many_at_pace(settings: &Settings, effective: &Effective) -> QueryError {
    let (setting, found, _) = pace(settings, effective);
    let found = format!("{found} and min_duration_ms {}", settings.min_duration_ms);
    let remedy = match settings.scenario {
        Scenario::SingleStream | Scenario::MultiStream => "set a longer target_latency or a shorter min_duration",
        Scenario::Server | Scenario::Offline => "set a lower target_qps or a shorter min_duration",
    };
    QueryError::TooMany { setting, found, remedy }
}

pub(super) fn too_late(settings: &Settings, effective: &Effective) -> QueryError {
    let (setting, found, remedy) = pace(settings, effective);
    QueryError::TooLate { setting, found, remedy }
}

pub(super) fn nothing(settings: &Settings) -> QueryError {
    let remedy = "set min_query_count to 1 or more";
    let (duration, count) = (settings.min_duration_ms, settings.min_query_count);
    QueryError::Nothing { settings: format!("min_duration_ms {duration} and min_query_count {count}"), remedy }
}

/// The error if more unique samples are requested than the data set has.
pub(super) fn not_unique(settings: &Settings, effective: &Effective, qsl: &Qsl) -> QueryError {
    match settings.scenario {
        Scenario::Offline => {
            let counts = format!("{} of {} samples", effective.performance_sample_count, qsl.total_sample_count);
            let remedy = "set performance_sample_count_override to at most the size of the data set";
            QueryError::Value {
                setting: "performance_sample_count with performance_issue_unique",
                found: counts,
                remedy,
            }
        }
        _ => value(
            "performance_issue_unique",
            "true, as is sample_concatenate_permutation, which asks for more queries than there are unique ones",
            "set one of them to 0",
        ),
    }
}

/// The error if the sample that every query should issue is not in the set.
pub(super) fn no_such_sample(settings: &Settings, end: usize) -> QueryError {
    QueryError::Value {
        setting: "performance_issue_same_index",
        found: format!("{}, but the sample set has {end} samples", settings.performance_issue_same_index),
        remedy: "set a smaller index, counted from 0",
    }
}

/// The error if an equal issue has no minimum number of queries. The number of its passes is derived from that minimum.
pub(super) fn no_pass() -> QueryError {
    let remedy = "set it to 1 or more, for sample_concatenate_permutation makes its passes for so many queries";
    value("min_query_count", 0, remedy)
}
