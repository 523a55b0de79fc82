//! The times of stages, for figures over time: where stages begin, their warm-up and their steady window.

use charts::{Figure, MarkAt, Shade, Tone};
use document::{ReportDocument, StageDocument};
use workload_profiles::workload::Margin;

use super::plot::{mark, seconds};

/// Maximum number of stage borders with a name. More names would overlap.
const MAX_NAMED: usize = 24;

/// The start and end of a stage in seconds since the start of the run, including its warm-up and cool-down. `None` if the stage had no requests.
pub(super) fn span(document: &ReportDocument, stage: &StageDocument) -> Option<(f64, f64)> {
    // In a run of one stage, the report stores the stage's time series with the run.
    let of_run = document.time_series.as_ref().filter(|_| document.stages.len() == 1);
    let series = stage.time_series.as_ref().or(of_run).map(|it| (it.first_event_ms, it.last_event_ms));
    let figures = || Some((stage.figures.first_due_ms?, stage.figures.last_end_ms?));
    let (begin, end) = series.or_else(figures)?;
    Some((seconds(begin), seconds(end)))
}

/// Marks the start of each stage if there are several, and the time in which a profiler recorded.
pub(super) fn mark_borders(figure: &mut Figure, document: &ReportDocument) {
    figure.shades.extend(profiled(document));
    if document.stages.len() < 2 {
        return;
    }
    let step = document.stages.len().div_ceil(MAX_NAMED);
    let named = document.stages.iter().step_by(step);
    let borders = named.filter_map(|it| Some(mark(MarkAt::X(span(document, it)?.0), it.name.clone())));
    figure.marks.extend(borders);
}

/// Shades the warm-up and the steady window of each stage.
pub(super) fn shade_windows(figure: &mut Figure, document: &ReportDocument) {
    for stage in &document.stages {
        figure.shades.extend(warm_up(document, stage));
        figure.shades.extend(steady_window(stage));
    }
}

/// Explains the shades of [`shade_windows`].
pub(super) fn words_of_windows(document: &ReportDocument) -> String {
    let states = document.stages.iter().map(|it| it.uncertainty.steady_state.as_ref());
    let windows = states.clone().flatten().filter(|it| it.window.is_some()).count();
    let steady = states.flatten().filter(|it| it.window.is_some() && it.verdict == "steady").count();
    let mut words = Vec::new();
    if document.stages.iter().any(|it| it.warm_up.is_some()) {
        words.push("The warm-up is shaded: its requests are drawn here, but count in no number or table.".to_owned());
    }
    words.push(match (windows, steady) {
        (0, _) => "No steady state was judged.".to_owned(),
        (1, 1) => "The steady window is shaded.".to_owned(),
        (1, _) => "The window that was judged is shaded; it is not steady.".to_owned(),
        (windows, steady) => format!("Shaded windows of {windows} stages were judged; {steady} are steady."),
    });
    words.join(" ")
}

fn profiled(document: &ReportDocument) -> Option<Shade> {
    let window = document.profiling.as_ref()?.window?;
    let (from, to) = (seconds(window.from_ms), seconds(window.to_ms));
    (to > from).then(|| Shade { from, to, label: "profiled".to_owned(), tone: Tone::Doubt })
}

fn warm_up(document: &ReportDocument, stage: &StageDocument) -> Option<Shade> {
    let (begin, end) = span(document, stage)?;
    let first_measured = stage.figures.first_due_ms.map_or(end, seconds);
    let to = match stage.warm_up? {
        Margin::All => end,
        Margin::Count(_) => first_measured,
        // If the stage has no time series, the start of its warm-up is unknown.
        Margin::Duration(it) if begin < first_measured => (begin + it.0.as_secs_f64()).min(first_measured),
        Margin::Duration(_) => return None,
    };
    (to > begin).then(|| Shade { from: begin, to, label: "warm-up".to_owned(), tone: Tone::Quiet })
}

fn steady_window(stage: &StageDocument) -> Option<Shade> {
    let state = stage.uncertainty.steady_state.as_ref()?;
    let window = state.window.as_ref()?;
    let (label, tone) = match state.verdict.as_str() {
        "steady" => ("steady", Tone::Main),
        "driftingUp" => ("drifting up", Tone::Doubt),
        "driftingDown" => ("drifting down", Tone::Doubt),
        "anomaly" => ("parts far from the rest", Tone::Doubt),
        _ => ("no steady state", Tone::Quiet),
    };
    Some(Shade { from: seconds(window.from_ms), to: seconds(window.to_ms), label: label.to_owned(), tone })
}
