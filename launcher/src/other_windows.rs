//! [I/O] Recomputes a finished run with other warm-up and cool-down margins. It reads the run's `measurement.bin`, and uses the same analysis code as
//! a run.

use std::path::Path;

use analysis::{Evidence, Measured, objectives::Source};
use anyhow::{Context as _, bail};
use crds::{resolve::ResolvedRun, units::Span};
use document::{Parts, ReportDocument};
use measurement::kept_run::Findings;
use report::measurement_file;
use workload_profiles::{
    Workload,
    workload::{Margin, Stage, Window},
};

/// Maximum number of stages that a remark lists.
const MOST_NAMED: usize = 4;

/// A margin from the user: a duration such as `30s`, a number of requests, or 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenMargin(Option<Margin>);

impl GivenMargin {
    /// Reads a margin.
    ///
    /// # Errors
    /// The text is neither a number of requests nor a duration.
    pub fn parse(text: &str) -> Result<GivenMargin, String> {
        if let Ok(count) = text.parse::<u64>() {
            return Ok(GivenMargin((count > 0).then_some(Margin::Count(count))));
        }
        let length: Span = text.parse().map_err(|error| {
            format!("{error}; give a length of time such as 30s, a number of requests such as 100, or 0 for none")
        })?;
        Ok(GivenMargin((!length.0.is_zero()).then_some(Margin::Duration(length))))
    }
}

/// Margins that replace the margins of each measured stage. `None` means that each stage keeps its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margins {
    pub warm_up: Option<GivenMargin>,
    pub cool_down: Option<GivenMargin>,
}

impl Margins {
    /// Whether every stage keeps both of its margins.
    pub fn is_empty(&self) -> bool {
        self.warm_up.is_none() && self.cool_down.is_none()
    }

    /// Returns the stage with these margins. A stage that consists of warm-up does not change. If neither the old nor the new margin excludes a
    /// request, the old one is kept as it was written.
    fn of_stage(&self, stage: &Stage, window: Window) -> Stage {
        if stage.warm_up == Some(Margin::All) {
            return stage.clone();
        }
        let choose = |given: Option<GivenMargin>, own| match given {
            Some(GivenMargin(given)) if !(is_nothing(given, window) && is_nothing(own, window)) => given,
            _ => own,
        };
        Stage {
            warm_up: choose(self.warm_up, stage.warm_up),
            cool_down: choose(self.cool_down, stage.cool_down),
            ..stage.clone()
        }
    }
}

/// Whether a margin excludes no requests. In a cut window, even a margin of 0 requests has an effect: the window then begins when its first request
/// is due.
fn is_nothing(margin: Option<Margin>, window: Window) -> bool {
    match margin {
        None => true,
        Some(Margin::Duration(length)) => length.0.is_zero(),
        Some(Margin::Count(count)) => count == 0 && window != Window::Cut,
        Some(Margin::All) => false,
    }
}

/// A run to recompute.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The results folder of the run.
    pub folder: &'a Path,
    /// The report of the run.
    pub document: &'a ReportDocument,
    /// The run, with the objectives to judge.
    pub run: &'a ResolvedRun,
    /// The earlier run to compare objectives with.
    pub baseline: Option<&'a dyn Source>,
    pub margins: Margins,
    /// The commit of this program.
    pub commit: &'a str,
}

