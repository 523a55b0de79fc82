//! The verdict: whether the figures are valid, and if not, why, and what to do. This module has the rules on the server and on stopped runs;
//! `launcher_rules` has the rules on the launcher.

mod launcher_rules;
mod verdict;

use crds::{
    LauncherReason,
    benchmark_run::{Enforcement, Metric},
    outcome::Outcome,
    resolve::{Bound, ResolvedObjective, ResolvedRun, Scope},
    units::Span,
    wording::one_line,
};
use workload_profiles::Workload;

use super::{
    figures::Figures,
    judgement::SelfJudgement,
    stage::{EndedBy, StageAnalysis},
};
use measurement::{
    load_result::NotMeasured,
    phase::StopReason,
    record::{Cause, RequestOutcome},
};

pub use verdict::{Reason, Verdict};

/// The input of the rules.
pub(super) struct Findings<'a> {
    pub stopped: Option<StopReason>,
    pub run: &'a ResolvedRun,
    pub workload: &'a Workload,
    pub all: &'a Figures,
    pub stages: &'a [StageAnalysis],
    pub judgement: &'a SelfJudgement,
}

/// The results of all rules.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The reason why each stage is invalid, one list per stage; empty for a valid stage.
    pub(super) stages: Vec<Vec<Reason>>,
}

/// Applies every rule. A stop that cut nothing off is no reason, because the measurement is complete. An invalid stage makes the run invalid only if
/// all other stages are invalid too.
pub(super) fn judge(findings: &Findings<'_>) -> Judged {
    let cut = findings.all.is_cut_off();
    let stop = findings.stopped.and_then(|reason| match reason {
        StopReason::Signal => cut.then(|| cancelled(findings)),
        StopReason::Deadline => cut.then(|| deadline(findings)),
        StopReason::TargetLost => Some(target_lost(findings)),
        // `stop_rule()` reports this reason.
        StopReason::StopRule => None,
    });
    let outcome = match &stop {
        Some(Reason { name: LauncherReason::Cancelled, .. }) => Outcome::Cancelled,
        _ => Outcome::Invalid,
    };
    let rules = [stop, stop_rule(findings), not_run(findings), too_few_successes(findings), too_many_errors(findings)];
    let mut reasons: Vec<Reason> = rules.into_iter().flatten().collect();
    let mut stages = vec![Vec::new(); findings.stages.len()];
    // In an accuracy run, a late launcher does not change the answers; only lost records matter.
    let counts = |it: &Reason| it.name == LauncherReason::EventsDropped || !launcher_rules::is_untimed(findings.stages);
    let found = launcher_rules::RULES.iter().flat_map(|rule| rule(findings)).filter(|it| counts(&it.reason));
    for found in found {
        match found.stage.and_then(|it| stages.get_mut(it)) {
            Some(of_stage) => of_stage.push(found.reason),
            None => reasons.push(found.reason),
        }
    }
    let has_figures = |(_, stage): &(&Vec<Reason>, &StageAnalysis)| stage.figures.requests > 0;
    let mut measured = stages.iter().zip(findings.stages).filter(has_figures).peekable();
    if measured.peek().is_some() && measured.all(|(reasons, _)| !reasons.is_empty()) {
        // Adds one reason of each kind.
        for reason in stages.iter().flatten() {
            if !reasons.iter().any(|it| it.name == reason.name) {
                reasons.push(reason.clone());
            }
        }
    }
    if reasons.is_empty() {
        let reasons = vec![Reason { name: LauncherReason::RunSucceeded, message: String::new() }];
        return Judged { verdict: Verdict { outcome: Outcome::Passed, reasons }, stages };
    }
    Judged { verdict: Verdict { outcome, reasons }, stages }
}

fn cancelled(findings: &Findings<'_>) -> Reason {
    let all = findings.all;
    let ended = all.requests.saturating_sub(all.cancelled);
    let message = format!(
        "stopped on request after {} requests were due; {ended} of them had ended, and the figures cover only these",
        all.requests
    );
    Reason { name: LauncherReason::Cancelled, message }
}

fn deadline(findings: &Findings<'_>) -> Reason {
    let all = findings.all;
    let open = match all.cancelled {
        0 => "the load had not ended".to_owned(),
        open => format!("{open} of {} requests had not ended", all.requests),
    };
    let message = format!(
        "at the deadline of {}, {open}; raise execution.deadlines.runSeconds, or shorten the profile",
        findings.run.run_deadline
    );
    Reason { name: LauncherReason::DeadlineExceeded, message }
}

fn target_lost(findings: &Findings<'_>) -> Reason {
    let all = findings.all;
    let message = format!(
        "the target stopped answering: {} of {} requests succeeded{}; find out why the server stopped answering, then run again",
        all.succeeded,
        all.requests,
        commonest(all)
    );
    Reason { name: LauncherReason::TargetLost, message }
}

