//! [I/O] `benchwright startup`: shows how servers started, based on their logs.

use std::{
    fs,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use charts::{png, svg::draw_ranking};
use clap::{Args, ValueEnum};
use crds::server_engine::ServerEngine;
use files::{user_file, write_whole};
use jiff::{Timestamp, tz::TimeZone};
use launcher::console;
use report::startup::{Column, Start, markdown, text};
use serde_json::{Value, json};
use startup::{Outcome, Server, Startup};

/// Width of the picture, in pixels.
const WIDTH: f64 = 860.0;
/// Number of PNG pixels per pixel of the picture.
const SCALE: f64 = 2.0;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright startup cold=first.log warm=second.log
  benchwright startup server.log --format json")]
pub(crate) struct StartupArgs {
    /// Logs of servers. Each file name becomes the name of a column. With NAME=FILE, logs with the same name are starts of one kind, such as
    /// cold or warm: they share one column, with means
    #[arg(value_name = "[NAME=]FILE", required = true)]
    logs: Vec<String>,
    /// What is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write startup.json, startup.md, result.yaml and the picture startup.svg and .png into this folder as well
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The time zone of the server, such as UTC or Europe/Vienna: the log does not name it [default: this machine's time zone]
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    time_zone: Option<TimeZone>,
    /// When the log ended, such as 2026-11-21T02:10:00Z: log lines have no year [default: when the file was last written]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Text,
    /// Everything that was read
    Json,
    /// The same
    Yaml,
    /// The file of llm-d-benchmark's nop
    #[value(name = "result.yaml")]
    ResultYaml,
}

/// A log file that was read.
struct Read {
    /// The name of the log's column.
    name: String,
    path: PathBuf,
    startup: Startup,
}

pub(crate) fn run(args: &StartupArgs) -> anyhow::Result<()> {
    let logs = named(&args.logs).into_iter().map(|(name, path)| read(name, path, args));
    let logs: Vec<Read> = logs.collect::<anyhow::Result<_>>()?;
    let columns = columns(&logs);
    if let Some(folder) = &args.output {
        write(folder, &logs, &columns)
            .with_context(|| format!("cannot write into {}; choose another folder with --output", folder.display()))?;
    }
    let printed = match args.format {
        Format::Text => text(&columns),
        Format::Json => json_text(&logs)?,
        Format::Yaml => serde_saphyr::to_string(&document(&logs)?)?,
        Format::ResultYaml => result_yaml(&logs)?,
    };
    console::print(printed)?;
    let unknown: Vec<String> = logs.iter().filter(|it| it.is_unknown()).map(|it| no_known_line(&it.path)).collect();
    if unknown.len() == logs.len() {
        anyhow::bail!(unknown.join("\n"));
    }
    unknown.iter().for_each(|it| console::say(format_args!("benchwright: {it}")));
    Ok(())
}

fn no_known_line(path: &Path) -> String {
    let engines: Vec<_> = ServerEngine::with_startup_log().map(|(engine, _)| engine.title()).collect();
    format!(
        "{}: has no known log line of {}; give all output of such a server from its start, stdout and stderr, at level INFO or \
         DEBUG, for example by `kubectl logs POD > server.log`",
        path.display(),
        engines.join(" or ")
    )
}

impl Read {
    /// Whether the log contains neither a line of a known engine nor a failure.
    fn is_unknown(&self) -> bool {
        self.startup.engine.is_none() && self.startup.outcome == Outcome::Unfinished
    }
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| {
        "this is no time with a zone; write it as 2026-11-21T02:10:00Z, or 2026-11-21T03:10:00+01:00".to_owned()
    })
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| "no such time zone; give a name such as UTC or Europe/Vienna".to_owned())
}

/// Returns the names and paths of the arguments `FILE` and `NAME=FILE`. An argument with `=` that is an existing file counts as a path. A log without
/// a name gets its file name, with as many parent folders as it needs to be unique.
fn named(arguments: &[String]) -> Vec<(String, PathBuf)> {
    let logs: Vec<(Option<&str>, &Path)> = arguments
        .iter()
        .map(|argument| {
            let named = argument.split_once('=').filter(|(name, _)| !name.is_empty() && !Path::new(argument).exists());
            named.map_or((None, Path::new(argument)), |(name, path)| (Some(name), Path::new(path)))
        })
        .collect();
    let own = |path: &Path| {
        let is_free = |name: &String, parts: usize| {
            logs.iter().all(|(given, other)| match given {
                Some(given) => given != name,
                None => *other == path || tail(other, parts) != *name,
            })
        };
        let names = (1..=path.components().count()).map(|parts| (tail(path, parts), parts));
        names.filter(|(name, _)| !name.is_empty()).find(|(name, parts)| is_free(name, *parts)).map(|it| it.0)
    };
    let name = |given: Option<&str>, path: &Path| {
        given.map(str::to_owned).or_else(|| own(path)).unwrap_or_else(|| path.display().to_string())
    };
    logs.iter().map(|(given, path)| (name(*given, path), path.to_path_buf())).collect()
}