/// Returns the report of the run with other margins.
///
/// # Errors
/// The run lacks the necessary data, or cannot have these margins.
pub fn count_again(order: &Order<'_>) -> anyhow::Result<ReportDocument> {
    let Order { document, run, .. } = *order;
    let workload: Workload =
        serde_json::from_value(document.workload.clone()).context("the workload in report.json cannot be read")?;
    if document.loadgen.is_some() || workload.loadgen.is_some() {
        bail!("LoadGen tests have no warm-up and no cool-down: leave --warm-up and --cool-down out");
    }
    if !workload.work.is_load() {
        bail!("the run measured no load, so it has no window: leave --warm-up and --cool-down out");
    }
    let stages: Vec<Stage> = workload.stages.iter().map(|it| order.margins.of_stage(it, workload.window)).collect();
    let kept = measurement_file::read(order.folder, &document.tool_version)?;
    let (mut load, Findings { mut doubts, lost_target }) = kept.into_load();
    if load.started != document.started || load.stages.len() != workload.stages.len() {
        bail!(
            "{} belongs to another run: it began at {}, and the run of report.json at {}; give an unchanged results folder",
            order.folder.join(measurement_file::NAME).display(),
            load.started,
            document.started
        )
    }
    let has_token_times = load.recorder.tape.as_ref().is_some_and(|it| it.has_token_times());
    load.recorder = load.recorder.with_margins(&workload.stages, &stages)?;
    let moved: Vec<(&Stage, &Stage)> = workload.stages.iter().zip(&stages).filter(|(old, new)| old != new).collect();
    if !moved.is_empty() {
        doubts.push(changed(document, &moved));
        doubts.extend((!has_token_times).then(|| NO_TOKEN_TIMES.to_owned()));
    }
    let names: Vec<&str> = moved.iter().map(|(stage, _)| stage.name.as_str()).collect();
    let counted = Workload { stages: stages.clone(), ..workload.clone() };
    let analysis = analysis::analyse(&Evidence {
        doubts,
        lost_target,
        accuracy: document.accuracy.clone(),
        profiling: document.profiling.clone(),
        cache_counts: document.cache_counts(),
        baseline: order.baseline,
        ..Evidence::new(Measured::from(&load), &counted, run, &document.model)
    });
    let emptied = analysis.stages.iter().zip(&workload.stages).zip(&document.stages).find(|((now, stage), before)| {
        names.contains(&stage.name.as_str()) && now.figures.requests == 0 && before.figures.requests > 0
    });
    if let Some(((_, stage), _)) = emptied {
        bail!("stage {} has no request between these margins; give a shorter --warm-up or --cool-down", stage.name)
    }
    let parts = Parts {
        commit: order.commit,
        analysis: &analysis,
        server: None,
        run,
        workload: &counted,
        profile_text: "",
        files: &[],
        notices: &[],
        loadgen: None,
        startups: &[],
        managed_server: None,
        server_replicas: None,
    };
    Ok(document.counted_again(parts.document()?, &names))
}

const NO_TOKEN_TIMES: &str = "ITL and the times of each request's steps are missing, because the run kept no times \
                              between tokens; next time set spec.storage.perRequestRecords: FullWithTokenTimes";

/// The remark that the figures use other margins than the run itself did.
fn changed(document: &ReportDocument, moved: &[(&Stage, &Stage)]) -> String {
    let one = |(old, new): &(&Stage, &Stage)| {
        let margins = [("warm-up", old.warm_up, new.warm_up), ("cool-down", old.cool_down, new.cool_down)];
        let margins = margins.into_iter().filter(|(_, old, new)| old != new);
        let margins = margins.map(|(name, old, new)| format!("{name} {} in place of {}", words(new), words(old)));
        format!("stage {} with {}", old.name, margins.collect::<Vec<_>>().join(" and "))
    };
    let more = match moved.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named: Vec<String> = moved.iter().take(MOST_NAMED).map(one).collect();
    format!(
        "windows were changed after the run: benchwright analyse computed the figures of run {}, started at {}, again for {}{more}",
        document.run.name,
        document.started,
        named.join(", ")
    )
}

fn words(margin: Option<Margin>) -> String {
    match margin {
        None => "none".to_owned(),
        Some(Margin::Duration(length)) => length.to_string(),
        Some(Margin::Count(1)) => "1 request".to_owned(),
        Some(Margin::Count(count)) => format!("{count} requests"),
        Some(Margin::All) => "all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload_profiles::workload::Load;

    use super::*;

    #[test]
    fn margins_of_nothing_are_one() {
        let margins = Margins { warm_up: Some(GivenMargin(None)), cool_down: None };
        let stage = |warm_up| Stage { warm_up, ..Stage::new("s", Load::closed(1, 9)) };
        let check = |own, window, expected| assert_eq!(margins.of_stage(&stage(own), window), stage(expected));
        for own in [None, Some(Margin::Count(0)), Some(Margin::Duration(Span::default()))] {
            check(own, Window::All, own);
        }
        check(Some(Margin::Count(0)), Window::Cut, None);
        check(Some(Margin::Count(9)), Window::All, None);
        check(Some(Margin::All), Window::All, Some(Margin::All));
    }

    #[test]
    fn a_margin_is_a_time_or_a_number_or_none() {
        let check =
            |text: &str, expected: Option<Margin>| assert_eq!(GivenMargin::parse(text), Ok(GivenMargin(expected)));
        check("30s", Some(Margin::Duration(Span(Duration::from_secs(30)))));
        check("20", Some(Margin::Count(20)));
        check("0", None);
        check("0s", None);
        for text in ["", "all", "-1", "3 s", "1.5"] {
            let error = GivenMargin::parse(text).unwrap_err();
            assert!(error.contains("such as 30s"), "{text}: {error}");
        }
    }
}
