//! The difference between two cells of an experiment whose repeats are blocks: every repeat (block) measures every cell once.
//!
//! The model is additive: value = cell + block + error. Block effects, such as a server that becomes slower, cancel out, because cells are compared
//! within a block. The errors of all cells estimate one variance, so that even two repeats of many cells suffice (the randomized block design: Box,
//! Hunter and Hunter, Statistics for Experimenters, 2nd edition, 2005, chapter 4).

use crate::{Interval, mean, student::two_sided};

/// The values of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// One row per cell with one value per block. `None`: the cell was not measured in this block.
    values: Vec<Vec<Option<f64>>>,
    /// The variance of the errors.
    variance: f64,
    degrees_of_freedom: usize,
}

impl Blocks {
    /// Fits the model. `values` has one row per cell, and all rows have one entry per block.
    ///
    /// Block effects and errors are estimated from the cells with a value in every block. With fewer than two such cells, the blocks are assumed to
    /// have no effects, and all cells with two or more values estimate the errors. Without degrees of freedom, all intervals are infinite.
    pub fn fit(values: Vec<Vec<Option<f64>>>) -> Blocks {
        let whole: Vec<Vec<f64>> = values.iter().filter_map(|it| it.iter().copied().collect()).collect();
        let (sum, degrees_of_freedom) = match whole.first().map_or(0, Vec::len) {
            blocks if whole.len() >= 2 && blocks >= 2 => (residuals(&whole), (whole.len() - 1) * (blocks - 1)),
            _ => {
                let rows = values.iter().map(|it| it.iter().flatten().copied().collect::<Vec<f64>>());
                rows.filter(|it| !it.is_empty()).fold((0.0, 0), |(sum, degrees), row| {
                    (sum + squares_around(&row, mean(&row)), degrees + row.len() - 1)
                })
            }
        };
        let variance = if degrees_of_freedom == 0 { f64::INFINITY } else { sum / degrees_of_freedom as f64 };
        Blocks { values, variance, degrees_of_freedom }
    }

    /// Degrees of freedom of the error variance.
    pub fn degrees_of_freedom(&self) -> usize {
        self.degrees_of_freedom
    }

    /// The mean of a cell over its blocks, and an interval that misses the true value with probability `error`. `None` if the cell has no value.
    pub fn cell(&self, cell: usize, error: f64) -> Option<(f64, Interval)> {
        let values: Vec<f64> = self.values.get(cell)?.iter().flatten().copied().collect();
        (!values.is_empty()).then(|| self.interval(mean(&values), self.variance / values.len() as f64, error))
    }

    /// The difference `cell` - `base`, and an interval that misses the true difference with probability `error`. Uses the blocks in which both cells
    /// have a value; `None` if there is no such block.
    ///
    /// If the differences of these two cells vary more between the blocks than the errors of all cells do, their own variance counts. Otherwise one bad
    /// run among many calm cells would be a difference. With a single block, the interval is infinite, because nothing shows whether its run was bad.
    pub fn difference(&self, cell: usize, base: usize, error: f64) -> Option<(f64, Interval)> {
        let (cell, base) = (self.values.get(cell)?, self.values.get(base)?);
        let pairs = cell.iter().zip(base).filter_map(|(one, other)| Some((*one)? - (*other)?));
        let differences: Vec<f64> = pairs.collect();
        let value = (!differences.is_empty()).then(|| mean(&differences))?;
        // A difference has the errors of two runs.
        let own = match differences.len() {
            1 => f64::INFINITY,
            count => squares_around(&differences, value) / (count - 1) as f64 / 2.0,
        };
        Some(self.interval(value, 2.0 * self.variance.max(own) / differences.len() as f64, error))
    }

    /// The interval around an estimate with this variance.
    fn interval(&self, value: f64, variance: f64, error: f64) -> (f64, Interval) {
        let half = two_sided(error, self.degrees_of_freedom) * variance.sqrt();
        (value, Interval { low: value - half, high: value + half })
    }
}

/// The sum of the squared residuals of the additive model.
fn residuals(rows: &[Vec<f64>]) -> f64 {
    let blocks = rows[0].len();
    let block_means: Vec<f64> =
        (0..blocks).map(|block| mean(&rows.iter().map(|row| row[block]).collect::<Vec<_>>())).collect();
    let grand = mean(&block_means);
    let of_row = |row: &Vec<f64>| {
        let row_mean = mean(row);
        let residual = |(value, block): (&f64, &f64)| (value - row_mean - block + grand).powi(2);
        row.iter().zip(&block_means).map(residual).sum::<f64>()
    };
    rows.iter().map(of_row).sum()
}

fn squares_around(values: &[f64], centre: f64) -> f64 {
    values.iter().map(|it| (it - centre).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(rows: &[&[f64]]) -> Blocks {
        Blocks::fit(rows.iter().map(|row| row.iter().map(|it| Some(*it)).collect()).collect())
    }

    /// The residuals are +0.25 and -0.25 in each row, so the sum of squares is 4 x 0.0625 with one degree of freedom.
    #[test]
    fn the_variance_is_that_of_the_additive_model() {
        let blocks = whole(&[&[1.0, 2.0], &[3.0, 5.0]]);
        assert_eq!(blocks.degrees_of_freedom(), 1);
        assert!((blocks.variance - 0.25).abs() < 1e-12, "{}", blocks.variance);
        let (difference, interval) = blocks.difference(1, 0, 0.05).expect("a difference");
        assert!((difference - 2.5).abs() < 1e-12);
        // t for one degree of freedom is 12.706, and the standard error is sqrt(0.25 * 2 / 2).
        assert!((interval.high - 2.5 - 12.706 * 0.5).abs() < 1e-2, "{interval:?}");
    }

    #[test]
    fn a_drift_over_the_blocks_cancels_out() {
        let blocks = whole(&[&[1.0, 11.0, 21.0], &[2.0, 12.0, 22.0]]);
        let (difference, interval) = blocks.difference(1, 0, 0.05).expect("a difference");
        assert_eq!((difference, interval.low, interval.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn missing_values_are_left_out() {
        let (some, none) = (Some, None);
        let blocks = Blocks::fit(vec![vec![some(1.0), some(2.0)], vec![some(2.0), some(3.5)], vec![none, some(4.0)]]);
        assert_eq!(blocks.difference(2, 0, 0.05).map(|it| it.0), some(2.0));
        assert_eq!(blocks.degrees_of_freedom(), 1);
        let apart = Blocks::fit(vec![vec![some(1.0), none], vec![none, some(2.0)]]);
        assert_eq!(apart.difference(1, 0, 0.05), None);
        assert_eq!(apart.cell(0, 0.05).map(|it| it.1.high), some(f64::INFINITY));
    }
}
