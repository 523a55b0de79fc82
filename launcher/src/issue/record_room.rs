//! Foresees whether the records of a load fit into memory, before the load begins.

use tracing::warn;
use workload_profiles::Workload;

use crate::{
    recorder::{Keep, RecordBudget},
    vitals::memory::{self, MemoryLeft, mebibytes},
};

/// A part of the memory left, and no less than this in bytes, is for threads, connections and answers.
const KEPT_FREE: (u64, u64) = (4, 32 << 20);

/// How many records a load may keep. What will not fit is told now. LoadGen's verdict needs every record: there it is told
/// alone.
pub(super) fn budget(workload: &Workload, keep: Keep, planned: u64) -> RecordBudget {
    let Some(left) = memory::left().filter(|_| keep != Keep::Summary) else { return RecordBudget::default() };
    let needs_all = workload.loadgen.is_some();
    if let Some(message) = too_few(left, planned, needs_all) {
        warn!("{message}");
    }
    // Gaps are as many as tokens, which nobody can foresee; the bench alone keeps them.
    if needs_all || keep == Keep::RecordsAndGaps { RecordBudget::default() } else { RecordBudget::of(room(left)) }
}

/// How many records fit.
fn room(left: MemoryLeft) -> u64 {
    let (part, least) = KEPT_FREE;
    left.bytes.saturating_sub((left.bytes / part).max(least)) / RecordBudget::BYTES_PER_RECORD
}

fn too_few(left: MemoryLeft, planned: u64, needs_all: bool) -> Option<String> {
    let room = room(left);
    let ((part, least), records) = (KEPT_FREE, planned.saturating_mul(RecordBudget::BYTES_PER_RECORD));
    let needed = mebibytes(records.saturating_add((records / (part - 1)).max(least)));
    let found = format!(
        "the records of {planned} requests need {needed} of memory, and {} are left of {}: room for {room}",
        mebibytes(left.bytes),
        left.limit
    );
    let what = match needs_all {
        true => "LoadGen's verdict needs all of them: give the launcher more memory, or plan fewer queries",
        false => {
            "requests.parquet will lack those beyond, and percentiles will come from histograms; give the launcher more \
             memory, or set storage.perRequestRecords: None"
        }
    };
    (planned > room).then(|| format!("{found}; {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vitals::memory::MemoryLimit;

    #[test]
    fn ten_million_records_do_not_fit_into_the_default_pod() {
        let pod = MemoryLeft { bytes: 1_000 << 20, limit: MemoryLimit::Cgroup(1 << 30) };
        assert_eq!(too_few(pod, 1_000_000, false), None);
        let message = too_few(pod, 10_000_000, false).unwrap();
        let words = ["10000000 requests", "1000 MiB are left", "limit of 1024 MiB", "perRequestRecords: None"];
        assert!(words.iter().all(|it| message.contains(it)), "{message}");
        assert!(too_few(pod, 10_000_000, true).unwrap().contains("LoadGen's verdict"));
        // With as much as the message asks for, all fit.
        let asked: u64 = message.split_once("need ").unwrap().1.split_once(" MiB").unwrap().0.parse().unwrap();
        assert_eq!(too_few(MemoryLeft { bytes: (asked + 1) << 20, ..pod }, 10_000_000, false), None);
    }
}
