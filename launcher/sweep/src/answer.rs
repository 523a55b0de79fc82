//! The answer of a sweep as sentences: one per combination of levels that is compared with the baseline.

use crds::benchmark_sweep::ResolvedSweep;

use crate::{
    differences::with_interval,
    document::{Answer, ComparisonDocument, DifferenceDocument, Verdict},
};

/// The comparisons of one combination of the baseline's factors, over all levels of the other factors and all stages.
struct Arm<'a> {
    name: String,
    baseline: String,
    comparisons: Vec<&'a ComparisonDocument>,
}

/// The sentences, in the order of the cells. Empty if nothing was compared.
pub(crate) fn answers(sweep: &ResolvedSweep, comparisons: &[ComparisonDocument]) -> Vec<String> {
    let mut arms: Vec<Arm<'_>> = Vec::new();
    for comparison in comparisons {
        let (name, baseline) = differing(sweep, comparison);
        match arms.iter_mut().find(|it| it.name == name && it.baseline == baseline) {
            Some(arm) => arm.comparisons.push(comparison),
            None => arms.push(Arm { name, baseline, comparisons: vec![comparison] }),
        }
    }
    let has_stages = comparisons
        .iter()
        .any(|one| comparisons.iter().any(|other| one.cell == other.cell && one.stage != other.stage));
    arms.iter().map(|it| sentence(it, has_stages)).collect()
}

/// The levels in which the two cells of a comparison differ, of the cell and of its baseline.
fn differing(sweep: &ResolvedSweep, comparison: &ComparisonDocument) -> (String, String) {
    let levels = |name: &str| sweep.cells.iter().find(|it| it.name == name).map_or(&[][..], |it| &it.levels);
    let (cell, base) = (levels(&comparison.cell), levels(&comparison.baseline));
    let differing = sweep.factors.iter().zip(cell.iter().zip(base)).filter(|(_, (one, other))| one != other);
    let named: Vec<_> = differing
        .map(|(factor, (one, other))| (format!("{}={one}", factor.name), format!("{}={other}", factor.name)))
        .collect();
    let joined = |of: &dyn Fn(&(String, String)) -> &str| named.iter().map(of).collect::<Vec<_>>().join(",");
    (joined(&|it| &it.0), joined(&|it| &it.1))
}

/// `has_stages`: the runs have several stages, so that a comparison is named by its cell and its stage.
fn sentence(arm: &Arm<'_>, has_stages: bool) -> String {
    let Arm { name, baseline, comparisons } = arm;
    if let [only] = &comparisons[..] {
        let verb = match only.answer {
            Answer::Better => "is better than",
            Answer::Worse => "is worse than",
            Answer::Mixed | Answer::Equal | Answer::Undecided => "against",
        };
        return format!("{name} {verb} {baseline}: {}", only.sentence);
    }
    let count = |answer: Answer| comparisons.iter().filter(|it| it.answer == answer).count();
    let parts: Vec<String> = [
        (Answer::Better, "better in"),
        (Answer::Worse, "worse in"),
        (Answer::Mixed, "better and worse in"),
        (Answer::Equal, "equal in"),
        (Answer::Undecided, "undecided in"),
    ]
    .into_iter()
    .filter(|(answer, _)| count(*answer) > 0)
    .map(|(answer, text)| format!("{text} {}", count(answer)))
    .collect();
    let all = comparisons.iter().flat_map(|it| it.figures.iter().map(move |figure| (it, figure)));
    let largest = all
        .filter(|(_, it)| it.verdict != Verdict::NoDifferenceFound)
        .max_by(|one, other| one.1.difference.abs().total_cmp(&other.1.difference.abs()));
    let largest = largest.map_or_else(String::new, |(it, figure): (_, &DifferenceDocument)| {
        format!("; largest difference: {} at {}", with_interval(figure), place(it, has_stages))
    });
    format!("{name} against {baseline}: {} of {} comparisons{largest}", parts.join(", "), comparisons.len())
}

fn place(of: &ComparisonDocument, has_stages: bool) -> String {
    if has_stages { format!("{}, stage {}", of.cell, of.stage) } else { of.cell.clone() }
}
