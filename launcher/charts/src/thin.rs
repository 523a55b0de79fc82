//! Reduces the number of points if a drawing cannot show all. Keeps the minimum and the maximum of each group.

use crate::figure::{Interval, Place};

/// Approximate maximum number of points per series in a drawing. A drawing has fewer pixels in its width.
pub(crate) const MOST: usize = 1_500;

/// Reduces places to about `MOST`, in the same order. From each group of neighbours, keeps the first, the last, the minimum, the maximum, and a gap.
pub(crate) fn places(all: &[Place]) -> Vec<Place> {
    if all.len() <= MOST {
        return all.to_vec();
    }
    all.chunks(group_size(all.len(), 5)).flat_map(place_group).collect()
}

fn place_group(group: &[Place]) -> Vec<Place> {
    let known: Vec<(usize, f64)> =
        group.iter().enumerate().filter_map(|(at, it)| Some((at, it.y.filter(|y| y.is_finite())?))).collect();
    let gap = group.iter().position(|it| it.y.is_none_or(|y| !y.is_finite()));
    let least = known.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|it| it.0);
    let greatest = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|it| it.0);
    let (first, last) = (known.first().map(|it| it.0), known.last().map(|it| it.0));
    picked(group, [first, last, least, greatest, gap])
}

/// Reduces intervals to about `MOST`. Each group of neighbours becomes one interval, from its first to its last place, which covers the values of the
/// whole group.
pub(crate) fn intervals(all: &[Interval]) -> Vec<Interval> {
    if all.len() <= MOST {
        return all.to_vec();
    }
    all.chunks(group_size(all.len(), 2))
        .flat_map(|group| {
            let low = group.iter().map(|it| it.low).fold(f64::INFINITY, f64::min);
            let high = group.iter().map(|it| it.high).fold(f64::NEG_INFINITY, f64::max);
            [group.first(), group.last()].into_iter().flatten().map(move |it| Interval { x: it.x, low, high })
        })
        .collect()
}

/// Reduces items to about `MOST`, in the same order. Keeps from each group the items with the minimum and the maximum value.
pub(crate) fn by_value<T: Clone>(all: &[T], value: impl Fn(&T) -> f64) -> Vec<T> {
    if all.len() <= MOST {
        return all.to_vec();
    }
    let group = |group: &[T]| {
        let ranked = || group.iter().enumerate().filter(|(_, it)| value(it).is_finite());
        let least = ranked().min_by(|a, b| value(a.1).total_cmp(&value(b.1))).map(|it| it.0);
        let greatest = ranked().max_by(|a, b| value(a.1).total_cmp(&value(b.1))).map(|it| it.0);
        picked(group, [least, greatest, None, None, None])
    };
    all.chunks(group_size(all.len(), 2)).flat_map(group).collect()
}

fn group_size(length: usize, kept_of_each: usize) -> usize {
    length.div_ceil(MOST / kept_of_each).max(1)
}

/// The items at these indices, without duplicates, in order.
fn picked<T: Clone>(group: &[T], mut indices: [Option<usize>; 5]) -> Vec<T> {
    indices.sort_unstable();
    let mut kept: Vec<usize> = indices.into_iter().flatten().collect();
    kept.dedup();
    kept.into_iter().filter_map(|it| group.get(it).cloned()).collect()
}
