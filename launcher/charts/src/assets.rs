//! The style and the script that a page with figures embeds. No library is used: see `docs/decisions/0008-figures-of-our-own.md`.

use crate::palette;

/// The colours of `palette` as CSS variables, and the style of figures.
pub fn style() -> String {
    format!("{}{STYLE}", palette::style())
}

const STYLE: &str = include_str!("assets/style.css");

/// The script of figures. It shows values under the pointer, hides series, copies data, and handles buttons of class `theme-switch`. Place it after
/// the figures, or run it when they exist.
pub const SCRIPT: &str = include_str!("assets/script.js");
