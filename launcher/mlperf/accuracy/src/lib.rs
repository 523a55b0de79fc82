//! Scores the outputs of a model: MLPerf's accuracy checks for language models, and MMLU. Pure: the caller reads and writes files.
//! `docs/accuracy.md` describes the figures and their validation.
//!
//! - [`rouge`], [`punkt`] and [`answers`] score one text; [`figures`] contains means and rounding.
//! - [`benchmark`] contains the checks and limits of each benchmark; [`scorer`] scores the answers of an accuracy log; [`gate`] compares
//!   the figures with limits.
//! - [`files`] contains the file contents for a scored run.
//! - [`mmlu`] contains the prompts, letters and figures of MMLU.
//!
//! Two things are deliberately absent: running code that a model wrote (it is only extracted), and symbolic grading of mathematics.

pub mod answers;
pub mod benchmark;
mod chars;
mod clean_up;
pub mod expected;
pub mod figures;
pub mod files;
pub mod gate;
pub mod log;
pub mod mmlu;
pub mod punkt;
pub mod rouge;
pub mod sample;
pub mod scorer;

pub use clean_up::clean_up;

/// Formats bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

/// Runs `work` for each item, on at most `threads` threads. Returns the results in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let length = items.len().div_ceil(threads.max(1)).max(1);
    let mut parts = items.chunks(length);
    let own = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>())).collect();
        let mut results: Vec<R> = own.iter().map(work).collect();
        for other in others {
            match other.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        let items: Vec<usize> = (0..1001).collect();
        for threads in [1, 2, 7, 2000] {
            assert_eq!(in_parallel(&items, threads, |it| it * 2), items.iter().map(|it| it * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(&[], 2, |it: &usize| *it).is_empty());
    }
}
