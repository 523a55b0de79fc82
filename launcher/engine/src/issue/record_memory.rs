//! Estimates before the load whether its records fit into memory.

use tracing::warn;

use crate::vitals::memory::{self, MemoryLeft, mebibytes};
use measurement::recorder::{Keep, RecordBudget};

/// Memory to leave free for threads, connections and answers: a quarter of what is left (4 is the divisor), but at least 32 MiB.
const KEPT_FREE: (u64, u64) = (4, 32 << 20);

/// Returns how many records a load with this many threads can keep. Logs a warning if the planned number does not fit. `needs_all` means that every
/// record is needed, so the number is not limited and only the warning applies.
pub(super) fn budget(needs_all: bool, keep: Keep, planned: u64, threads: usize) -> RecordBudget {
    let Some(left) = memory::left().filter(|_| keep != Keep::Summary) else { return RecordBudget::default() };
    if let Some(message) = too_few(left, planned, threads as u64, needs_all) {
        warn!("{message}");
    }
    // If times between tokens are kept too, fewer records fit than the warning says, because the number of tokens is unknown before the
    // load.
    if needs_all { RecordBudget::default() } else { RecordBudget::for_records(records_that_fit(left)) }
}

/// Returns how many records fit into the memory that is left.
fn records_that_fit(left: MemoryLeft) -> u64 {
    let (part, least) = KEPT_FREE;
    left.bytes.saturating_sub((left.bytes / part).max(least)) / RecordBudget::BYTES_PER_RECORD
}

fn too_few(left: MemoryLeft, planned: u64, threads: u64, needs_all: bool) -> Option<String> {
    let fitting_records = records_that_fit(left);
    // Each thread allocates its own blocks of records, and its last block can be partly empty.
    let needed = RecordBudget::needed(planned, threads);
    let ((part, least), bytes) = (KEPT_FREE, needed.saturating_mul(RecordBudget::BYTES_PER_RECORD));
    let memory = mebibytes(bytes.saturating_add((bytes / (part - 1)).max(least)));
    let certain = fitting_records.saturating_sub(needed - planned.min(needed));
    let found = format!(
        "the records of {planned} requests need {memory} of memory, and {} are left of {}: room for about {certain}",
        mebibytes(left.bytes),
        left.limit
    );
    let what = match needs_all {
        true => "the verdict on the test needs all of them: give the launcher more memory, or plan fewer queries",
        false => {
            "requests.parquet will lack the requests that end last, and percentiles will come from histograms; give the launcher more \
             memory, or set storage.perRequestRecords: None"
        }
    };
    (needed > fitting_records).then(|| format!("{found}; {what}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::vitals::memory::MemoryLimit;
    use measurement::{
        record::{RequestOutcome, RequestRecord},
        recorder::{InFigures, Records},
    };

    #[test]
    fn ten_million_records_do_not_fit_into_the_default_pod() {
        let pod = MemoryLeft { bytes: 1_000 << 20, limit: MemoryLimit::Cgroup(1 << 30) };
        assert_eq!(too_few(pod, 1_000_000, 2, false), None);
        let message = too_few(pod, 10_000_000, 2, false).unwrap();
        let words = ["10000000 requests", "1000 MiB are left", "limit of 1024 MiB", "perRequestRecords: None"];
        assert!(words.iter().all(|it| message.contains(it)), "{message}");
        assert!(too_few(pod, 10_000_000, 2, true).unwrap().contains("the verdict on the test"));
        // The amount of memory named in the message suffices for all records.
        let needed: u64 = message.split_once("need ").unwrap().1.split_once(" MiB").unwrap().0.parse().unwrap();
        assert_eq!(too_few(MemoryLeft { bytes: (needed + 1) << 20, ..pod }, 10_000_000, 2, false), None);
    }

    fn record() -> RequestRecord {
        RequestRecord {
            stage: 0,
            number: 0,
            turn: None,
            scheduled: Duration::ZERO,
            sent: None,
            permit_wait: None,
            first_token: None,
            last_token: None,
            ended: Duration::ZERO,
            outcome: RequestOutcome::Ok,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            output_tokens: None,
            content_events: 0,
            replica: None,
        }
    }

    /// Returns how many records are dropped with eight threads, if the first thread records all requests but seven, and each other thread
    /// one.
    fn left_out(left: MemoryLeft, planned: u64) -> u64 {
        let budget = RecordBudget::for_records(records_that_fit(left));
        let of_thread = |thread| if thread == 0 { planned - 7 } else { 1 };
        let lost = |thread| {
            let mut records = Records::new(budget.clone());
            for _ in 0..of_thread(thread) {
                records.push(record(), InFigures::default());
            }
            records.left_out()
        };
        (0..8).map(lost).sum()
    }

    #[test]
    fn no_warning_means_that_all_records_fit_whatever_thread_they_fall_to() {
        let left = MemoryLeft { bytes: 48 << 20, limit: MemoryLimit::Cgroup(1 << 30) };
        let room = records_that_fit(left);
        let fitting = (7..room).rev().find(|it| too_few(left, *it, 8, false).is_none()).unwrap();
        assert!(fitting > room / 2 && left_out(left, fitting) == 0, "{fitting} of {room}");
        // Memory for exactly this many records is too small, because records are allocated in blocks.
        assert!(left_out(left, room) > 0 && too_few(left, room, 8, false).is_some());
        assert_eq!(too_few(left, 0, 8, false), None);
    }
}
