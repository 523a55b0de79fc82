//! The intervals of an experiment in blocks.

use statistics::blocks::Blocks;

use crate::processes::Random;

/// Number of experiments. Three standard errors of a share of 0.95 are 0.015.
const EXPERIMENTS: usize = 2_000;

/// The share of experiments with equal cells whose interval of a difference contains 0. Each block has an offset that all cells share.
fn coverage(cells: usize, blocks: usize, error: f64) -> f64 {
    let mut random = Random(7);
    let held = (0..EXPERIMENTS).filter(|_| {
        let offsets: Vec<f64> = (0..blocks).map(|_| 10.0 * random.normal()).collect();
        let rows = (0..cells).map(|_| offsets.iter().map(|it| Some(it + random.normal())).collect()).collect();
        Blocks::fit(rows).difference(cells - 1, 0, error).unwrap().1.contains(0.0)
    });
    held.count() as f64 / EXPERIMENTS as f64
}

#[test]
fn intervals_contain_the_difference_as_often_as_they_should() {
    for (cells, blocks) in [(2, 5), (3, 3), (6, 2), (24, 2)] {
        let found = coverage(cells, blocks, 0.05);
        assert!((found - 0.95).abs() < 0.015, "{cells} cells, {blocks} blocks: {found}");
    }
}

/// With a Bonferroni correction, at most 5 % of experiments have an interval that misses.
#[test]
fn corrected_intervals_rarely_miss() {
    let found = coverage(6, 2, 0.05 / 5.0);
    assert!(found > 0.98, "{found}");
}
