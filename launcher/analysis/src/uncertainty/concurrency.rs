//! Applies Little's law to a window of each stage.

use statistics::littles_law::{LittlesLaw, LittlesLawSums};

use super::input::{Input, Span};

/// Applies Little's law to each stage. Includes all requests that were sent, even those that the figures exclude. Each counts from sending to its
/// end.
pub(super) fn littles_law(input: &Input<'_>, windows: &[Option<Span>]) -> Vec<Option<LittlesLaw>> {
    let mut sums: Vec<_> = windows.iter().map(|it| it.map(|it| LittlesLawSums::new(it.open, it.close))).collect();
    for record in input.records {
        if let (Some(Some(sums)), Some(sent)) = (sums.get_mut(record.stage as usize), record.sent) {
            sums.add(sent.as_secs_f64(), record.ended.as_secs_f64());
        }
    }
    sums.into_iter().map(|it| it?.law()).collect()
}
