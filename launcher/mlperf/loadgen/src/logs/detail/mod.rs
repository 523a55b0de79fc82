//! Writes the detail log, mlperf_log_detail.txt: one entry per line, with the keys in LoadGen's order.
//!
//! Unlike LoadGen's log, it is always valid JSON: strings are escaped, and non-finite numbers are written as `Infinity`, `-Infinity` or `NaN`. If
//! this launcher finds a fault for which LoadGen does not check, an error_runtime line before the figures reports it. The result is then INVALID, and
//! the fault is part of its reason. The source location in an entry refers to this launcher's source.

mod entry;
mod settings;

use std::io::{self, Write};

pub use entry::Entry;
use entry::{Entries, Value};
use workload_profiles::{
    loadgen::{Mode, Scenario},
    workload::Phase,
};

use crate::{
    logs::{
        messages::{Event, Level},
        test_log::{PhaseLog, TestLog},
    },
    peak::{self, Trial},
    results::figures::figures,
};

/// Counters of LoadGen's logger. They are always 0, because this launcher has no logger of that kind.
const LOGGER: [&str; 6] = [
    "logger_swap_request_slots_retry_count",
    "logger_swap_request_slots_retry_retry_count",
    "logger_swap_request_slots_retry_reencounter_count",
    "logger_start_reading_entries_retry_count",
    "logger_tls_total_log_cas_fail_count",
    "logger_tls_total_swap_buffers_slot_retry_count",
];

/// Writes the detail log of a test.
///
/// # Errors
/// Writing to `out` fails.
pub fn write(log: &TestLog, mut out: impl Write) -> io::Result<()> {
    entries(log).iter().try_for_each(|it| it.write(log.pid, &mut out))
}

/// Returns all entries, in order.
pub fn entries(log: &TestLog) -> Vec<Entry> {
    let mut entries = Entries::default();
    head(log, &mut entries);
    let settings = &log.settings;
    if settings.mode == Mode::FindPeakPerformance && settings.scenario != Scenario::Server {
        return entries.into_all();
    }
    search(log, &mut entries);
    for phase in log.phases.iter().filter(|it| it.tried.is_none()) {
        if starts_a_mode(log, phase) {
            entries.note(match phase.phase {
                Phase::Accuracy { .. } => "Starting accuracy mode",
                Phase::Performance => "Starting performance mode",
            });
        }
        entries.at = entries.at.max(phase.loaded_at);
        entries.add("loaded_qsl_set", phase.loaded.as_slice());
        run(phase, &mut entries);
    }
    log.judged(|results, validity| {
        figures(results, validity).iter().for_each(|it| entries.add(it.key.clone(), &it.value));
        entries.add("num_errors", log.errors());
    });
    entries.into_all()
}

fn head(log: &TestLog, entries: &mut Entries) {
    let build = &log.build;
    entries.add("loadgen_version", build.version.as_str());
    entries.add("loadgen_build_date_local", build.build_date_local.as_str());
    entries.add("loadgen_build_date_utc", build.build_date_utc.as_str());
    entries.add("loadgen_git_commit_date", build.git_commit_date.as_str());
    entries.add("loadgen_git_log_message", build.git_log_message.as_str());
    entries.add("loadgen_git_status_message", build.git_status_message.as_str());
    entries.add("loadgen_file_sha1", Value::NoObject);
    entries.at = log.get_sut_name;
    entries.add("test_datetime", log.started.strftime("%FT%TZ").to_string().as_str());
    entries.add("sut_name", log.sut_name.as_str());
    entries.add("get_sut_name_duration_ns", u64::try_from(log.get_sut_name.as_nanos()).unwrap_or(u64::MAX));
    entries.add("qsl_name", log.qsl.name.as_str());
    entries.add("qsl_reported_total_count", log.qsl.total_sample_count);
    entries.add("qsl_reported_performance_count", log.qsl.performance_sample_count);
    for warning in log.settings_warnings() {
        entries.event(&warning);
    }
    for message in log.messages.kept() {
        entries.at = entries.at.max(message.at);
        entries.event(&message.event);
    }
    settings::requested(&log.settings, entries);
    settings::effective(&log.settings, &log.effective, entries);
}

