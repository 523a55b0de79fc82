//! Remarks on two runs: differences that are not in figures. They can make the comparison wrong, or explain its result.

mod labels;
mod paths;
mod remark;
mod runs;
mod stages;

use ::document::{ReportDocument, StageDocument};

pub use remark::{Remark, Severity};
pub(crate) use runs::server;

/// Returns all remarks on two runs with these pairs of stages. Remarks that make figures incomparable come first.
pub(crate) fn of_pair(
    base: &ReportDocument,
    other: &ReportDocument,
    pairs: &[(&StageDocument, &StageDocument)],
) -> Vec<Remark> {
    let of_stages = pairs.iter().map(|(one, two)| {
        let remarks = labels::of_stages(one, two).into_iter().chain(stages::of_stages(one, two));
        (one.name.as_str(), remarks.collect::<Vec<_>>())
    });
    let mut found = runs::of_runs(base, other);
    found.extend(together(of_stages.collect(), pairs.len()));
    // The sort is stable, so remarks of equal severity keep their order.
    found.sort_by_key(|it| it.severity);
    found
}

/// Merges equal remarks of several stages into one.
fn together(of_stages: Vec<(&str, Vec<Remark>)>, stages: usize) -> Vec<Remark> {
    let mut found: Vec<(Remark, Vec<String>)> = Vec::new();
    for (stage, remarks) in of_stages {
        for remark in remarks {
            match found.iter_mut().find(|(it, _)| *it == remark) {
                Some((_, names)) => names.push(stage.to_owned()),
                None => found.push((remark, vec![stage.to_owned()])),
            }
        }
    }
    let named = |names: Vec<String>| if names.len() == stages { Vec::new() } else { names };
    found.into_iter().map(|(remark, names)| Remark { stages: named(names), ..remark }).collect()
}
