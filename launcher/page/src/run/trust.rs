//! The section "Can I trust it?": the launcher's self-measurements compared with their limits, and caveats.

use crds::wording::percent;
use document::{ReportDocument, StageDocument};
use serde::Serialize;

use super::{fold::Fold, tables};
use crate::{table::lines, text};

/// Maximum number of caveats that are not folded.
const MOST_CAVEATS: usize = 5;

/// The content of the section.
#[derive(Serialize)]
pub(super) struct Trust {
    checks: Vec<Check>,
    passed: usize,
    caveats: Vec<String>,
    folds: Vec<Fold>,
}

/// A measurement of the launcher about itself, with its limit.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    measured: String,
    allowed: String,
    /// The measured value as a percentage of the limit, at most 100.
    share: u8,
    is_within: bool,
}

impl Trust {
    pub(super) fn new(document: &ReportDocument) -> Trust {
        let checks = checks(document);
        let all = caveats(document);
        let folds = [
            (all.len() > MOST_CAVEATS || all.iter().any(|it| first_sentence(it) != *it)).then(|| Fold {
                id: "caveats",
                title: "All caveats in full".to_owned(),
                lines: all.clone(),
                ..Fold::default()
            }),
            Fold::of_tables("uncertainty", "Intervals, steady state and Little's law", tables::sureness(document)),
            Some(Fold {
                id: "cache",
                title: "Prompts and the server's cache".to_owned(),
                lines: lines(report::contamination(&document.contamination)),
                ..Fold::default()
            }),
            (!document.notices.is_empty()).then(|| Fold {
                id: "notices",
                title: "Notices on the profile".to_owned(),
                lines: lines(document.notices.iter().map(|it| format!("{}: {}", it.path, it.message))),
                ..Fold::default()
            }),
        ];
        Trust {
            passed: checks.iter().filter(|it| it.is_within).count(),
            caveats: all.iter().take(MOST_CAVEATS).map(|it| first_sentence(it).to_owned()).collect(),
            folds: folds.into_iter().flatten().collect(),
            checks,
        }
    }
}

fn checks(document: &ReportDocument) -> Vec<Check> {
    let it = &document.self_judgement;
    let bounds = &document.resolved_run.validity;
    let millis = |span: crds::units::Span| span.0.as_secs_f64() * 1e3;
    let time =
        |name, measured: Option<f64>, allowed| check(name, measured, millis(allowed), text::duration, text::bound);
    let share = |name, measured: Option<f64>, allowed| check(name, measured, allowed, percent, percent);
    let count = |value: f64| text::number(value);
    let step = it.largest_clock_step_ms.map(|step| step.max(it.slept_ms.unwrap_or(0.0)));
    let checks = [
        time("Send lag p99", it.send_lag_p99_ms, bounds.max_send_lag_p99),
        time("Receive delay p99", it.receive_delay_ms.as_ref().map(|it| it.p99), bounds.max_receive_delay_p99),
        share("CPU of the busiest load thread", it.busiest_share, bounds.max_cpu_share),
        share("Time the launcher was paused", it.stalled_share, bounds.max_stalled_share),
        share("CPU time stolen by neighbours", it.steal_share, bounds.max_steal_share),
        share("Periods at the CPU limit", it.throttled_share, bounds.max_throttled_share),
        share("Events read late, several in one read", it.late_share, bounds.max_coalesced_read_share),
        time("Largest step of the clock", step, bounds.max_clock_step),
        share("Failed requests", document.figures.number(figures::Figure::ErrorRatio), bounds.max_error_ratio),
        check("Values dropped by the launcher", Some(it.dropped as f64), 0.0, count, count).filter(|_| it.dropped > 0),
    ];
    checks.into_iter().flatten().collect()
}

/// A check; `None` if the value was not measured.
fn check(
    name: &'static str,
    measured: Option<f64>,
    allowed: f64,
    show: fn(f64) -> String,
    show_bound: fn(f64) -> String,
) -> Option<Check> {
    let measured = measured?;
    let share = if allowed > 0.0 { measured / allowed } else { measured };
    Some(Check {
        name,
        measured: show(measured),
        allowed: show_bound(allowed),
        share: (share.clamp(0.0, 1.0) * 100.0).round() as u8,
        is_within: measured <= allowed,
    })
}

/// Caveats on stages, the launcher, the server's metrics, and the prefix cache.
fn caveats(document: &ReportDocument) -> Vec<String> {
    let stages = document.stages.iter().filter(|it| !document.counts(it)).flat_map(of_stage);
    let own = document.self_judgement.remarks.iter().cloned();
    let server = document.server_metrics.iter().flat_map(|it| it.remarks.iter().cloned());
    let found = &document.contamination;
    let cache = matches!(found.exposure.as_str(), "seen" | "possible")
        .then(|| format!("{}: {}.", report::exposure(found), found.why.trim_end_matches('.')));
    lines(stages.chain(own).chain(cache).chain(server).map(|it| text::capitalized(&it)))
}

fn of_stage(stage: &StageDocument) -> impl Iterator<Item = String> {
    stage.invalid.iter().map(|it| format!("Stage {} is not valid: {it}", stage.name))
}

/// The text up to its first full stop.
fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| &text[..=first.len()])
}
