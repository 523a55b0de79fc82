//! Sets BENCHWRIGHT_COMMIT to the commit of the binary: the variable of that name, else what git reports for this working tree, with `-dirty` if the
//! sources were changed since; else `unknown`.

use std::{env, fs, path::Path, process::Command};

/// What the binary is made of, from the root of the repository.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crds", "workload-profiles", "launcher"];
/// Paths that git leaves out: the tests, which are not part of the binary.
const TESTS: &str = ":(top,exclude,glob)**/tests/**";

fn main() {
    println!("cargo::rerun-if-env-changed=BENCHWRIGHT_COMMIT");
    let given = env::var("BENCHWRIGHT_COMMIT").ok().filter(|it| !it.is_empty());
    let commit = given.or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BENCHWRIGHT_COMMIT={commit}");
}

fn of_git() -> Option<String> {
    // In another place this is a copy of the sources in somebody else's repository.
    if git(&["rev-parse", "--show-prefix"])? != "launcher/" {
        return None;
    }
    // A commit and a checkout write HEAD's log, where there is one.
    // The file of the branch changes with a commit also where git keeps no logs.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"])?;
    for file in ["HEAD", "logs/HEAD", &branch] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).is_file() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in SOURCES {
        watch(&Path::new("..").join(source));
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let sources: Vec<String> = SOURCES.iter().map(|it| format!(":/{it}")).chain([TESTS.to_owned()]).collect();
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let arguments: Vec<&str> = status.into_iter().chain(sources.iter().map(String::as_str)).collect();
    let suffix = if git(&arguments)?.is_empty() { "" } else { "-dirty" };
    Some(commit + suffix)
}

/// Watches a file, or the contents of a folder without the tests, which are not part of the binary.
fn watch(path: &Path) {
    let parts = fs::read_dir(path).into_iter().flatten().flatten().map(|it| it.path());
    let parts: Vec<_> = parts.filter(|it| !it.ends_with("tests")).collect();
    let is_crate = parts.iter().any(|it| it.ends_with("Cargo.toml"));
    match is_crate {
        true => parts.iter().for_each(|it| watch(it)),
        false => println!("cargo::rerun-if-changed={}", path.display()),
    }
}

/// What git prints, without the end of the line; `None`: there is no git, or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}
