//! The Makefile finds the files that cargo built, even if the environment sets another target folder.

use std::{path::Path, process::Command};

/// Returns the commands that a target would run.
fn recipe(target: &str, target_dir: Option<&str>) -> String {
    let mut make = Command::new("make");
    make.args(["--dry-run", target]).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    // make may also run this test itself. Remove its variables, because they would affect the call of make below.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("CARGO_TARGET_DIR");
    make.envs(target_dir.map(|it| ("CARGO_TARGET_DIR", it)));
    let done = make.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn binaries_are_looked_for_where_cargo_builds_them() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().display().to_string();
    for (target_dir, built) in [
        (None, format!("{repository}/target/")),
        (Some("/elsewhere/out"), "/elsewhere/out/".to_owned()),
        (Some("out"), format!("{repository}/out/")),
    ] {
        for (target, binary) in
            [("demo", "benchwright run"), ("loadgen-bridge", "debug/benchwright"), ("binaries", "benchwright-operator")]
        {
            let recipe = recipe(target, target_dir);
            let mut words = recipe.split_whitespace().filter(|it| it.contains(binary.split(' ').next().unwrap()));
            assert!(words.any(|it| it.contains(&built)), "{target} with {target_dir:?}: {recipe}");
        }
    }
}
