//! The stages of a run: their names, pauses, margins and loads.

use std::collections::BTreeSet;

use super::{load, margins};
use crate::{
    formats::common::{
        bounds::{MAX_PAUSE_SECONDS, MAX_STAGES},
        stage_names::StageNames,
    },
    problem::quoted,
    reader::Section,
    workload::{MAX_REQUESTS, Margin, RequestSource, Stage, Window},
};

/// Maximum length of a stage's name, in bytes.
const MAX_NAME: usize = 64;

/// Reads `stages`. The run's warm-up and cool-down become the warm-up of its first stage and the cool-down of its last stage. Returns `None` if at
/// least one problem was reported.
pub(super) fn read(root: &Section, window: Window, requests: Option<&RequestSource>) -> Option<Vec<Stage>> {
    let warm_up = margins::read_part(root, "warmUp");
    let cool_down = margins::read_part(root, "coolDown");
    root.require("stages", "write at least one, such as {load: {open: {rate: 1, duration: 30s}}}");
    let items = root.list("stages")?;
    if items.is_empty() || items.len() > MAX_STAGES {
        root.problem("stages", format!("holds {} stages; write 1 to {MAX_STAGES}", items.len()));
        return None;
    }
    let count = items.len();
    let mut names = StageNames::default();
    let mut taken = BTreeSet::new();
    let mut stages = Vec::with_capacity(count);
    for (index, (path, value)) in items.into_iter().enumerate() {
        let Some(section) = root.element(value, path) else { continue };
        let mut stage = stage(&section, &mut names, requests, index);
        if let Some(stage) = &mut stage {
            inherit(&section, "warmUp", warm_up.filter(|_| index == 0), &mut stage.warm_up);
            inherit(&section, "coolDown", cool_down.filter(|_| index == count - 1), &mut stage.cool_down);
            margins::check(&section, stage, window);
            if !taken.insert(stage.name.clone()) {
                section.problem("name", format!("is {}, the name of an earlier stage; choose another one", stage.name));
            }
        }
        section.finish();
        stages.extend(stage);
    }
    let requests: f64 = stages.iter().map(|it| it.load.mean_count()).sum();
    if requests > MAX_REQUESTS as f64 {
        root.problem("stages", format!("ask for {requests:.0} requests in all; a run sends at most {MAX_REQUESTS}, so lower a rate or shorten a stage"));
    }
    (stages.len() == count).then_some(stages)
}

/// Applies the run's margin to its first or last stage. Adds a problem if that stage has the margin as well.
fn inherit(section: &Section, key: &'static str, of_run: Option<Margin>, of_stage: &mut Option<Margin>) {
    if of_run.is_some() && of_stage.is_some() {
        section.problem(key, format!("is set, and so is {key} of the run; keep one of them"));
    }
    *of_stage = of_run.or(*of_stage);
}

fn stage(section: &Section, names: &mut StageNames, requests: Option<&RequestSource>, earlier: usize) -> Option<Stage> {
    let load = load::read(section, requests, earlier);
    let name = name(section);
    let pause_after = section.span("pauseAfter", MAX_PAUSE_SECONDS).unwrap_or_default();
    let warm_up = margins::read(section, "warmUp");
    let cool_down = margins::read_part(section, "coolDown");
    let grace = section.span("grace", MAX_PAUSE_SECONDS);
    let load = load?;
    let name = name.unwrap_or_else(|| names.name(&load));
    Some(Stage { name, load, pause_after, warm_up, cool_down, grace })
}

fn name(section: &Section) -> Option<String> {
    // The characters that a name can contain need no escaping in file names.
    let is_name_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name = section.text("name")?;
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_name_letter) {
        let wanted = format!("write 1 to {MAX_NAME} letters a-z and A-Z, digits, dots, dashes and underscores");
        section.problem("name", format!("is {}; {wanted}", quoted(name)));
    }
    Some(name.to_owned())
}
