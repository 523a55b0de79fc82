//! Sets BENCHWRIGHT_COMMIT to the commit of the binary. If the environment has that variable, its value is used. Otherwise it is what git reports for
//! this working tree, with `-dirty` if the sources were changed since the commit. Without git, it is `unknown`.

use std::{env, fs, path::Path, process::Command};

/// The files and folders from which the binary is built, relative to the root of the repository.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crds", "workload-profiles", "launcher"];
/// A git pathspec that excludes the tests, because they are not part of the binary.
const TESTS: &str = ":(top,exclude,glob)**/tests/**";

fn main() {
    println!("cargo::rerun-if-env-changed=BENCHWRIGHT_COMMIT");
    let given = env::var("BENCHWRIGHT_COMMIT").ok().filter(|it| !it.is_empty());
    let commit = given.or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BENCHWRIGHT_COMMIT={commit}");
}

fn of_git() -> Option<String> {
    // If this is not the folder `launcher` of its repository, the sources were copied into another repository, whose commit means nothing here.
    if git(&["rev-parse", "--show-prefix"])? != "launcher/" {
        return None;
    }
    // These files change with each commit and checkout. Where git keeps no logs, the file of the branch still changes with a commit.
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

/// Makes cargo rebuild when a file or folder changes. Of a crate, everything except the tests is watched, because tests are not part of the binary.
fn watch(path: &Path) {
    let parts = fs::read_dir(path).into_iter().flatten().flatten().map(|it| it.path());
    let parts: Vec<_> = parts.filter(|it| !it.ends_with("tests")).collect();
    let is_crate = parts.iter().any(|it| it.ends_with("Cargo.toml"));
    match is_crate {
        true => parts.iter().for_each(|it| watch(it)),
        false => println!("cargo::rerun-if-changed={}", path.display()),
    }
}

/// The output of a git command, without the line break at its end; `None` without git, and outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}
