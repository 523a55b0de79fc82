//! Presents how servers started, with one column per log or per group of logs. The rows form one table that Markdown, the terminal and the page
//! share.

use std::{fmt::Write as _, io};

use crds::wording::one_line;
use document::{PodStart, ServerStart, SleepCycle};
use startup::{Figure, Outcome, Server, SleepWakeKind, Startup, StepName, Unit};

use crate::{
    markup::cell,
    text_table::{add_row, fitted_beside, new_table},
};

/// Maximum length of column names in a table, in characters. If a name is longer, letters replace all names, and a legend above the table explains
/// the letters.
const LONGEST_NAME: usize = 16;
/// Maximum length of the column name in a table with only one column, in characters.
const LONGEST_ONLY_NAME: usize = 40;
/// Minimum width for the names of rows, in characters. Nearly all names fit.
const ROW_NAMES: u16 = 28;

/// A column of the table, for one or more starts.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    pub name: String,
    pub starts: Vec<Start<'a>>,
}

/// A server start as its log describes it, and what the launcher observed about it.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub startup: &'a Startup,
    /// Seconds from the launch of the server's process to its first answer, as in [`ServerStart`].
    pub observed_ready_seconds: Option<f64>,
    /// The pairs of a sleep and a wake that the run requested, as in [`ServerStart`].
    pub sleep_cycles: &'a [SleepCycle],
    pub pod: Option<PodStart>,
}

/// The name of a row, and one cell per column.
pub type Row = (String, Vec<String>);

/// The durations of one part of a start, in seconds. They can be drawn as a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    /// Whether this part is contained in the part before it.
    pub is_nested: bool,
    /// The mean per column; `None` if no start in the column has this part.
    pub seconds: Vec<Option<f64>>,
    /// The means with their spread, as text.
    pub texts: Vec<String>,
}

/// The result file of llm-d-benchmark's harness `nop`, which measures how a server starts. A run that measures that has this file in its results
/// folder.
pub const RESULT_FILE_NAME: &str = "result.yaml";

/// Returns the text of `result.yaml`.
///
/// # Errors
/// The results cannot be written as YAML, which is a defect of this program.
pub fn result_yaml(starts: &[ServerStart]) -> io::Result<String> {
    let names: Vec<String> = starts.iter().map(|it| format!("server {}", it.server)).collect();
    let startups: Vec<Startup> = starts.iter().map(ServerStart::with_sleeps).collect();
    let server = |((start, startup), name)| -> Server<'_> {
        let (start, startup, name): (&ServerStart, &Startup, &String) = (start, startup, name);
        // Outside a cluster there is no pod, so this is the time from the launch of the server's process.
        let pod_start_seconds = start.pod.map_or(start.observed_ready_seconds, |it| it.ready_seconds);
        Server { name, image: None, pod_start_seconds, startup }
    };
    let servers: Vec<Server<'_>> = starts.iter().zip(&startups).zip(&names).map(server).collect();
    serde_saphyr::to_string(&startup::result(&servers)).map_err(io::Error::other)
}

/// A column for each server of a run.
pub fn columns(starts: &[ServerStart]) -> Vec<Column<'_>> {
    starts
        .iter()
        .map(|it| Column {
            name: format!("server {}", it.server),
            starts: vec![Start {
                startup: &it.startup,
                observed_ready_seconds: it.observed_ready_seconds,
                sleep_cycles: &it.sleep_cycles,
                pod: it.pod,
            }],
        })
        .collect()
}

