//! Converts values to positions on an axis.

use crate::figure::Scale;

/// Larger values are drawn as if they had this value, so that differences and products of two values are finite.
const LARGEST: f64 = 1e150;
/// Values nearer to zero are drawn as zero on a linear axis, and as this value on a logarithmic axis.
const SMALLEST: f64 = 1e-150;

/// The range of an axis. Both ends are finite, `low` is below `high`, and on a logarithmic axis both are above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Domain {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Domain {
    /// The range of these values. It is a valid axis even if there is only one value or none.
    pub fn from_values(scale: Scale, values: impl IntoIterator<Item = f64>) -> Domain {
        let mut ends: Option<(f64, f64)> = None;
        for value in values.into_iter().filter_map(|it| usable(scale, it)) {
            ends = Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
        }
        let (low, high) = match (ends, scale) {
            (Some(ends), _) => ends,
            (None, Scale::Linear) => (0.0, 1.0),
            (None, Scale::Log) => (1.0, 10.0),
        };
        Domain { scale, low, high }.widened()
    }

    /// Widens a range if its ends are too close to be distinguished.
    fn widened(self) -> Domain {
        let Domain { scale, low, high } = self;
        let (low, high) = match scale {
            Scale::Linear if high - low > high.abs().max(low.abs()) * 1e-6 => (low, high),
            Scale::Linear if low == 0.0 && high == 0.0 => (0.0, 1.0),
            Scale::Linear => {
                let around = high.abs().max(low.abs()) * 0.1;
                (low - around, high + around)
            }
            Scale::Log if high / low > 1.001 => (low, high),
            Scale::Log => (low / 2.0, high * 2.0),
        };
        Domain { scale, low, high }
    }

    /// Widens both ends by a share of the length, so that the frame does not cut off points. Ends in `fixed` stay.
    pub fn padded(self, share: f64, fixed: &[f64]) -> Domain {
        let (low, high) = (self.forward(self.low), self.forward(self.high));
        let pad = (high - low) * share;
        let new_low = if fixed.contains(&self.low) { self.low } else { self.backward(low - pad) };
        let new_high = if fixed.contains(&self.high) { self.high } else { self.backward(high + pad) };
        Domain { low: new_low, high: new_high, ..self }
    }

    /// The position of a value: 0 at the low end, 1 at the high end. Values outside the range are placed just beyond its ends, at -0.02 or 1.02.
    /// `None` for a gap.
    pub fn share(&self, value: f64) -> Option<f64> {
        let value = usable(self.scale, value)?;
        let (low, high) = (self.forward(self.low), self.forward(self.high));
        Some(((self.forward(value) - low) / (high - low)).clamp(-0.02, 1.02))
    }

    /// Like `share`, but on a logarithmic axis, values of zero and below are at the low end instead of being gaps. `None` only for a value that is
    /// not finite.
    pub fn share_or_low(&self, value: f64) -> Option<f64> {
        let below = self.scale == Scale::Log && value <= 0.0;
        if below { Some(0.0) } else { self.share(value) }
    }

    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    fn forward(&self, value: f64) -> f64 {
        if self.scale == Scale::Log { value.log10() } else { value }
    }

    fn backward(&self, value: f64) -> f64 {
        if self.scale == Scale::Log { 10f64.powf(value.clamp(-150.0, 150.0)) } else { value }
    }
}

/// Limits a value to the range that an axis supports; `None` for a gap.
fn usable(scale: Scale, value: f64) -> Option<f64> {
    match scale {
        _ if !value.is_finite() => None,
        Scale::Linear if value.abs() < SMALLEST => Some(0.0),
        Scale::Linear => Some(value.clamp(-LARGEST, LARGEST)),
        Scale::Log => (value > 0.0).then(|| value.clamp(SMALLEST, LARGEST)),
    }
}
