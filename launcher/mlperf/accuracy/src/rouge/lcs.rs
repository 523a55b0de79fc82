//! Longest common subsequences. Pure.
//!
//! Source: `_lcs_table`, `_backtrack_norec` and `_find_union` of `rouge_score/rouge_scorer.py` 0.1.2.

/// Returns the length of a longest common subsequence. Needs time proportional to `a × b`, and memory for one row.
pub(super) fn length(a: &[u32], b: &[u32]) -> usize {
    let mut row = vec![0_u32; b.len() + 1];
    for found in a {
        next_row(*found, b, &mut row, |_, _| {});
    }
    row.last().map_or(0, |it| *it as usize)
}

/// Marks in `taken` the positions of `a` that belong to a longest common subsequence with `b`. If there are several, it is the same as in the
/// reference. Needs time proportional to `a × b`, and one bit of memory per pair.
pub(super) fn mark(a: &[u32], b: &[u32], taken: &mut [bool]) {
    let words = b.len().div_ceil(64);
    let mut left = vec![0_u64; words * a.len()];
    let mut row = vec![0_u32; b.len() + 1];
    for (i, found) in a.iter().enumerate() {
        next_row(*found, b, &mut row, |j, is_left| left[i * words + j / 64] |= u64::from(is_left) << (j % 64));
    }
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        let is_left = left[(i - 1) * words + (j - 1) / 64] >> ((j - 1) % 64) & 1 == 1;
        if a[i - 1] == b[j - 1] {
            taken[i - 1] = true;
            (i, j) = (i - 1, j - 1);
        } else if is_left {
            j -= 1;
        } else {
            i -= 1;
        }
    }
}

/// Computes the next row of the table in place. `found` is the token of that row. For each column with a different token, calls `left` with the
/// column, and with whether the value to its left is larger than the value above it.
fn next_row(found: u32, b: &[u32], row: &mut [u32], mut left: impl FnMut(usize, bool)) {
    let mut diagonal = 0;
    let mut before = 0;
    for (j, (other, cell)) in b.iter().zip(&mut row[1..]).enumerate() {
        let above = *cell;
        let value = if *other == found {
            diagonal + 1
        } else {
            left(j, before > above);
            before.max(above)
        };
        (diagonal, before, *cell) = (above, value, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[u32], b: &[u32], expected: &[usize]) {
        let mut taken = vec![false; a.len()];
        mark(a, b, &mut taken);
        let found: Vec<usize> = taken.iter().enumerate().filter(|(_, it)| **it).map(|(at, _)| at).collect();
        assert_eq!(found, expected);
        assert_eq!(length(a, b), expected.len());
    }

    #[test]
    fn positions_are_those_of_the_reference() {
        check(&[1, 2, 3], &[1, 3], &[0, 2]);
        check(&[], &[1], &[]);
        check(&[1], &[], &[]);
        // There are several longest subsequences. The reference walks back from the end and prefers to go up, which determines the one that is
        // chosen.
        check(&[1, 2], &[2, 1], &[0]);
        check(&[1, 1], &[1], &[1]);
    }

    #[test]
    fn rows_of_more_than_64_columns_are_walked() {
        let long: Vec<u32> = (0..200).collect();
        check(&[5, 70, 199], &long, &[0, 1, 2]);
    }
}