/// Whether the phase is the first accuracy phase, or the first performance phase.
fn starts_a_mode(log: &TestLog, phase: &PhaseLog) -> bool {
    let accuracy = |it: &PhaseLog| matches!(it.phase, Phase::Accuracy { .. });
    let first = log.phases.iter().find(|it| accuracy(it) == accuracy(phase));
    first.is_some_and(|it| std::ptr::eq(it, phase))
}

/// Adds all entries between loading the samples and the figures.
fn run(phase: &PhaseLog, entries: &mut Entries) {
    entries.at = entries.at.max(phase.generated_at);
    entries.add("generated_query_count", phase.generated.queries);
    entries.add("generated_samples_per_query", phase.generated.samples_per_query);
    entries.add("generated_query_duration", u64::try_from(phase.generated.duration.as_nanos()).unwrap_or(u64::MAX));
    for message in phase.messages.kept() {
        entries.at = entries.at.max(message.at);
        entries.event(&message.event);
    }
    entries.at = entries.at.max(phase.ended_at);
    for event in phase.own_errors() {
        entries.event(&event);
    }
    for key in LOGGER {
        entries.add(key, 0_u64);
    }
    let time = |it: jiff::Timestamp| it.strftime("%m-%d-%Y %H:%M:%S.%3f").to_string();
    let end = phase.power_begin.checked_add(phase.lasted).unwrap_or(jiff::Timestamp::MAX);
    entries.add("power_begin", time(phase.power_begin).as_str());
    entries.add("power_end", time(end).as_str());
}

/// Adds the trials of a peak search. As long as the search looks for its bounds, the samples are loaded for each trial; after that, they are loaded
/// once.
fn search(log: &TestLog, entries: &mut Entries) {
    if log.settings.mode != Mode::FindPeakPerformance {
        return;
    }
    entries.note("Starting FindPeakPerformance mode");
    let mut bounded = false;
    let trials = log.phases.iter().filter_map(|it| Some((it, it.tried.as_ref()?)));
    let mut last_bounds = None;
    for (phase, tried) in trials {
        match tried.trial {
            Trial::Middle { lower, upper } => {
                if !bounded {
                    boundaries((lower, upper), phase, entries);
                    bounded = true;
                }
                entries.note(&tried.trial.text());
            }
            Trial::Base { .. } | Trial::Boundary { .. } => {
                entries.note(&tried.trial.text());
                entries.at = entries.at.max(phase.loaded_at);
                entries.add("loaded_qsl_set", phase.loaded.as_slice());
            }
        }
        if let (Trial::Boundary { lower, upper }, false) = (tried.trial, tried.met) {
            last_bounds = Some((lower, upper));
        }
        run(phase, entries);
    }
    if let Some(error) = log.base_error() {
        entries.event(&error);
        return;
    }
    if let (false, Some(bounds), Some(phase)) = (bounded, last_bounds, log.phases.last()) {
        boundaries(bounds, phase, entries);
    }
    if let (true, Some(tried)) = (log.found_peak(), log.reported().and_then(|it| it.tried.as_ref())) {
        entries.note(&peak::found_text(tried.trial.rate()));
    }
}

fn boundaries((lower, upper): (f64, f64), phase: &PhaseLog, entries: &mut Entries) {
    entries.note(&peak::boundaries_text(lower, upper));
    entries.at = entries.at.max(phase.loaded_at);
    entries.add("loaded_qsl_set", phase.loaded.as_slice());
}

impl Entries {
    #[track_caller]
    fn note(&mut self, text: &str) {
        self.event(&Event::Note(text.into()));
    }

    #[track_caller]
    fn event(&mut self, event: &Event) {
        self.add(event.key(), event.text().as_str());
        self.mark(event.level());
    }

    /// Sets the level of the last entry.
    fn mark(&mut self, level: Level) {
        if let Some(entry) = self.last() {
            entry.level = level;
        }
    }
}
