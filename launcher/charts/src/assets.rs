//! The assets that a page with figures embeds. No library: see `docs/decisions/0008-figures-of-our-own.md`.

use crate::palette;

/// The colours of `palette` as CSS variables, and the style of figures.
pub fn style() -> String {
    format!("{}{STYLE}", palette::style())
}

const STYLE: &str = include_str!("assets/style.css");

/// Values under the pointer, hiding of series, copying of data, and buttons of class `theme-switch`. Place it after the figures, or run it once
/// they exist.
pub const SCRIPT: &str = include_str!("assets/script.js");
