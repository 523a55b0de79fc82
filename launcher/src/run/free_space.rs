//! [I/O] Checks whether the file system of the results folder has room for a run's files.

use std::path::{Path, PathBuf};

use report::{ChosenBy, space::Planned};
use rustix::fs::statvfs;
use tracing::debug;

const MEBIBYTE: u64 = 1 << 20;

/// The file system is too full for the results.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file system of {folder} has {free} MiB free, and the results of this run may need {needed} MiB: {what}; {remedy}",
    folder = folder.display(),
    // The free space is rounded down and the needed space up, so that the message never shows two equal numbers.
    free = free / MEBIBYTE,
    needed = planned.bytes().div_ceil(MEBIBYTE),
    what = what(planned),
    remedy = remedy(planned, *chosen_by)
)]
pub(super) struct TooLittleSpace {
    folder: PathBuf,
    /// Free space in bytes.
    free: u64,
    planned: Planned,
    chosen_by: ChosenBy,
}

/// Compares the planned size of the files with the free space.
///
/// # Errors
/// There is too little space. If the system does not report the free space, nothing is compared.
pub(super) fn check(folder: &Path, planned: Planned, chosen_by: ChosenBy) -> Result<(), TooLittleSpace> {
    match free(folder) {
        Some(free) => compare(folder, free, planned, chosen_by),
        None => Ok(()),
    }
}

fn compare(folder: &Path, free: u64, planned: Planned, chosen_by: ChosenBy) -> Result<(), TooLittleSpace> {
    if planned.bytes() <= free {
        return Ok(());
    }
    Err(TooLittleSpace { folder: folder.to_owned(), free, planned, chosen_by })
}

/// Returns the number of bytes that this process can still write to the file system of a folder. `None` if the system does not report it.
pub(super) fn free(folder: &Path) -> Option<u64> {
    match statvfs(folder) {
        // Some network file systems report 0 blocks, which means that the free space is unknown.
        Ok(found) if found.f_blocks > 0 => Some(found.f_bavail.saturating_mul(found.f_frsize)),
        Ok(_) => None,
        Err(error) => {
            debug!(folder = %folder.display(), %error, "the free space is not known");
            None
        }
    }
}

fn what(planned: &Planned) -> String {
    let mut parts = Vec::new();
    if planned.with_rows && planned.requests > 0 {
        parts.push(format!("{} rows, one per request", planned.requests));
    }
    if planned.with_rows && planned.undecided_stages > 0 {
        let rows = planned.undecided_stages.saturating_mul(report::space::ROWS_OF_UNDECIDED_STAGE);
        parts.push(format!("{rows} rows for stages whose number of requests is not known"));
    }
    if planned.answers > 0 {
        parts.push(format!("{} answers in accuracy logs", planned.answers));
    }
    parts.push(match planned.stages {
        1 => "the reports of one stage".to_owned(),
        stages => format!("the reports of {stages} stages"),
    });
    match planned.runs {
        0 | 1 => parts.join(", "),
        runs => format!("{}, for {runs} runs", parts.join(", ")),
    }
}

fn remedy(planned: &Planned, chosen_by: ChosenBy) -> String {
    let other_place = chosen_by.other_place();
    let (or, without_rows) =
        if planned.with_rows { ("", ", or set spec.storage.perRequestRecords: None") } else { ("or ", "") };
    format!("free space there, request a larger volume in spec.storage.pvc.size, {or}{other_place}{without_rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(free: u64, planned: Planned) -> Option<String> {
        compare(Path::new("/results"), free, planned, ChosenBy::Flag).err().map(|it| it.to_string())
    }

    #[test]
    fn a_full_volume_is_refused_with_folder_need_rest_and_remedy() {
        let planned = Planned { stages: 1, requests: 10_000_000, with_rows: true, runs: 2, ..Planned::default() };
        assert_eq!(message(planned.bytes(), planned), None);
        let message = message(planned.bytes() - 1, planned).unwrap();
        for part in [
            "/results",
            "4915 MiB free",
            "4916 MiB",
            "may need",
            "10000000 rows, one per request",
            "2 runs",
            "storage.pvc.size",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(message.contains("perRequestRecords: None"), "{message}");
    }

    #[test]
    fn a_run_without_rows_is_not_advised_to_leave_them_out() {
        let planned = Planned { stages: 1, runs: 1, ..Planned::default() };
        let message = message(1 << 20, planned).unwrap();
        assert!(message.contains("1 MiB free") && !message.contains("perRequestRecords"), "{message}");
    }

    #[test]
    fn the_advice_names_what_chooses_the_place() {
        for with_rows in [true, false] {
            let planned = Planned { stages: 1, with_rows, runs: 1, ..Planned::default() };
            let remedy = |chosen_by| remedy(&planned, chosen_by);
            assert!(remedy(ChosenBy::Flag).contains("choose another folder with --results"));
            let in_cluster = remedy(ChosenBy::Spec);
            assert!(!in_cluster.contains("--results") && in_cluster.contains("in spec.storage (pvc"), "{in_cluster}");
        }
    }

    #[test]
    fn stages_without_a_number_are_named_with_the_rows_that_stand_for_them() {
        let planned = Planned { stages: 3, undecided_stages: 2, with_rows: true, runs: 1, ..Planned::default() };
        let message = message(0, planned).unwrap();
        assert!(message.contains("200000 rows for stages whose number of requests is not known"), "{message}");
    }

    #[test]
    fn the_system_says_what_is_free() {
        assert!(free(Path::new(".")).is_some_and(|it| it > 0));
        assert_eq!(free(Path::new("/no/such/folder")), None);
        assert_eq!(check(Path::new("/no/such/folder"), Planned::default(), ChosenBy::Flag), Ok(()));
    }
}
