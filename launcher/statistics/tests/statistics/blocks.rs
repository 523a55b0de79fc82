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
        assert!((0.935..0.99).contains(&found), "{cells} cells, {blocks} blocks: {found}");
    }
}

/// One run of one cell is bad, and all other runs are equal but for a small spread.
#[test]
fn one_bad_run_among_many_calm_cells_is_no_difference() {
    let mut random = Random(7);
    for cells in [8, 32, 64, 256] {
        let mut rows: Vec<Vec<Option<f64>>> =
            (0..cells).map(|_| (0..2).map(|_| Some(0.001 * random.normal())).collect()).collect();
        rows[1][0] = Some(5.0);
        let error = 0.05 / (5.0 * cells as f64);
        let (_, interval) = Blocks::fit(rows).difference(1, 0, error).unwrap();
        assert!(interval.contains(0.0), "{cells} cells: {interval:?}");
    }
}

/// With a Bonferroni correction, at most 5 % of experiments have an interval that misses.
#[test]
fn corrected_intervals_rarely_miss() {
    let found = coverage(6, 2, 0.05 / 5.0);
    assert!(found > 0.98, "{found}");
}
