//! The colours of a drawing: literal colours in a standalone file, CSS variables in a page.

use std::borrow::Cow;

use super::Style;
use crate::{
    figure::Tone,
    palette::{self, LIGHT},
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub Style);

impl Paint {
    pub fn tone(self, tone: Tone) -> Cow<'static, str> {
        match self.0 {
            Style::Standalone => LIGHT.tone(tone).into(),
            Style::Inline => format!("var({})", palette::variable(tone)).into(),
        }
    }

    /// The colour for a level of a heat map.
    pub fn heat(self, level: usize) -> Cow<'static, str> {
        let level = level.min(palette::HEAT_LEVELS - 1);
        match self.0 {
            Style::Standalone => LIGHT.heat[level].into(),
            Style::Inline => format!("var(--chart-heat{level})").into(),
        }
    }

    pub fn background(self) -> &'static str {
        self.pick(LIGHT.background, "var(--chart-background)")
    }

    pub fn text(self) -> &'static str {
        self.pick(LIGHT.text, "var(--chart-text)")
    }

    pub fn muted(self) -> &'static str {
        self.pick(LIGHT.muted, "var(--chart-muted)")
    }

    pub fn axis(self) -> &'static str {
        self.pick(LIGHT.axis, "var(--chart-axis)")
    }

    pub fn grid(self) -> &'static str {
        self.pick(LIGHT.grid, "var(--chart-grid)")
    }

    fn pick(self, standalone: &'static str, inline: &'static str) -> &'static str {
        if self.0 == Style::Standalone { standalone } else { inline }
    }
}
