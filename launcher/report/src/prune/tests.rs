use std::{os::unix::fs::symlink, path::PathBuf};

use super::*;

const REPORT: &str = "{\n  \"format\": \"benchwright.dev/report/v1\",\n  \"toolVersion\": \"0.1.0\"";
const REPEATS: &str = "{\n  \"format\": \"benchwright.dev/repeats/v1\"";

/// The current time in all tests.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

fn write(path: &Path, text: &str, days_ago: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    File::options().write(true).open(path).unwrap().set_modified(now() - DAY * days_ago).unwrap();
}

/// Creates a root with one finished folder for each age in days. A folder's name is its age.
fn root(ages: &[u32]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for age in ages {
        let folder = root.path().join(format!("run-{age}"));
        write(&folder.join("report.json"), REPORT, *age);
        write(&folder.join("plots/ttft.svg"), "x", 0);
    }
    root
}

fn left(root: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(root).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn pruned(root: &Path, runs: Option<u32>, days: Option<u32>, spared: &[&str]) -> Vec<String> {
    let limits = Limits { keep_runs: runs, keep_days: days };
    let pruned = prune(root, limits, spared, now(), false).unwrap();
    assert!(pruned.failed.is_empty(), "{:?}", pruned.failed);
    pruned.deleted
}

/// A copied folder has files with new modification times.
#[test]
fn a_folder_is_as_old_as_the_start_in_its_name() {
    let root = tempfile::tempdir().unwrap();
    let names = ["20240901T080000Z-old", "20240902T080000Z-new", "20240903T080000Z-newest"];
    for (name, written) in names.into_iter().zip([1, 5, 9]) {
        write(&root.path().join(name).join("report.json"), REPORT, written);
    }
    assert_eq!(pruned(root.path(), Some(2), None, &[]), [names[0]]);
    // Day 20,000 is 2024-10-04.
    assert_eq!(pruned(root.path(), None, Some(32), &[]), Vec::<String>::new());
    assert_eq!(pruned(root.path(), None, Some(31), &[]), [names[1]]);
}

#[test]
fn the_newest_stay_and_what_is_beyond_either_limit_goes() {
    for (runs, days, deleted) in [
        (Some(2), None, &["run-9", "run-5"][..]),
        (None, Some(4), &["run-9", "run-5"]),
        (Some(3), Some(4), &["run-9", "run-5"]),
        (Some(3), Some(10), &["run-9"]),
        (Some(4), Some(9), &[]),
        (None, None, &[]),
    ] {
        let root = root(&[9, 1, 5, 2]);
        assert_eq!(pruned(root.path(), runs, days, &[]), deleted, "{runs:?} {days:?}");
        assert_eq!(left(root.path()).len(), 4 - deleted.len());
    }
}

#[test]
fn the_newest_one_and_spared_ones_and_marked_ones_stay_at_any_age() {
    let root = root(&[30, 20, 10, 40]);
    write(&root.path().join("run-40/KEEP"), "", 0);
    assert_eq!(pruned(root.path(), Some(1), Some(1), &["run-20"]), ["run-30"]);
    assert_eq!(left(root.path()), ["run-10", "run-20", "run-40"]);
}

#[test]
fn a_dry_run_deletes_nothing_and_says_the_same() {
    let root = root(&[3, 2, 1]);
    let limits = Limits { keep_runs: Some(1), keep_days: None };
    let tried = prune(root.path(), limits, &[], now(), true).unwrap();
    assert_eq!((tried.deleted.clone(), tried.kept), (vec!["run-3".to_owned(), "run-2".to_owned()], 1));
    assert_eq!(left(root.path()).len(), 3);
    assert_eq!(pruned(root.path(), Some(1), None, &[]), tried.deleted);
}

#[test]
fn what_is_not_a_finished_folder_of_ours_is_left_alone() {
    let (root, elsewhere) = (root(&[1, 50]), tempfile::tempdir().unwrap());
    let at = |name: &str| -> PathBuf { root.path().join(name) };
    write(&elsewhere.path().join("report.json"), REPORT, 60);
    // A folder that a launcher is writing, a folder that a killed launcher left, and an incomplete series.
    write(&at("live.partial").join("report.json"), REPORT, 60);
    write(&at("marked").join("report.json"), REPORT, 60);
    write(&at("marked/PARTIAL.md"), "", 60);
    write(&at("series/r1/report.json"), REPORT, 60);
    // Folders of other tools.
    write(&at("foreign/report.json"), "{\"title\": \"benchwright.dev/report/v1\"}", 60);
    write(&at("other/data.csv"), "", 60);
    write(&at("empty/report.json"), "", 60);
    write(&at(".downloads/report.json"), REPORT, 60);
    write(&at("report.json"), REPORT, 60);
    // Links and pipes.
    symlink(elsewhere.path(), at("latest")).unwrap();
    fs::create_dir(at("linked")).unwrap();
    symlink(elsewhere.path().join("report.json"), at("linked/report.json")).unwrap();
    fs::create_dir(at("piped")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("piped/report.json"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let mut before = left(root.path());
    assert_eq!(pruned(root.path(), Some(1), Some(1), &[]), ["run-50"]);
    before.retain(|it| it != "run-50");
    assert_eq!(left(root.path()), before);
    assert!(elsewhere.path().join("report.json").is_file());
}

#[test]
fn links_in_a_folder_are_deleted_and_what_they_lead_to_stays() {
    let (root, elsewhere) = (root(&[1, 50]), tempfile::tempdir().unwrap());
    fs::write(elsewhere.path().join("precious.txt"), "x").unwrap();
    symlink(elsewhere.path(), root.path().join("run-50/link")).unwrap();
    symlink(elsewhere.path().join("precious.txt"), root.path().join("run-50/file")).unwrap();
    assert_eq!(pruned(root.path(), Some(1), None, &[]), ["run-50"]);
    assert!(elsewhere.path().join("precious.txt").is_file());
}

#[test]
fn a_series_goes_as_a_whole() {
    let root = root(&[1]);
    write(&root.path().join("series/repeats.json"), REPEATS, 50);
    write(&root.path().join("series/r1/report.json"), REPORT, 50);
    assert_eq!(pruned(root.path(), Some(1), None, &[]), ["series"]);
    assert_eq!(left(root.path()), ["run-1"]);
}

#[test]
fn of_two_launchers_each_folder_is_deleted_by_one() {
    let ages: Vec<u32> = (1..=60).collect();
    let root = root(&ages);
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| pruned(root.path(), Some(5), None, &[]).len())).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(counts.iter().sum::<usize>(), 55, "{counts:?}");
    assert_eq!(left(root.path()), ["run-1", "run-2", "run-3", "run-4", "run-5"]);
}

#[test]
fn what_a_killed_launcher_left_is_deleted() {
    let root = root(&[1]);
    write(&root.path().join(".deleted-0123-run-7/report.json"), REPORT, 7);
    assert!(pruned(root.path(), None, None, &[]).is_empty());
    assert_eq!(left(root.path()), ["run-1"]);
}
