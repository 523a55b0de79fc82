//! Scores the outputs of a model: MLPerf's accuracy checks for language models, and MMLU. Pure: values in, values out; the caller reads and
//! writes files. `docs/accuracy.md` describes the figures and their validation.
//!
//! - [`rouge`], [`punkt`] and [`answers`] score one text; [`figures`] has means and rounding.
//! - [`benchmark`] has each benchmark's checks and limits; [`scorer`] scores the answers of an accuracy log; [`gate`] compares with limits.
//! - [`files`] has the file contents for a scored run.
//! - [`mmlu`] has the prompts, the letters and the figures of MMLU.
//!
//! Deliberately absent: code that a model wrote is extracted and never run, and the symbolic grading of mathematics.

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

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

/// As many threads as there is use for: the results of `work` for each item, in their order.
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
