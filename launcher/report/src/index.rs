//! [I/O] What a person finds beside the results folders on a laptop: `latest`, a link to the newest one, and `index.md`, a line
//! for each. Neither holds anything that the folders do not.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    process,
};

use super::{
    Report,
    folder::Stored,
    markdown::cell,
    text::{self, NOTHING, number, percentile, time},
};
use analysis::{Analysis, Figures};

/// Begins each table: a release with other columns begins another one.
const COLUMNS: &str = "\
| folder | profile | load | target | model | outcome | requests | failed or cancelled | TTFT p50 | TTFT p99 | ITL p99 | output tokens/s |
| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
";
/// More than this of an index is not searched for its columns; they are then written again.
const MAX_SEARCHED: u64 = 16 << 20;
/// So many stages are named.
const MAX_STAGES: usize = 4;

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

/// Adds a line, after a header where the file has none of these columns. A lock keeps two launchers apart; on a full disk the
/// file stays as it was.
fn append(path: &Path, row: &str) -> io::Result<()> {
    let mut file = File::options().read(true).append(true).create(true).open(path)?;
    file.lock()?;
    let before = file.metadata()?.len();
    let mut found = Vec::new();
    (&file).take(MAX_SEARCHED).read_to_end(&mut found)?;
    let has_columns = found.windows(COLUMNS.len()).any(|it| it == COLUMNS.as_bytes());
    let header = match (found.is_empty(), has_columns) {
        (true, _) => format!("# Runs\n\n`*`: {}.\n\n{COLUMNS}", text::LARGEST_MEANS),
        (false, true) => String::new(),
        (false, false) => format!("\n{COLUMNS}"),
    };
    file.write_all(format!("{header}{row}").as_bytes()).inspect_err(|_| {
        // What was there is worth more than the reason why this failed as well.
        let _ = file.set_len(before);
    })
}

fn row(report: &Report<'_>, stored: &Stored) -> String {
    let analysis = report.analysis;
    let cells = [
        format!("[{name}]({name}/report.md)", name = stored.name),
        cell(&text::profile(report.run)),
        cell(&load(report)),
        cell(report.run.endpoint.name()),
        cell(&analysis.model),
        outcome(report),
        analysis.all.requests.to_string(),
        (analysis.all.failed + analysis.all.cancelled).to_string(),
        of_stages(analysis, |it| it.ttft.map(|it| (it.p50.as_secs_f64(), percentile(time(it.p50), 500, it.count)))),
        of_stages(analysis, |it| it.ttft.map(|it| (it.p99.as_secs_f64(), percentile(time(it.p99), 990, it.count)))),
        of_stages(analysis, |it| it.itl.map(|it| (it.p99.as_secs_f64(), percentile(time(it.p99), 990, it.count)))),
        of_stages(analysis, |it| it.throughput.map(|it| (it.output_tokens, number(it.output_tokens)))),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A figure, given with its text; of several stages the least and the most.
fn of_stages(analysis: &Analysis, figure: impl Fn(&Figures) -> Option<(f64, String)>) -> String {
    let mut found: Vec<(f64, String)> = analysis.stages.iter().filter_map(|it| figure(&it.figures)).collect();
    found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    match (found.first(), found.last()) {
        (Some((_, least)), Some((_, most))) if least != most => format!("{least} to {most}"),
        (Some((_, one)), _) => one.clone(),
        _ => NOTHING.to_owned(),
    }
}

/// The names of the stages, which tell their rates or how many requests are under way: `c1, c2, c4 ... c64 (7 stages)`.
fn load(report: &Report<'_>) -> String {
    let names: Vec<&str> = report.workload.stages.iter().map(|it| it.name.as_str()).collect();
    match names.as_slice() {
        [first @ .., last] if names.len() > MAX_STAGES => {
            format!("{} ... {last} ({} stages)", first[..MAX_STAGES - 1].join(", "), names.len())
        }
        all => all.join(", "),
    }
}

/// The outcome, and what LoadGen says of each test.
fn outcome(report: &Report<'_>) -> String {
    let tests = report.loadgen.iter().flat_map(|it| it.verdicts());
    let tests: String = tests.map(|it| format!(", {} {}", it.scenario.name(), it.result)).collect();
    let goals = text::goals(report.analysis).map(|it| format!("; {}", it.text)).unwrap_or_default();
    format!("{}{tests}{goals}", report.analysis.verdict.outcome.name())
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
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Runs\n") && text.ends_with(&format!("\n\n{COLUMNS}| a |\n| b |\n")), "{text}");
    }

    #[test]
    fn an_index_of_another_release_gets_a_table_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("index.md");
        fs::write(&path, "# Runs\n\n| folder |\n| --- |\n| a |\n").unwrap();
        append(&path, "| b |\n").unwrap();
        append(&path, "| c |\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(&format!("| --- |\n| a |\n\n{COLUMNS}| b |\n| c |\n")), "{text}");
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
