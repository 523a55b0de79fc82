//! [I/O] `benchwright dataset`: describes a data set, and reports which benchmark and which `requests:` of a profile it fits.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use accuracy::benchmark::Benchmark;
use clap::Args;
use data_sets::describe::{Column, Description, Kind, Lengths, Role, describe};
use launcher::console;
use prompts::{token_count::TokenCount, tokenizer_file};
use serde::Serialize;
use workload_profiles::workload::DataSetFormat;

/// Default of the maximum tokens per answer, if the file has no answers whose length can be measured.
const DEFAULT_OUTPUT: u32 = 128;
/// Number of rows in gpt-oss-120b's performance data set. Answers to these rows are not scored.
const GPT_OSS_PERFORMANCE: u64 = 6396;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright dataset prompts.jsonl --tokenizer model/tokenizer.json")]
pub(crate) struct DatasetArgs {
    /// JSON, JSON Lines, CSV, Parquet, text, a pickle of pandas, npy or npz, also compressed; or a folder of padded arrays
    file: PathBuf,
    /// The model's tokenizer.json, or its folder: text lengths are then counted in tokens, not in words
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// Print the description as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    description: &'a Description,
    /// The unit of the text lengths.
    text_lengths_in: &'static str,
    fits: &'a [Fit],
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<&'a str>,
}

/// A benchmark whose columns match the file.
#[derive(Serialize)]
struct Fit {
    benchmark: &'static str,
    /// Number of rows in the benchmark's data set.
    rows: u64,
    /// Whether the file has as many rows as the benchmark's data set.
    whole: bool,
}

pub(crate) fn run(args: &DatasetArgs) -> anyhow::Result<()> {
    let tokens = match &args.tokenizer {
        Some(path) => TokenCount::Tokenizer(Arc::new(tokenizer_file::read(path)?.0)),
        None => TokenCount::Words,
    };
    let found = describe(&args.file, &tokens)?;
    let fits = fits(&found);
    let requests = requests(&found, &args.file);
    let counted_in = if args.tokenizer.is_some() { "tokens" } else { "words" };
    if args.json {
        let requests = requests.as_deref();
        let report = Report { description: &found, text_lengths_in: counted_in, fits: &fits, requests };
        return Ok(console::print(serde_json::to_string_pretty(&report)? + "\n")?);
    }
    Ok(console::print(text(&found, &fits, requests.as_deref(), counted_in, &args.file))?)
}

/// Returns the MLPerf benchmarks whose columns match the file. If the number of rows matches some of them, returns only those.
fn fits(found: &Description) -> Vec<Fit> {
    let has = |names: &[&str]| names.is_empty() || found.columns.iter().any(|it| names.contains(&it.name.as_str()));
    let has_tokens = found.columns.iter().any(|it| it.role == Some(Role::Tokens));
    let has_columns = |it: &Benchmark| has_tokens && has(it.expected_columns()) && has(it.kind_columns());
    let fit = |it: Benchmark| {
        let rows = it.samples()?;
        let whole = rows == found.rows || it == Benchmark::GptOss120b && found.rows == GPT_OSS_PERFORMANCE;
        Some(Fit { benchmark: it.name(), rows, whole })
    };
    let mut fits: Vec<Fit> = Benchmark::ALL.into_iter().filter(has_columns).filter_map(fit).collect();
    if fits.iter().any(|it| it.whole) {
        fits.retain(|it| it.whole);
    }
    fits
}

fn with_role(found: &Description, role: Role) -> Option<&Column> {
    found.columns.iter().find(|it| it.role == Some(role))
}

/// Returns the `requests:` of a profile that sends the file. `None` if no column is known to contain prompts.
fn requests(found: &Description, file: &Path) -> Option<String> {
    let (row, is_conversation) = if let Some(column) = with_role(found, Role::Tokens) {
        (format!("{{prompt: {{name: {}, form: tokenIds}}}}", quoted(&column.name)), false)
    } else if let Some(column) = with_role(found, Role::Chat) {
        (format!("{{conversation: {{column: {}, send: allButLast}}}}", quoted(&column.name)), true)
    } else {
        (format!("{{prompt: {}}}", quoted(&with_role(found, Role::Text)?.name)), false)
    };
    let texts = |it: &&Column| it.kinds.iter().all(|it| it.0 == Kind::Text);
    let output = if let Some(column) = with_role(found, Role::OutputLength) {
        format!("{{column: {}}}", quoted(&column.name))
    } else if is_conversation {
        "answer".to_owned()
    } else if let Some(column) = with_role(found, Role::Expected).filter(texts) {
        format!("{{textOf: {}}}", quoted(&column.name))
    } else {
        format!("{DEFAULT_OUTPUT}   # the maximum tokens per answer")
    };
    let mut yaml = String::from("requests:\n  dataSet:\n");
    let _ = writeln!(yaml, "    file: {}", quoted(&file.to_string_lossy()));
    if DataSetFormat::from_path(file) != Some(found.format) {
        let _ = writeln!(yaml, "    format: {}", found.format.word());
    }
    let _ = writeln!(yaml, "    row: {row}\n    output: {output}");
    Some(yaml)
}

