//! Colours of figures, in light and dark.
//!
//! The colours of lines and bars have a contrast of at least 3 to the background, as WCAG 2.2 requires for graphics (1.4.11). They stay distinct
//! for readers with each kind of colour blindness: `tests/palette.rs` computes both. The hues come from Okabe and Ito, "Color universal design"
//! (2008), darker or lighter if a thin line needs it. No figure depends on colour alone: dashes and markers differ as well.

use crate::figure::Tone;

/// Number of categories with their own colour; further categories repeat the colours with other dashes.
pub const CATEGORIES: usize = 8;
/// Number of colours of a heat map, without the colour of empty cells.
pub const HEAT_LEVELS: usize = 7;

/// The colours of a page, as `#rrggbb`.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub background: &'static str,
    pub text: &'static str,
    /// Labels of axes.
    pub muted: &'static str,
    pub axis: &'static str,
    pub grid: &'static str,
    pub categories: [&'static str; CATEGORIES],
    pub median: &'static str,
    pub high: &'static str,
    pub highest: &'static str,
    pub plan: &'static str,
    pub good: &'static str,
    pub bad: &'static str,
    pub quiet: &'static str,
    /// From few to many.
    pub heat: [&'static str; HEAT_LEVELS],
}

pub const LIGHT: Theme = Theme {
    background: "#ffffff",
    text: "#1f2328",
    muted: "#57606a",
    axis: "#8c959f",
    grid: "#e6e9ec",
    categories: ["#0156c2", "#c07000", "#00a788", "#9f437c", "#4a7dc5", "#725b18", "#192218", "#700566"],
    median: "#0156c2",
    high: "#c07000",
    highest: "#700566",
    plan: "#57606a",
    good: "#00775c",
    bad: "#c92a0b",
    quiet: "#8c9196",
    heat: ["#d6e6f4", "#abcfe6", "#6aaed6", "#3787c0", "#1b69af", "#0d4a8c", "#08264f"],
};

pub const DARK: Theme = Theme {
    background: "#15181c",
    text: "#e6edf3",
    muted: "#9da7b1",
    axis: "#6e7681",
    grid: "#2a2f36",
    categories: ["#4687ff", "#ff6d1e", "#31e3a2", "#c278a6", "#bdf5ee", "#f4bc2b", "#ccc1fb", "#be3370"],
    median: "#4687ff",
    high: "#f4bc2b",
    highest: "#ccc1fb",
    plan: "#c9d1d9",
    good: "#2bc08a",
    bad: "#f5553b",
    quiet: "#7d8590",
    heat: ["#16304d", "#1c4a7a", "#2468a8", "#3b8acd", "#67aee3", "#a3d2f3", "#e3f4ff"],
};

impl Theme {
    pub fn tone(&self, tone: Tone) -> &'static str {
        match tone {
            Tone::Category(index) => self.categories[index % CATEGORIES],
            Tone::Median => self.median,
            Tone::High => self.high,
            Tone::Highest => self.highest,
            Tone::Plan => self.plan,
            Tone::Good => self.good,
            Tone::Bad => self.bad,
            Tone::Quiet => self.quiet,
        }
    }

    /// Names and values of the CSS variables for these colours, in the order of `style.css`.
    pub fn variables(&self) -> Vec<(String, &'static str)> {
        let plain = [
            ("background", self.background),
            ("text", self.text),
            ("muted", self.muted),
            ("axis", self.axis),
            ("grid", self.grid),
            ("median", self.median),
            ("high", self.high),
            ("highest", self.highest),
            ("plan", self.plan),
            ("good", self.good),
            ("bad", self.bad),
            ("quiet", self.quiet),
        ];
        let plain = plain.iter().map(|(name, colour)| (format!("--chart-{name}"), *colour));
        let numbered = |name: &'static str, colours: &[&'static str]| {
            let colours = colours.to_vec();
            colours.into_iter().enumerate().map(move |(index, colour)| (format!("--chart-{name}{index}"), colour))
        };
        plain.chain(numbered("", &self.categories)).chain(numbered("heat", &self.heat)).collect()
    }
}

/// The CSS variable with the colour of a tone.
pub(crate) fn variable(tone: Tone) -> String {
    match tone {
        Tone::Category(index) => format!("--chart-{}", index % CATEGORIES),
        Tone::Median => "--chart-median".to_owned(),
        Tone::High => "--chart-high".to_owned(),
        Tone::Highest => "--chart-highest".to_owned(),
        Tone::Plan => "--chart-plan".to_owned(),
        Tone::Good => "--chart-good".to_owned(),
        Tone::Bad => "--chart-bad".to_owned(),
        Tone::Quiet => "--chart-quiet".to_owned(),
    }
}

/// The dashes of a line of this tone; empty for a solid line.
pub(crate) fn dashes(tone: Tone) -> &'static str {
    const OF_CATEGORIES: [&str; CATEGORIES] = ["", "8 3", "2 3", "10 3 2 3", "5 4", "1 4", "14 4", "7 2 1 2 1 2"];
    match tone {
        // The ninth category has the colour of the first and the dashes of the second.
        Tone::Category(index) => OF_CATEGORIES[(index % CATEGORIES + index / CATEGORIES) % CATEGORIES],
        Tone::Median | Tone::Good => "",
        Tone::High | Tone::Bad => "8 3",
        Tone::Highest | Tone::Quiet => "2 3",
        Tone::Plan => "4 4",
    }
}

/// The form of a point.
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
        Tone::Category(index) => OF_CATEGORIES[index % OF_CATEGORIES.len()],
        Tone::Median | Tone::Good | Tone::Quiet => Marker::Circle,
        Tone::High => Marker::Square,
        Tone::Highest => Marker::Triangle,
        Tone::Plan => Marker::Diamond,
        Tone::Bad => Marker::Cross,
    }
}