/// The times until a server was ready, and all steps that occur in any start.
pub fn parts(columns: &[Column<'_>]) -> Vec<Part> {
    let part = |name: &str, is_nested: bool, of: &dyn Fn(&Start<'_>) -> Option<f64>| {
        let found: Vec<Vec<f64>> = columns.iter().map(|it| it.starts.iter().filter_map(of).collect()).collect();
        let texts = columns.iter().zip(&found).map(|(column, it)| spread(it, column.starts.len(), Unit::Seconds));
        Part {
            name: name.to_owned(),
            is_nested,
            seconds: found.iter().map(|it| mean(it)).collect(),
            texts: texts.collect(),
        }
    };
    let mut parts = vec![
        part("pod: created to node", false, &|it| it.pod?.scheduling_seconds),
        part("pod: node to container", false, &|it| it.pod?.container_seconds),
        part("launch to ready", false, &|it| it.observed_ready_seconds),
        part("start to ready", false, &|it| it.startup.ready_seconds),
    ];
    let step = |name: StepName| {
        part(name.name(), name.within().is_some(), &move |it| it.startup.step(name).map(|it| it.seconds))
    };
    parts.extend(StepName::ALL.into_iter().map(step));
    parts.push(part("no step", false, &|it| it.startup.uncategorized_seconds));
    parts.retain(|it| it.seconds.iter().any(Option::is_some));
    parts
}

/// All rows: what was started, the durations of its parts, and what the engine printed.
pub fn rows(columns: &[Column<'_>]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut texts = |name: &str, of: &dyn Fn(&Startup) -> Option<String>| {
        let cells: Vec<String> = columns.iter().map(|it| distinct(it, of)).collect();
        if cells.iter().any(|it| !it.is_empty()) {
            rows.push((name.to_owned(), cells));
        }
    };
    texts("outcome", &|it| Some(it.outcome.name().to_owned()));
    texts("engine", &|it| {
        Some(format!("{} {}", it.engine?.title(), it.version.as_deref().unwrap_or_default()).trim_end().to_owned())
    });
    texts("model", &|it| it.model.clone());
    texts("load format", &|it| it.load_format.clone());
    let name = |it: &Part| if it.is_nested { format!("- {}", it.name) } else { it.name.clone() };
    rows.extend(parts(columns).into_iter().map(|it| (name(&it), it.texts)));
    let mut numbers = |name: String, unit: Unit, of: &dyn Fn(&Start<'_>) -> Option<f64>| {
        let cell = |it: &Column<'_>| {
            let found: Vec<f64> = it.starts.iter().filter_map(of).collect();
            spread(&found, it.starts.len(), unit)
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        if cells.iter().any(|it| !it.is_empty()) {
            rows.push((name, cells));
        }
    };
    for figure in Figure::ALL {
        numbers(format!("printed: {}", figure.name()), figure.unit(), &|it| it.startup.figures.get(&figure).copied());
    }
    numbers("load rate, GiB/s".to_owned(), Unit::Tokens, &|it| it.startup.transfer_rate());
    for kind in [SleepWakeKind::Sleep, SleepWakeKind::Wake] {
        let of = |it: &Start<'_>| {
            let found: Vec<f64> =
                it.startup.sleep_wake.iter().filter(|it| it.kind == kind).map(|it| it.seconds).collect();
            mean(&found)
        };
        numbers(format!("printed: {}", kind.name()), Unit::Seconds, &of);
    }
    type Measured = fn(&SleepCycle) -> Option<f64>;
    let measured: [(&str, Measured); 4] = [
        ("sleep", |it| it.sleep_seconds),
        ("wake", |it| it.wake_seconds),
        ("reload during wake", |it| it.reload_seconds),
        ("request after wake", |it| it.first_request_seconds),
    ];
    for level in [1, 2] {
        for (name, of) in measured {
            let of = |it: &Start<'_>| it.sleep_cycles.iter().find(|it| it.level == level).and_then(of);
            numbers(format!("level {level}: {name}"), Unit::Seconds, &of);
        }
    }
    rows
}

