//! `benchwright prune`, called like a user would.

use std::{fs, os::unix::fs::symlink};

use predicates::str::contains;

use crate::common::{Folder, put_finished};

fn folder(ages: &[u32]) -> Folder {
    let folder = Folder::new();
    for age in ages {
        put_finished(&folder.path("results"), &format!("run-{age}"), *age);
    }
    folder
}

fn left(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("results")).unwrap();
    let mut names: Vec<String> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn old_folders_go_and_a_dry_run_says_which() {
    let folder = folder(&[1, 5, 9]);
    let said = "would delete run-9\nwould delete run-5\nwould delete 2 of 3 finished folders in results\n";
    folder.benchwright(&["prune", "results", "--keep-runs", "1", "--dry-run"]).assert().success().stdout(said);
    assert_eq!(left(&folder), ["run-1", "run-5", "run-9"]);
    let said = "deleted run-9\ndeleted 1 of 3 finished folders in results\n";
    folder.benchwright(&["prune", "results", "--keep-days", "7"]).assert().success().stdout(said);
    assert_eq!(left(&folder), ["run-1", "run-5"]);
}

#[test]
fn the_run_that_latest_leads_to_stays_and_the_page_has_no_row_of_what_went() {
    let folder = folder(&[1, 5, 9]);
    symlink("run-9", folder.path("results/latest")).unwrap();
    folder.benchwright(&["index", "results"]).assert().success();
    folder.benchwright(&["prune", "results", "--keep-runs", "1"]).assert().success().stdout(contains("deleted run-5"));
    assert_eq!(left(&folder), ["index.html", "latest", "run-1", "run-9"]);
    let page = fs::read_to_string(folder.path("results/index.html")).unwrap();
    assert!(page.contains("run-9") && !page.contains("run-5"));
}

#[test]
fn a_command_without_a_limit_or_a_folder_deletes_nothing() {
    let folder = folder(&[1, 5]);
    for (arguments, said) in [
        (&["prune", "results"][..], "--keep-runs"),
        (&["prune", "results", "--keep-runs", "0"], "0"),
        (&["prune", "nowhere", "--keep-runs", "1"], "give the folder that holds the results folders"),
    ] {
        folder.benchwright(arguments).assert().code(10).stderr(contains(said));
    }
    assert_eq!(left(&folder), ["run-1", "run-5"]);
}
