//! Colours of figures, for light and dark pages.
//!
//! The colours of lines and bars have a contrast of at least 3 to the background, as WCAG 2.2 requires for graphics (1.4.11). They can be
//! distinguished with each kind of colour blindness. `tests/palette.rs` checks both properties. The hues come from Okabe and Ito, "Color universal
//! design" (2008). Some are darker or lighter, so that thin lines are visible. No figure relies on colour alone: dashes and markers differ too.

use crate::figure::Tone;

/// Number of categories with their own colour. Further categories repeat the colours with different dashes.
pub const CATEGORIES: usize = 8;
/// Number of colours of a heat map, without the colour of empty cells.
pub const HEAT_LEVELS: usize = 7;

/// The colours of a page, as `#rrggbb`.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub background: &'static str,
    pub text: &'static str,
    /// The colour of the labels of axes.
    pub muted: &'static str,
    pub axis: &'static str,
    pub grid: &'static str,
    pub categories: [&'static str; CATEGORIES],
    /// The colour of the main series of a figure, and of percentiles. Percentiles differ in their line styles.
    pub main: &'static str,
    pub plan: &'static str,
    pub good: &'static str,
    pub bad: &'static str,
    pub doubt: &'static str,
    pub quiet: &'static str,
    /// The colours of a heat map, from low to high counts.
    pub heat: [&'static str; HEAT_LEVELS],
}

pub const LIGHT: Theme = Theme {
    background: "#ffffff",
    text: "#1a1d21",
    muted: "#59626d",
    axis: "#808a95",
    grid: "#e8ebef",
    categories: ["#0a58ca", "#a8480a", "#00a788", "#863394", "#8f7fcc", "#8e1549", "#192218", "#580044"],
    main: "#0a58ca",
    plan: "#59626d",
    good: "#177245",
    bad: "#b8232a",
    doubt: "#815300",
    quiet: "#808a95",
    heat: ["#d6e6f4", "#abcfe6", "#6aaed6", "#3787c0", "#1b69af", "#0d4a8c", "#08264f"],
};

pub const DARK: Theme = Theme {
    background: "#0f1216",
    text: "#e8ebee",
    muted: "#9ea8b3",
    axis: "#6f7a86",
    grid: "#232a32",
    categories: ["#7ab5ff", "#ffa35c", "#37f6a1", "#c278a6", "#bdf5ee", "#f5684d", "#cbc7e5", "#be3370"],
    main: "#7ab5ff",
    plan: "#9ea8b3",
    good: "#5bc98a",
    bad: "#ff8f86",
    doubt: "#e6b450",
    quiet: "#6f7a86",
    heat: ["#16304d", "#1c4a7a", "#2468a8", "#3b8acd", "#67aee3", "#a3d2f3", "#e3f4ff"],
};

impl Theme {
    pub fn tone(&self, tone: Tone) -> &'static str {
        match tone {
            Tone::Category(index) | Tone::Provisional(index) => self.categories[index % CATEGORIES],
            Tone::Main | Tone::Median | Tone::High | Tone::Highest => self.main,
            Tone::Plan => self.plan,
            Tone::Good => self.good,
            Tone::Bad => self.bad,
            Tone::Doubt => self.doubt,
            Tone::Quiet => self.quiet,
        }
    }

    /// The names of the CSS variables, without `--chart-`, and their colours.
    fn variables(&self) -> Vec<(String, &'static str)> {
        let plain = [
            ("background", self.background),
            ("text", self.text),
            ("muted", self.muted),
            ("axis", self.axis),
            ("grid", self.grid),
            ("main", self.main),
            ("plan", self.plan),
            ("good", self.good),
            ("bad", self.bad),
            ("doubt", self.doubt),
            ("quiet", self.quiet),
        ];
        let plain = plain.map(|(name, colour)| (name.to_owned(), colour));
        let numbered = |name: &str, colours: &[&'static str]| -> Vec<(String, &'static str)> {
            colours.iter().enumerate().map(|(index, colour)| (format!("{name}{index}"), *colour)).collect()
        };
        plain.into_iter().chain(numbered("", &self.categories)).chain(numbered("heat", &self.heat)).collect()
    }
}

/// CSS variables for `:root`, such as `--chart-text`, with a light and a dark colour each. A page can set `data-theme` of its root element to `light`
/// or `dark`. Otherwise the reader's system setting decides. Printed pages are light.
pub fn style() -> String {
    const SCHEMES: &str = r#"
@media screen {
  :root { color-scheme: light dark; }
  :root[data-theme="light"] { color-scheme: light; }
  :root[data-theme="dark"] { color-scheme: dark; }
}

"#;
    let both = LIGHT.variables().into_iter().zip(DARK.variables());
    let both = both.map(|((name, light), (_, dark))| format!("  --chart-{name}: light-dark({light}, {dark});\n"));
    format!(":root {{\n  color-scheme: light;\n{}}}\n{SCHEMES}", both.collect::<String>())
}

/// The name of the CSS variable with the colour of a tone.
pub(crate) fn variable(tone: Tone) -> String {
    match tone {
        Tone::Category(index) | Tone::Provisional(index) => format!("--chart-{}", index % CATEGORIES),
        Tone::Main | Tone::Median | Tone::High | Tone::Highest => "--chart-main".to_owned(),
        Tone::Plan => "--chart-plan".to_owned(),
        Tone::Good => "--chart-good".to_owned(),
        Tone::Bad => "--chart-bad".to_owned(),
        Tone::Doubt => "--chart-doubt".to_owned(),
        Tone::Quiet => "--chart-quiet".to_owned(),
    }
}

/// The dash pattern of a line of this tone; empty for a solid line.
pub(crate) fn dashes(tone: Tone) -> &'static str {
    const OF_CATEGORIES: [&str; CATEGORIES] = ["", "8 3", "2 3", "10 3 2 3", "5 4", "1 4", "14 4", "7 2 1 2 1 2"];
    match tone {
        // For example, the ninth category has the colour of the first category and the dashes of the second.
        Tone::Category(index) | Tone::Provisional(index) => {
            OF_CATEGORIES[(index % CATEGORIES + index / CATEGORIES) % CATEGORIES]
        }
        Tone::Main | Tone::Median | Tone::High | Tone::Good | Tone::Doubt => "",
        Tone::Bad => "8 3",
        Tone::Highest | Tone::Quiet => "2 3",
        Tone::Plan => "4 4",
    }
}

/// The width of a line of this tone. A median is thin, and a 90th percentile is thick.
pub(crate) fn width(tone: Tone) -> f64 {
    match tone {
        Tone::Median => 1.25,
        Tone::Highest | Tone::Plan => 1.5,
        _ => 2.0,
    }
}

/// The shape of a point's marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

pub(crate) fn marker(tone: Tone) -> Marker {
    const OF_CATEGORIES: [Marker; 5] =
        [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Cross];
    match tone {
        Tone::Category(index) | Tone::Provisional(index) => OF_CATEGORIES[index % OF_CATEGORIES.len()],
        Tone::Main | Tone::Median | Tone::High | Tone::Highest | Tone::Good | Tone::Quiet => Marker::Circle,
        Tone::Plan | Tone::Doubt => Marker::Diamond,
        Tone::Bad => Marker::Cross,
    }
}