fn stop_rule(findings: &Findings<'_>) -> Option<Reason> {
    let ended: Vec<(&str, &EndedBy)> =
        findings.stages.iter().filter_map(|it| Some((it.stage.name.as_str(), it.ended_by.as_ref()?))).collect();
    let (name, EndedBy { rule, at }) = ended.first()?;
    let others = match ended.len() - 1 {
        0 => String::new(),
        others => format!("; rules also ended {others} more stages"),
    };
    let load = if findings.stopped == Some(StopReason::StopRule) { ", and the load," } else { "" };
    let all = findings.all;
    let message = format!(
        "the stop rule {rule} ended stage {name}{load} {} after the start of the run{others}{}; {}",
        Span(*at).rounded(),
        commonest(all),
        advice(all)
    );
    Some(Reason { name: LauncherReason::StopRule, message })
}

/// The reason that stages were not run. If the run was stopped, the stop is reported instead of this.
fn not_run(findings: &Findings<'_>) -> Option<Reason> {
    let stages = findings.stages.iter().filter(|_| findings.stopped.is_none());
    let not_run: Vec<(&str, &NotMeasured)> =
        stages.filter_map(|it| Some((it.stage.name.as_str(), it.not_run.as_ref()?))).collect();
    let (name, cause) = not_run.first()?;
    let others = match not_run.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more stages)"),
    };
    Some(Reason { name: LauncherReason::StageNotRun, message: format!("stage {name}{others} was not run: {cause}") })
}

fn too_few_successes(findings: &Findings<'_>) -> Option<Reason> {
    let (all, bound) = (findings.all, findings.run.validity.min_successful_requests);
    (all.succeeded < bound).then(|| {
        let message = format!(
            "{} requests succeeded, and validity.minSuccessfulRequests is {bound}{}; {}",
            all.succeeded,
            commonest(all),
            if all.failed < all.succeeded.max(1) { "send more requests" } else { advice(all) }
        );
        Reason { name: LauncherReason::TooFewSuccesses, message }
    })
}

/// The maximum share of failed requests. `None` if an enforced objective limits the errors of the whole load. The run is then not invalid because of
/// errors, so that the objective can be missed.
pub fn max_error_ratio(run: &ResolvedRun) -> Option<f64> {
    let bounds_errors = |it: &ResolvedObjective| {
        it.metric == Metric::ErrorRatio && matches!(it.bound, Bound::Max(_)) && !matches!(it.scope(), Scope::Stage(_))
    };
    let slo = run.slo.as_ref().filter(|it| it.enforcement == Enforcement::Fail);
    // The trials of a search have their own limit on errors.
    let is_replaced = run.search.is_some() || slo.is_some_and(|it| it.objectives.iter().any(bounds_errors));
    (!is_replaced).then_some(run.validity.max_error_ratio)
}

fn too_many_errors(findings: &Findings<'_>) -> Option<Reason> {
    let (all, bound) = (findings.all, max_error_ratio(findings.run)?);
    let share = all.failed_share().filter(|share| *share > bound)?;
    let message = format!(
        "{} of {} requests failed, a share of {share:.4}, and validity.maxErrorRatio is {bound}{}; {}",
        all.failed,
        all.decided(),
        commonest(all),
        advice(all)
    );
    Some(Reason { name: LauncherReason::TooManyErrors, message })
}

fn commonest(all: &Figures) -> String {
    let Some((outcome, count)) = all.commonest_failure() else { return String::new() };
    let said = all.error_samples.get(&outcome).map(|it| said(it)).unwrap_or_default();
    format!(" (mostly {}: {count}{said})", outcome.name())
}

/// Text from a server. Control characters are replaced by spaces, because they could change the state of a terminal.
fn said(sample: &str) -> String {
    format!("; the first says: {}", one_line(sample))
}

/// Removes the server's text that [`commonest`] put into a message.
pub(super) fn without_words(message: &str, all: &Figures) -> String {
    all.error_samples.values().fold(message.to_owned(), |message, sample| message.replace(&said(sample), ""))
}

/// Advice for the most common failure.
fn advice(all: &Figures) -> &'static str {
    const LOG: &str = "look into the server's log, or lower the load";
    let Some((outcome, _)) = all.commonest_failure() else { return LOG };
    match outcome {
        RequestOutcome::HttpError(300..400) => "write the URL that it redirects to into target.url",
        RequestOutcome::HttpError(401 | 403) => "check the token: --token-file on a laptop, target.auth in a cluster",
        RequestOutcome::HttpError(404) => "check target.model and target.url",
        RequestOutcome::HttpError(429) => "lower the load, or raise the server's rate limit",
        RequestOutcome::HttpError(400..500) => {
            "the server refuses these requests: compare the profile's lengths and sampling with the server's limits"
        }
        RequestOutcome::Timeout => "lower the load, or raise the timeouts of the profile",
        RequestOutcome::ClientError | RequestOutcome::ConnectError => match all.commonest_cause(outcome) {
            Some(Cause::Files) => "raise the limit of open files of the launcher (ulimit -n), or lower the load",
            Some(Cause::Ports) => "lower the load, or use several machines, because each has its own ports",
            Some(Cause::Refused) => "check that the server runs and listens at target.url",
            Some(Cause::Address) => "check the host in target.url",
            Some(Cause::Unreachable | Cause::TimedOut) => "check that target.url can be reached from here",
            Some(Cause::Tls) => "check the scheme of target.url, and target.tls or --ca-file",
            Some(Cause::Http2) => "check target.httpVersion",
            Some(Cause::KeptClosed) => "check the server's log and its keep-alive timeout",
            _ => LOG,
        },
        _ => LOG,
    }
}
