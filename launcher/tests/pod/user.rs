//! A pod with a user as in OpenShift: an arbitrary UID without an entry in the user database, and group 0.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
};

use crate::pod::fixture::{Pod, files};

const UID: u32 = 1_000_680_000;

#[test]
fn an_arbitrary_user_of_group_0_runs_without_a_home() {
    let pod = Pod::new();
    pod.mount("target: {simulator: {preset: Tiny}}", |_| {});
    let owner = fs::metadata(pod.path("results")).unwrap();
    if owner.uid() != 0 || owner.gid() != 0 {
        eprintln!("skipped: only root can start a process of another user");
        return;
    }
    let allow = |name: &str, mode: u32| fs::set_permissions(pod.path(name), Permissions::from_mode(mode)).unwrap();
    allow(".", 0o755);
    allow("results", 0o2775);
    allow("message", 0o666);
    // Use a copy, because other users may not be able to read the folder of the built binary.
    fs::copy(env!("CARGO_BIN_EXE_benchwright"), pod.path("benchwright")).unwrap();
    allow("benchwright", 0o755);
    let mut command = std::process::Command::new(pod.path("benchwright"));
    command.args(pod.command().get_args()).current_dir(pod.path("input")).env_clear().uid(UID).gid(0);
    for home in [None, Some("/"), Some("/nonexistent")] {
        command.env_remove("HOME").envs(home.map(|it| ("HOME", it)));
        // Retry if the file is busy. A process that another test is just starting inherits the open file, and closes it only when it executes its own
        // program.
        let is_busy = |it: &std::io::Result<_>| matches!(it, Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy);
        let output = std::iter::repeat_with(|| command.output()).find(|it| !is_busy(it)).unwrap().unwrap();
        let core = pod.envelope().core;
        assert_eq!((output.status.code(), core.outcome), (Some(0), crds::Outcome::Passed), "{home:?}: {output:?}");
        assert!(core.folder.is_some(), "{core:?}");
    }
    let written = files(&pod.path("results"));
    assert!(written.iter().any(|it| it.ends_with("report.json")));
    assert!(written.iter().all(|it| fs::metadata(it).is_ok_and(|it| it.uid() == UID && it.gid() == 0)));
}
