//! The rectangle between the axes, and the conversion of values to places in it.

use crate::scale::Domain;

/// The content of the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vertical {
    Values(Domain),
    /// A number of rows without values, from top to bottom.
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
    /// The place of a value on the x axis; `None`: a gap.
    pub fn x(&self, value: f64) -> Option<f64> {
        self.x.share(value).map(|it| self.left + it * (self.right - self.left))
    }

    /// Like `x`, but values beyond an end are at the nearest end. So are values that a logarithmic axis does not have.
    pub fn x_within(&self, value: f64) -> Option<f64> {
        self.x.share_or_low(value).map(|it| self.left + it.clamp(0.0, 1.0) * (self.right - self.left))
    }

    /// The place of a value on the y axis; `None`: a gap.
    pub fn y(&self, value: f64) -> Option<f64> {
        let Vertical::Values(domain) = self.y else { return None };
        domain.share(value).map(|it| self.bottom - it * (self.bottom - self.top))
    }

    /// Like `y`, but values beyond an end are at the nearest end. So are values that a logarithmic axis does not have.
    pub fn y_within(&self, value: f64) -> Option<f64> {
        let Vertical::Values(domain) = self.y else { return None };
        domain.share_or_low(value).map(|it| self.bottom - it.clamp(0.0, 1.0) * (self.bottom - self.top))
    }

    /// The upper end of a row, and its height.
    pub fn row(&self, index: usize) -> (f64, f64) {
        let Vertical::Rows(rows) = self.y else { return (self.top, 0.0) };
        let height = (self.bottom - self.top) / rows.max(1) as f64;
        (self.top + index as f64 * height, height)
    }
}