/// Notes, such as why a start failed, where a step begins and ends, or how a log was read.
pub fn notes(columns: &[Column<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for column in columns {
        for Start { startup, sleep_cycles, .. } in &column.starts {
            let mut note = |text: String| notes.push(format!("{}: {}", column.name, one_line(&text)));
            if let Some(failure) = &startup.failure {
                let process = failure.process.as_ref().map(|it| format!(" in {}", it.text())).unwrap_or_default();
                let line = failure.line.map(|it| format!(", line {it}")).unwrap_or_default();
                match &failure.error {
                    Some(error) => note(format!("{}{process}{line}: {error}", startup.outcome.name())),
                    None => note(startup.outcome.name().to_owned()),
                }
                note(format!("the last line of the log: {}", failure.last_line));
            }
            if startup.outcome == Outcome::Ready && startup.ready.is_none() {
                note("the log does not say when the server was ready".to_owned());
            }
            for step in &startup.steps {
                if let (begin, Some(end)) = (&step.process, &step.ended_by) {
                    let begin = begin.as_ref().map_or("a process without a name".to_owned(), |it| it.text());
                    note(format!("{} begins in {begin} and ends in {}", step.name.name(), end.text()));
                }
                if step.processes > 1 {
                    note(format!("{} is the value of the last of {} processes", step.name.name(), step.processes));
                }
            }
            if startup.log.earlier_starts > 0 {
                note(format!("only the last of {} starts in the log is shown", startup.log.earlier_starts + 1));
            }
            if startup.log.cut_lines > 0 {
                note(format!("lines that were too long and were cut: {}", startup.log.cut_lines));
            }
            startup.log.notices.iter().for_each(|it| note(it.clone()));
            for cycle in *sleep_cycles {
                cycle.remark.iter().for_each(|it| note(format!("sleep of level {}: {it}", cycle.level)));
            }
        }
    }
    notes.dedup();
    notes
}

/// Returns column heads that fit into a table. If they are letters, also returns a legend.
fn heads(columns: &[Column<'_>]) -> (Vec<String>, Vec<String>) {
    let longest = if columns.len() == 1 { LONGEST_ONLY_NAME } else { LONGEST_NAME };
    if columns.iter().all(|it| it.name.chars().count() <= longest) {
        return (columns.iter().map(|it| one_line(&it.name)).collect(), Vec::new());
    }
    let letter = |index: usize| match u8::try_from(index) {
        Ok(index) if index < 26 => char::from(b'A' + index).to_string(),
        _ => (index + 1).to_string(),
    };
    let legend = columns.iter().enumerate().map(|(index, it)| format!("{}: {}", letter(index), one_line(&it.name)));
    ((0..columns.len()).map(letter).collect(), legend.collect())
}

/// The table for a terminal, with a final line break.
pub fn text(columns: &[Column<'_>]) -> String {
    let (heads, legend) = heads(columns);
    let header: Vec<&str> = std::iter::once("").chain(heads.iter().map(String::as_str)).collect();
    let mut table = new_table(&header);
    for (name, cells) in rows(columns) {
        add_row(&mut table, name, cells.iter().map(|it| one_line(it)));
    }
    let mut text = legend.iter().map(|it| format!("{it}\n")).collect::<String>();
    let _ = writeln!(text, "{}", fitted_beside(table, ROW_NAMES));
    let named = columns.iter().zip(heads).map(|(it, name)| Column { name, starts: it.starts.clone() });
    for note in notes(&named.collect::<Vec<_>>()) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The table in Markdown.
pub fn markdown(columns: &[Column<'_>]) -> String {
    let heads: Vec<String> = columns.iter().map(|it| cell(&it.name)).collect();
    let mut text = format!("| | {} |\n", heads.join(" | "));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(columns.len()));
    for (name, cells) in rows(columns) {
        let cells: Vec<String> = cells.iter().map(|it| cell(it)).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    let notes = notes(columns);
    if !notes.is_empty() {
        text.push('\n');
        notes.iter().for_each(|it| text.push_str(&format!("- {}\n", cell(it))));
    }
    text
}

/// The distinct texts of a column, in order.
fn distinct(column: &Column<'_>, of: &dyn Fn(&Startup) -> Option<String>) -> String {
    let mut found: Vec<String> = Vec::new();
    for text in column.starts.iter().filter_map(|it| of(it.startup)) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found.join(", ")
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean. If there are several values, also the minimum and the maximum. If some starts have no value, also the number of values.
fn spread(values: &[f64], of: usize, unit: Unit) -> String {
    let Some(mean) = mean(values) else { return String::new() };
    let shown = shown_in(mean, unit);
    let mut text =
        if shown.name.is_empty() { shown.digits(mean) } else { format!("{} {}", shown.digits(mean), shown.name) };
    if values.len() > 1 {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let _ = write!(text, " ({} to {})", shown.digits(least), shown.digits(greatest));
    }
    if values.len() < of {
        let _ = write!(text, ", {} of {of}", values.len());
    }
    text
}

/// The unit in which values are shown, and the factor to convert to it.
struct Shown {
    name: &'static str,
    factor: f64,
}

/// Times below a tenth of a second are shown in milliseconds. Exception: `0 s` stays in seconds, because it comes from a log with whole seconds.
fn shown_in(mean: f64, unit: Unit) -> Shown {
    match unit {
        Unit::Tokens => Shown { name: "", factor: 1.0 },
        Unit::Seconds if mean > 0.0 && mean < 0.1 => Shown { name: "ms", factor: 1e3 },
        unit => Shown { name: unit.name(), factor: 1.0 },
    }
}

impl Shown {
    fn digits(&self, value: f64) -> String {
        let value = value * self.factor;
        match self.name {
            // A measured time is never exactly zero, so a shorter one is shown as `<1`.
            "ms" if value > 0.0 && value < 1.0 => "<1".to_owned(),
            "ms" => format!("{value:.0}"),
            _ => digits(value),
        }
    }
}

/// Rounds to three decimals below 0.1, two below 10, one below 1,000, and none above. Removes trailing zeros.
fn digits(value: f64) -> String {
    let decimals = match value {
        it if it < 0.1 => 3,
        it if it < 10.0 => 2,
        it if it < 1000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &[u8] = include_bytes!("../../startup/tests/logs/composed-vllm-0.10-gpu-debug.log");
    const COLD: &[u8] = include_bytes!("../../startup/tests/logs/vllm-0.32.0-cold-compile-info.log");
    const SECOND: &[u8] = include_bytes!("../../startup/tests/logs/vllm-0.32.0-compile-second-start-info.log");
    const FAILED: &[u8] = include_bytes!("../../startup/tests/logs/vllm-0.32.0-failed-start-bad-block-size.log");

    fn read(log: &[u8]) -> Startup {
        let reference = jiff::civil::date(2026, 12, 1).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        startup::read_bytes(log, &reference)
    }

    fn column<'a>(name: &str, starts: &[&'a Startup]) -> Column<'a> {
        let start =
            |it: &&'a Startup| Start { startup: it, observed_ready_seconds: None, sleep_cycles: &[], pod: None };
        Column { name: name.to_owned(), starts: starts.iter().map(start).collect() }
    }

    #[track_caller]
    fn assert_row(columns: &[Column<'_>], name: &str, cells: &[&str]) {
        let rows = rows(columns);
        let found = rows.iter().find(|it| it.0 == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"));
        assert_eq!(found.1, cells, "{name}");
    }

    #[test]
    fn logs_stand_beside_each_other() {
        let (cold, gpu) = (read(COLD), read(GPU));
        let columns = [column("cpu", &[&cold]), column("gpu", &[&gpu])];
        assert_row(&columns, "engine", &["vLLM 0.32.0", "vLLM 0.10.0"]);
        assert_row(&columns, "start to ready", &["70 s", "105 s"]);
        assert_row(&columns, "Model Loading", &["1 s", "6 s"]);
        assert_row(&columns, "- Inductor", &["", "29 s"]);
        assert_row(&columns, "printed: KV cache in tokens", &["1048576", "451744"]);
        assert_row(&columns, "load rate, GiB/s", &["", "2.87"]);
        assert_row(&columns, "printed: wake", &["", "0.41 s"]);
    }

    #[test]
    fn several_starts_of_a_column_have_a_mean_and_what_they_spread_over() {
        let (cold, second, failed) = (read(COLD), read(SECOND), read(FAILED));
        let columns = [column("all", &[&cold, &second, &failed])];
        assert_row(&columns, "outcome", &["ready, failed"]);
        assert_row(&columns, "start to ready", &["65.5 s (61 to 70), 2 of 3"]);
        assert_row(&columns, "Warm-up", &["26.5 s (25 to 28), 2 of 3"]);
    }

    #[test]
    fn a_failed_start_has_its_last_words() {
        let failed = read(FAILED);
        let text = text(&[column("a", &[&failed])]);
        assert!(
            text.contains("note: a: failed in Worker pid=13495, line 76: ValueError: No common block size for 16"),
            "{text}"
        );
    }

    #[test]
    fn sleeps_and_wakes_that_were_measured_have_rows_by_level() {
        let deep = SleepCycle {
            level: 2,
            sleep_seconds: Some(1.5),
            wake_seconds: Some(12.0),
            reload_seconds: Some(11.0),
            first_request_seconds: Some(0.25),
            ..SleepCycle::default()
        };
        let failed = SleepCycle { level: 1, remark: Some("/wake_up was refused: 500".into()), ..SleepCycle::default() };
        let start = ServerStart {
            server: "0".into(),
            log: Some("server/0.log".into()),
            observed_ready_seconds: None,
            pod: None,
            startup: read(COLD),
            sleep_cycles: vec![failed, deep],
        };
        let starts = [start];
        let columns = columns(&starts);
        assert_row(&columns, "level 2: sleep", &["1.5 s"]);
        assert_row(&columns, "level 2: reload during wake", &["11 s"]);
        assert_row(&columns, "level 2: request after wake", &["0.25 s"]);
        assert!(!rows(&columns).iter().any(|it| it.0.starts_with("level 1")), "it has no value");
        let expected = "server 0: sleep of level 1: /wake_up was refused: 500";
        assert!(notes(&columns).iter().any(|it| it == expected), "{:?}", notes(&columns));
        let yaml = result_yaml(&starts).unwrap();
        assert!(yaml.contains("type: sleep\n") && yaml.contains("time: 12.0"), "{yaml}");
    }

    #[test]
    fn short_times_are_in_milliseconds() {
        let cell = |values: &[f64]| spread(values, values.len(), Unit::Seconds);
        assert_eq!(cell(&[0.001_75]), "2 ms");
        assert_eq!(cell(&[0.000_2]), "<1 ms");
        assert_eq!(cell(&[0.099]), "99 ms");
        assert_eq!(cell(&[0.1]), "0.1 s");
        assert_eq!(cell(&[0.002, 0.12]), "61 ms (2 to 120)");
        assert_eq!(cell(&[0.004, 0.6]), "0.3 s (0.004 to 0.6)");
        // A log with whole seconds can contain this value.
        assert_eq!(cell(&[0.0]), "0 s");
    }

    #[test]
    fn the_names_of_rows_keep_their_room() {
        let cold = Startup { model: Some("/models/".to_owned() + &"deep/".repeat(20)), ..read(COLD) };
        let name = "/a/rather/long/path/".repeat(5);
        let text = text(&[column(&name, &[&cold])]);
        assert!(text.starts_with(&format!("A: {name}\n")), "{text}");
        assert!(text.lines().any(|it| it.starts_with(" printed: KV cache in tokens ")), "{text}");
    }

    #[test]
    fn long_names_have_letters() {
        let cold = read(COLD);
        let columns = [column("a-rather-long-name-of-a-log", &[&cold]), column("b", &[&cold])];
        let text = text(&columns);
        assert!(text.starts_with("A: a-rather-long-name-of-a-log\nB: b\n"), "{text}");
        assert!(text.contains("\nnote: A: Worker Initialization begins in EngineCore pid=19158"), "{text}");
        assert!(
            markdown(&columns).starts_with(
                "| | a-rather-long-name-of-a-log | b |\n| --- | ---: | ---: |\n| outcome | ready | ready |"
            )
        );
    }
}
