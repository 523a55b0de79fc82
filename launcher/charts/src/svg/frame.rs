//! The rectangle between the axes. It converts values to positions.

use crate::scale::Domain;

/// The content of the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vertical {
    Values(Domain),
    /// Rows without values, from top to bottom. The field is the number of rows.
    Rows(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub x: Domain,
    pub y: Vertical,
}

impl Frame {
    /// The position of a value on the x axis; `None` for a gap.
    pub fn x(&self, value: f64) -> Option<f64> {
        self.x.share(value).map(|it| self.left + it * (self.right - self.left))
    }

    /// Like `x`, but a value outside the axis is moved to its nearest end. On a logarithmic axis, values of zero and below are at the low end.
    pub fn x_within(&self, value: f64) -> Option<f64> {
        self.x.share_or_low(value).map(|it| self.left + it.clamp(0.0, 1.0) * (self.right - self.left))
    }

    /// The position of a value on the y axis; `None` for a gap.
    pub fn y(&self, value: f64) -> Option<f64> {
        let Vertical::Values(domain) = self.y else { return None };
        domain.share(value).map(|it| self.bottom - it * (self.bottom - self.top))
    }

    /// Like `y`, but a value outside the axis is moved to its nearest end. On a logarithmic axis, values of zero and below are at the low end.
    pub fn y_within(&self, value: f64) -> Option<f64> {
        let Vertical::Values(domain) = self.y else { return None };
        domain.share_or_low(value).map(|it| self.bottom - it.clamp(0.0, 1.0) * (self.bottom - self.top))
    }

    /// The top of a row, and its height.
    pub fn row(&self, index: usize) -> (f64, f64) {
        let Vertical::Rows(rows) = self.y else { return (self.top, 0.0) };
        let height = (self.bottom - self.top) / rows.max(1) as f64;
        (self.top + index as f64 * height, height)
    }
}
