//! The SVG path of markers.

use std::fmt::Write as _;

use crate::{palette::Marker, svg::canvas::Px};

/// The path of markers with this shape. `size` is half their width.
pub(crate) fn marks_path(marker: Marker, size: f64, places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let (s, double) = (Px(size), Px(2.0 * size));
    let mut d = String::new();
    for (x, y) in places {
        let (left, right, top, bottom) = (Px(x - size), Px(x + size), Px(y - size), Px(y + size));
        let (x, y) = (Px(x), Px(y));
        // Writing to a `String` cannot fail.
        let _ = match marker {
            Marker::Circle => write!(d, "M{left} {y}a{s} {s} 0 1 0 {double} 0a{s} {s} 0 1 0 -{double} 0Z"),
            Marker::Square => write!(d, "M{left} {top}H{right}V{bottom}H{left}Z"),
            Marker::Triangle => write!(d, "M{x} {top}L{right} {bottom}H{left}Z"),
            Marker::Diamond => write!(d, "M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z"),
            Marker::Cross => write!(d, "M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}"),
        };
    }
    d
}