/// Returns the last parts of a path, without a trailing `.log`.
fn tail(path: &Path, parts: usize) -> String {
    let count = path.components().count();
    let last: PathBuf = path.components().skip(count.saturating_sub(parts)).collect();
    let text = last.display().to_string();
    text.strip_suffix(".log").unwrap_or(&text).to_owned()
}

fn read(name: String, path: PathBuf, args: &StartupArgs) -> anyhow::Result<Read> {
    let startup = read_file(&path, args)
        .with_context(|| format!("cannot read {}; give the log of a server, as FILE or NAME=FILE", path.display()))?;
    Ok(Read { name, path, startup })
}

fn read_file(path: &Path, args: &StartupArgs) -> io::Result<Startup> {
    let file = user_file::open(path)?;
    let zone = args.time_zone.clone().unwrap_or_else(TimeZone::system);
    let at = match args.at {
        Some(at) => at,
        None => Timestamp::try_from(file.metadata()?.modified()?).map_err(io::Error::other)?,
    };
    startup::read(BufReader::new(file), &at.to_zoned(zone))
}

/// One column per name, in the order of first appearance.
fn columns(logs: &[Read]) -> Vec<Column<'_>> {
    let mut columns: Vec<Column<'_>> = Vec::new();
    for log in logs {
        let start = Start { startup: &log.startup, observed_ready_seconds: None, sleep_cycles: &[], pod: None };
        match columns.iter_mut().find(|it| it.name == log.name) {
            Some(column) => column.starts.push(start),
            None => columns.push(Column { name: log.name.clone(), starts: vec![start] }),
        }
    }
    columns
}

fn document(logs: &[Read]) -> serde_json::Result<Value> {
    let start = |it: &Read| -> serde_json::Result<Value> {
        Ok(json!({"name": it.name, "file": it.path.to_string_lossy(), "startup": serde_json::to_value(&it.startup)?}))
    };
    Ok(json!({"starts": logs.iter().map(start).collect::<serde_json::Result<Vec<_>>>()?}))
}

fn json_text(logs: &[Read]) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&document(logs)?)? + "\n")
}

fn result_yaml(logs: &[Read]) -> anyhow::Result<String> {
    // Logs with the same name are numbered to distinguish them.
    let name = |(index, log): (usize, &Read)| {
        let before = logs[..index].iter().filter(|it| it.name == log.name).count();
        let is_one = before == 0 && logs[index + 1..].iter().all(|it| it.name != log.name);
        if is_one { log.name.clone() } else { format!("{} {}", log.name, before + 1) }
    };
    let names: Vec<String> = logs.iter().enumerate().map(name).collect();
    let server = |(log, name)| -> Server<'_> {
        let (log, name): (&Read, &String) = (log, name);
        Server { name, image: None, pod_start_seconds: None, startup: &log.startup }
    };
    let servers: Vec<Server<'_>> = logs.iter().zip(&names).map(server).collect();
    Ok(serde_saphyr::to_string(&startup::result(&servers))?)
}

fn write(folder: &Path, logs: &[Read], columns: &[Column<'_>]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let svg = draw_ranking(&page::startup::ranking(columns), WIDTH);
    let picture = png::render(&svg, SCALE).map_err(io::Error::other)?;
    let page =
        format!("# How servers started\n\n{}\n![The steps of each start as bars](startup.svg)\n", markdown(columns));
    let files: [(&str, Vec<u8>); 5] = [
        ("startup.json", json_text(logs)?.into_bytes()),
        ("startup.md", page.into_bytes()),
        ("result.yaml", result_yaml(logs)?.into_bytes()),
        ("startup.svg", svg.into_bytes()),
        ("startup.png", picture),
    ];
    for (name, content) in files {
        write_whole(&folder.join(name), |file| file.write_all(&content))?;
    }
    Ok(())
}