/// Quotes a word for YAML, if it could be read as another type.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '/' | '.' | '-');
    let starts = word.chars().next().is_some_and(|it| it.is_ascii_alphabetic() || matches!(it, '/' | '_' | '.'));
    let is_word = !matches!(word, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if starts && is_word && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        serde_json::Value::from(word).to_string()
    }
}

fn role_name(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Tokens) => "prompts as token ids",
        Some(Role::Text) => "prompts as text",
        Some(Role::Expected) => "expected answers",
        Some(Role::Chat) => "conversations",
        Some(Role::OutputLength) => "lengths of answers",
        None => "",
    }
}

fn kinds(column: &Column) -> String {
    let mut names: Vec<String> = match column.kinds.as_slice() {
        [(kind, _)] => vec![kind.name().to_owned()],
        several => several.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect(),
    };
    if column.missing > 0 {
        names.push(format!("{} missing", column.missing));
    }
    names.join(", ")
}

/// Formats rows as a table. Each column is as wide as its longest cell. The first `left` columns are left-aligned, the others right-aligned.
fn table(rows: &[Vec<String>], left: usize) -> String {
    let width =
        |place: usize| rows.iter().filter_map(|it| it.get(place)).map(|it| it.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if place < left { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the lengths of a column's texts, or the minimum and maximum of its numbers.
fn figures(column: &Column) -> Vec<String> {
    match column.numbers {
        Some([low, high]) if column.lengths.is_none() => {
            let mut row = vec![String::new(); 6];
            (row[0], row[5]) = (low.to_string(), high.to_string());
            row
        }
        _ => lengths_row(column.lengths),
    }
}

fn lengths_row(lengths: Option<Lengths>) -> Vec<String> {
    let Some(Lengths { min, mean, p50, p90, p99, max }) = lengths else { return vec![String::new(); 6] };
    vec![min.to_string(), format!("{mean:.1}"), p50.to_string(), p90.to_string(), p99.to_string(), max.to_string()]
}

fn text(found: &Description, fits: &[Fit], requests: Option<&str>, counted_in: &str, file: &Path) -> String {
    let mut text = format!("{}: {}, {} rows\n", file.display(), found.format.word(), found.rows);
    if let (Some(bytes), Some(sha256)) = (found.file.bytes, &found.file.sha256) {
        let _ = writeln!(text, "{bytes} bytes, SHA-256 {sha256}");
    }
    for notice in &found.notices {
        let _ = writeln!(text, "note: {notice}");
    }
    if let Some(labels) = found.labels {
        let _ = writeln!(text, "note: rows are identified by labels ({labels}) instead of their positions");
    }
    let head = ["column", "holds", "for", "min", "mean", "p50", "p90", "p99", "max"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    for column in &found.columns {
        let mut row = vec![column.name.clone(), kinds(column), role_name(column.role).to_owned()];
        row.extend(figures(column));
        rows.push(row);
        if column.turns.is_some() {
            let mut row = vec![String::new(), "turns".to_owned(), String::new()];
            row.extend(lengths_row(column.turns));
            rows.push(row);
        }
    }
    let _ = write!(text, "\n{}", table(&rows, 3));
    let _ = writeln!(
        text,
        "\nText lengths are in {counted_in}; the length of a list of token ids is in tokens. For numbers, min and max are shown."
    );
    if found.other_columns > 0 {
        let _ = writeln!(text, "{} more columns are not described.", found.other_columns);
    }
    match fits {
        [] => text.push_str("\nNo benchmark of MLPerf has these columns.\n"),
        [first, ..] if first.whole => {
            for fit in fits {
                let _ = writeln!(
                    text,
                    "\nIts columns and number of rows are those of MLPerf's data set for {}.",
                    fit.benchmark
                );
            }
        }
        fits => {
            let all: Vec<String> = fits.iter().map(|it| format!("{} ({} rows)", it.benchmark, it.rows)).collect();
            let _ = writeln!(
                text,
                "\nIt has the columns of MLPerf's data set for {}, but another number of rows.",
                all.join(", ")
            );
        }
    }
    if let (Some(tokens), [_, ..]) = (with_role(found, Role::Tokens), fits) {
        let path = quoted(&file.to_string_lossy());
        let name = quoted(&tokens.name);
        let _ = writeln!(
            text,
            "\nA LoadGen test (harness loadgen) sends it with:\n\ndataset:\n  file: {{path: {path}, column: {name}, form: tokenIds}}\nqsl: {{total_sample_count: {}}}",
            found.rows
        );
    }
    match requests {
        Some(yaml) => {
            let _ =
                write!(text, "\nA profile in Benchwright's own format (harness benchwright) sends it with:\n\n{yaml}");
        }
        None => text.push_str(
            "\nNo column is known to hold prompts; name one in requests.dataSet.row of a profile, as {prompt: NAME}.\n",
        ),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_yaml_would_read_something_else() {
        for (word, expected) in [
            ("tok_input", "tok_input"),
            ("/data/a b.json", "\"/data/a b.json\""),
            ("0", "\"0\""),
            ("n", "\"n\""),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
