//! The trials of a search as a table, which the terminal, `report.md` and the page show.

use analysis::search::{Role, SearchResult, SearchTrial, TrialObjective, TrialResult};
use crds::{benchmark_run::SearchOver, figure::rate_text, wording::percent};

/// The header of the table. The column of the load has the load's unit.
pub fn columns(search: &SearchResult) -> [&'static str; 6] {
    let load = match search.over {
        SearchOver::Rate => "requests/s",
        SearchOver::Concurrency => "users",
    };
    ["trial", load, "result", "missed most, of allowed", "requests", "time"]
}

/// One row per trial, in order.
pub fn rows(search: &SearchResult) -> impl Iterator<Item = [String; 6]> {
    search.trials.iter().map(|it| row(search, it))
}

fn row(search: &SearchResult, it: &SearchTrial) -> [String; 6] {
    let is_answer = search.answer.as_ref().is_some_and(|answer| answer.stage.as_ref() == Some(&it.stage));
    let answer = if is_answer { ", the answer" } else { "" };
    let earlier = if it.resumed { ", resumed" } else { "" };
    [
        name(it),
        rate_text(it.load),
        format!("{}{earlier}{answer}", result(it)),
        nearest(it).map(near).unwrap_or_default(),
        if it.role == Role::WarmUp { String::new() } else { it.requests.to_string() },
        format!("{:.0} s", it.seconds),
    ]
}

/// The name of the trial's stage without the load, such as `07 confirm`.
fn name(it: &SearchTrial) -> String {
    let name = it.stage.rsplit_once('-').map_or(it.stage.as_str(), |(name, _)| name);
    name.replacen('-', " ", 1)
}

/// The result of a trial in words.
fn result(it: &SearchTrial) -> &'static str {
    match (it.role, it.verdict) {
        (Role::WarmUp, _) => "not judged",
        (_, TrialResult::ClientLimited) => "client too slow",
        (Role::Confirm, TrialResult::Passed) => "confirmed",
        (Role::FromAbove, TrialResult::Passed) => "recovered",
        (Role::FromAbove, _) => "not recovered",
        (_, TrialResult::Passed) => "holds",
        (_, TrialResult::Failed) => "fails",
        (_, TrialResult::Undecided) => "undecided",
    }
}

/// The objective with the largest number of misses relative to the allowed number.
fn nearest(it: &SearchTrial) -> Option<&TrialObjective> {
    let ratio = |it: &TrialObjective| it.share.map(|share| share / it.allowed);
    it.objectives
        .iter()
        .filter(|it| it.share.is_some())
        .max_by(|one, other| ratio(one).unwrap_or_default().total_cmp(&ratio(other).unwrap_or_default()))
}

/// The share of requests that missed an objective and the allowed share, such as `tpot 1.2 % of 1 %`.
fn near(it: &TrialObjective) -> String {
    format!("{} {} of {}", it.name, percent(it.share.unwrap_or_default()), percent(it.allowed))
}

/// Notes on the answer, one sentence each.
pub fn notes(search: &SearchResult) -> Vec<String> {
    let minutes = |seconds: f64| format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0);
    let count = search.trials.len();
    let used = format!(
        "{count} trials took {} of at most {}.",
        minutes(search.used_seconds.round()),
        minutes(search.budget_seconds.round())
    );
    let assumes = "The risk assumes that the server stays as it was, that a higher load fails no less, and that rare events occurred within the \
                   confirmation."
        .to_owned();
    let calm = search.from_calm.map(|it| {
        format!(
            "{} was confirmed from calm, but the server does not return to it from an overload.",
            search.load_text(it)
        )
    });
    let assumes = search.answer.is_some().then_some(assumes);
    [used].into_iter().chain(calm).chain(search.notices.iter().cloned()).chain(assumes).collect()
}
