//! Stacked bars.

use std::collections::BTreeMap;

use crate::figure::{Bar, Series, Shape};

/// A bar with its lower and upper end on the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stacked {
    pub from: f64,
    pub to: f64,
    pub low: f64,
    pub high: f64,
}

/// Stacks the bars of each series, in the order of the series. A series of another shape gets no bars. A bar is left out if its place or value is not
/// finite, or if its value is below zero.
pub(crate) fn stacked(series: &[Series]) -> Vec<Vec<Stacked>> {
    let mut tops: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    let mut of_series = |it: &Series| match &it.shape {
        Shape::Bars(bars) => bars.iter().filter_map(|bar| put(&mut tops, bar)).collect(),
        _ => Vec::new(),
    };
    series.iter().map(&mut of_series).collect()
}

fn put(tops: &mut BTreeMap<(u64, u64), f64>, bar: &Bar) -> Option<Stacked> {
    if !(bar.from.is_finite() && bar.to.is_finite() && bar.value.is_finite() && bar.value >= 0.0) {
        return None;
    }
    let top = tops.entry((bar.from.to_bits(), bar.to.to_bits())).or_insert(0.0);
    let low = *top;
    *top += bar.value;
    Some(Stacked { from: bar.from.min(bar.to), to: bar.from.max(bar.to), low, high: *top })
}
