//! What a page with figures embeds. No library: see `docs/decisions/0008-figures-of-our-own.md`.

/// Colours for light, dark and paper as variables of CSS, and the look of figures. A page may set `data-theme` of its root element to
/// `light` or `dark`; otherwise the reader's system decides.
pub const STYLE: &str = include_str!("assets/style.css");

/// Values under the pointer, hiding of series, copying of data, and buttons of class `theme-switch`. To be placed behind the figures,
/// or run once they are there.
pub const SCRIPT: &str = include_str!("assets/script.js");
