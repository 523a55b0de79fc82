//! [I/O] What a person finds beside the results folders on a laptop: `latest`, a link to the newest one, and `index.md`, a line
//! for each. Neither holds anything that the folders do not.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    process,
};

use super::{Report, folder::Stored, markdown::cell, text};

const HEADER: &str = "\
# Runs

| folder | profile | model | outcome | requests | errors | TTFT p99 | ITL p99 | output tokens/s |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
";

/// Points `latest` at a folder and adds its line to `index.md`.
///
/// # Errors
/// The root cannot be written, or its file system knows no links. The folder itself is whole all the same.
pub fn add(root: &Path, report: &Report<'_>, stored: &Stored) -> io::Result<()> {
    append(&root.join("index.md"), &row(report, stored))?;
    point_latest(root, &stored.name)
}

/// The link is made under another name and renamed, so that `latest` always leads somewhere.
fn point_latest(root: &Path, name: &str) -> io::Result<()> {
    let temporary = root.join(format!(".latest.{}.tmp", process::id()));
    let made = std::os::unix::fs::symlink(name, &temporary);
    let done = made.and_then(|()| fs::rename(&temporary, root.join("latest")));
    if done.is_err() {
        // It may not exist, and the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Adds a line, after a header where the file is new. A lock keeps two launchers apart; on a full disk the file stays as it was.
fn append(path: &Path, row: &str) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.lock()?;
    let before = file.metadata()?.len();
    let header = if before == 0 { HEADER } else { "" };
    file.write_all(format!("{header}{row}").as_bytes()).inspect_err(|_| {
        // What was there is worth more than the reason why this failed as well.
        let _ = file.set_len(before);
    })
}

fn row(report: &Report<'_>, stored: &Stored) -> String {
    let summary = report.analysis.summary();
    let p99 = |quantiles: Option<crds::Quantiles>| text::optional(quantiles, |it| it.p99.to_string());
    format!(
        "| [{name}]({name}/report.md) | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        cell(&report.run.profile_source),
        cell(&report.analysis.model),
        outcome(report),
        summary.requests,
        summary.errors,
        p99(summary.ttft),
        p99(summary.itl),
        text::optional(summary.output_tokens_per_second, |it| it),
        name = stored.name,
    )
}

/// The outcome, and what LoadGen says of each test.
fn outcome(report: &Report<'_>) -> String {
    let tests = report.loadgen.iter().flat_map(|it| it.verdicts());
    let tests: String = tests.map(|it| format!(", {} {}", it.scenario.name(), it.result)).collect();
    format!("{}{tests}", report.analysis.verdict.outcome.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_gets_one_header_and_a_line_each() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("index.md");
        append(&path, "| a |\n").unwrap();
        append(&path, "| b |\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEADER}| a |\n| b |\n"));
    }

    #[test]
    fn latest_follows_the_newest_folder() {
        let root = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            fs::create_dir(root.path().join(name)).unwrap();
            point_latest(root.path(), name).unwrap();
            assert_eq!(fs::read_link(root.path().join("latest")).unwrap(), Path::new(name));
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    }
}
