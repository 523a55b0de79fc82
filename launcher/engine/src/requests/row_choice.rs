//! Chooses which row of a data set a request sends, and counts how often rows are reused. Pure.

use std::sync::OnceLock;

use crds::units::Seed;
use rand::RngExt as _;
use workload_profiles::workload::{AcrossStages, UsedUp};

use super::draws;

/// Chooses the row for each request.
#[derive(Debug)]
pub(crate) struct RowChoice {
    rows: u64,
    used_up: UsedUp,
    seed: Seed,
    /// The index of the first row of each stage. Empty if each stage begins with the first row of the data set.
    begins: Vec<OnceLock<u64>>,
    /// Number of requests issued before each stage; unset until the stage begins.
    issued_before: Vec<OnceLock<u64>>,
}

impl RowChoice {
    /// `requests` is the number of requests per stage; `None` if it is unknown before the load, see [`RowChoice::begin_stage`].
    pub(crate) fn new(
        rows: u64,
        (used_up, across_stages): (UsedUp, AcrossStages),
        seed: Seed,
        requests: &[Option<u64>],
    ) -> RowChoice {
        let begins = match across_stages {
            AcrossStages::Restart => Vec::new(),
            AcrossStages::Continue => {
                begins(requests).map(|it| it.map_or_else(OnceLock::new, OnceLock::from)).collect()
            }
        };
        let issued_before = requests.iter().map(|_| OnceLock::new()).collect();
        RowChoice { rows, used_up, seed: seed.derive("data-set/draws"), begins, issued_before }
    }

    /// Begins a stage after `issued` requests of earlier stages. Call it before the first request of the stage is generated.
    pub(crate) fn begin_stage(&self, stage: usize, issued: u64) {
        if let Some(before) = self.issued_before.get(stage) {
            let _ = before.set(issued);
        }
        if let Some(begin) = self.begins.get(stage) {
            // No effect if the first row was known before the load.
            let _ = begin.set(issued);
        }
    }

    /// Returns the number of distinct rows that the first `issued` requests of the load sent.
    pub(crate) fn distinct(&self, issued: u64) -> u64 {
        let begun: Vec<u64> = self.issued_before.iter().map_while(|it| it.get().copied()).collect();
        let ends = begun.iter().copied().skip(1).chain([issued]);
        let sent: Vec<u64> = ends.zip(&begun).map(|(end, begin)| end.saturating_sub(*begin)).collect();
        self.distinct_of(&sent)
    }

    /// Returns the number of distinct rows that are sent if stage i sends `sent[i]` requests.
    pub(crate) fn distinct_of(&self, sent: &[u64]) -> u64 {
        distinct(self.rows, if self.begins.is_empty() { AcrossStages::Restart } else { AcrossStages::Continue }, sent)
    }

    /// Returns the index of the row that a request sends.
    pub(crate) fn row(&self, stage: usize, number: u64) -> u64 {
        let begin = self.begins.get(stage).and_then(OnceLock::get).copied().unwrap_or_default();
        let place = begin.saturating_add(number);
        match self.used_up {
            _ if place < self.rows || self.rows == 0 => place,
            UsedUp::Draw => draws(self.seed, place).random_range(0..self.rows),
            UsedUp::Refuse | UsedUp::Repeat | UsedUp::EndStage => place % self.rows,
        }
    }
}

/// Returns the number of distinct rows that are sent if stage i sends `sent[i]` requests.
fn distinct(rows: u64, across_stages: AcrossStages, sent: &[u64]) -> u64 {
    let most = match across_stages {
        AcrossStages::Restart => sent.iter().copied().max().unwrap_or_default(),
        AcrossStages::Continue => sent.iter().sum(),
    };
    most.min(rows)
}

/// Returns each stage's first row, if the data set continues from stage to stage; `None` if it is unknown before the load.
fn begins(requests: &[Option<u64>]) -> impl Iterator<Item = Option<u64>> {
    let mut next = Some(0_u64);
    requests.iter().map(move |it| {
        let after = next.zip(*it).map(|(begin, it)| begin.saturating_add(it));
        std::mem::replace(&mut next, after)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn choice(used_up: UsedUp, across_stages: AcrossStages, requests: &[Option<u64>]) -> RowChoice {
        RowChoice::new(5, (used_up, across_stages), Seed(1), requests)
    }

    fn rows(choice: &RowChoice, stage: usize, count: u64) -> Vec<u64> {
        (0..count).map(|it| choice.row(stage, it)).collect()
    }

    #[test]
    fn rows_repeat_in_order_or_are_drawn() {
        let repeat = choice(UsedUp::Repeat, AcrossStages::Restart, &[Some(7), Some(7)]);
        for stage in 0..2 {
            assert_eq!(rows(&repeat, stage, 7), [0, 1, 2, 3, 4, 0, 1]);
        }
        let draw = choice(UsedUp::Draw, AcrossStages::Restart, &[Some(200)]);
        let drawn = rows(&draw, 0, 200);
        assert_eq!(drawn[..5], [0, 1, 2, 3, 4]);
        assert_eq!(drawn[5..].iter().collect::<BTreeSet<_>>().len(), 5);
        assert_ne!(drawn[5..10], [0, 1, 2, 3, 4]);
        assert_eq!(rows(&draw, 0, 200), drawn);
    }

    #[test]
    fn a_stage_goes_on_behind_the_one_before_it() {
        let known = choice(UsedUp::Repeat, AcrossStages::Continue, &[Some(3), Some(4), Some(1)]);
        known.begin_stage(1, 99);
        assert_eq!(
            [rows(&known, 0, 3), rows(&known, 1, 4), rows(&known, 2, 1)],
            [vec![0, 1, 2], vec![3, 4, 0, 1], vec![2]]
        );
        let timed = choice(UsedUp::Repeat, AcrossStages::Continue, &[None, Some(4), Some(1)]);
        timed.begin_stage(0, 0);
        timed.begin_stage(1, 2);
        timed.begin_stage(1, 9);
        timed.begin_stage(2, 6);
        assert_eq!(
            [rows(&timed, 0, 2), rows(&timed, 1, 4), rows(&timed, 2, 1)],
            [vec![0, 1], vec![2, 3, 4, 0], vec![1]]
        );
    }

    #[test]
    fn distinct_rows_are_counted_as_stages_begin() {
        for (across, sent, expected) in [
            (AcrossStages::Restart, [3, 4], 4),
            (AcrossStages::Restart, [3, 9], 5),
            (AcrossStages::Continue, [1, 2], 3),
            (AcrossStages::Continue, [3, 4], 5),
        ] {
            let choice = choice(UsedUp::Repeat, across, &[None, None]);
            choice.begin_stage(0, 0);
            assert_eq!(choice.distinct(sent[0]), sent[0].min(5));
            choice.begin_stage(1, sent[0]);
            assert_eq!(choice.distinct(sent[0] + sent[1]), expected);
        }
    }
}
