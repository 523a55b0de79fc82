//! The table that is printed at the end of a series.

use super::{Series, rows};
use crate::{
    text,
    text_table::{add_row, fitted, new_table},
};
use crds::wording::one_line;

/// The outcome of a series and the spread of its headline figures, with a final line break.
pub fn table(series: &Series<'_>) -> String {
    let verdict = series.verdict();
    let outcome = verdict.outcome.name();
    let mut parts = vec![format!("{outcome}: {} of {} runs measured", series.repeats.len(), series.asked)];
    if !verdict.message.is_empty() {
        parts[0] += &format!("\n{}: {}", verdict.reason, one_line(&verdict.message));
    }
    let counted = series.counted().len();
    for stage in rows::shown(series) {
        let name = format!("stage {}, {counted} runs", one_line(&stage.name));
        let mut table = new_table(&[&name, "mean", "95 % interval", "stddev", "within\na run"]);
        for it in stage.rows.iter().filter(|it| it.is_headline) {
            let (stddev, within) = (it.optional(it.spread.map(|it| it.stddev)), it.optional(it.standard_error));
            add_row(&mut table, it.label(), [it.text(it.mean), it.interval(), stddev, within]);
        }
        parts.push(fitted(table));
    }
    if parts.iter().skip(1).any(|it| text::has_marks(it)) {
        parts.push(format!("* {}", text::LARGEST_MEANS));
    }
    parts.join("\n\n") + "\n"
}
