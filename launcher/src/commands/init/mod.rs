//! [I/O] `benchwright init`: writes a BenchmarkRun from four answers or from flags.

mod answers;
mod document;
mod load;
pub(super) mod objectives;
mod questions;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, IsTerminal as _, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{anyhow, ensure};
use clap::Args;
use crds::{
    benchmark_run::{Api, Objective},
    units::{RequestRate, Span},
    wording::{cut, listed, one_line, shell_word},
};
use engine::client::{self, probe};
use files::{output, write_new};
use launcher::{
    console,
    input::{self, Rules},
};

use self::{
    answers::{Answers, Target},
    load::{Levels, Load},
    questions::Question,
};
use super::preset::PresetArg;

/// Maximum time for a server to list its models.
const MODELS_LIMIT: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright init
  benchwright init --simulator
  benchwright init -U http://server:8000 --concurrency 1,8,64 --objective 'ttft.p99<=500ms'
  benchwright init -U http://server:8000 --rate 2,4,8 --isl 1024 --osl 256 --output rates.yaml")]
pub(crate) struct InitArgs {
    /// Measure the server at this base URL, without /v1
    #[arg(short = 'U', long, value_name = "URL", help_heading = "Target")]
    url: Option<String>,
    /// Measure the embedded simulator [default where nothing is asked]
    #[arg(long, value_name = "PRESET", num_args = 0..=1, default_missing_value = "gpu", conflicts_with = "url",
          help_heading = "Target")]
    simulator: Option<PresetArg>,
    /// The model name in requests [default: the first model that the server lists within 2 s]
    #[arg(short, long, value_name = "NAME", help_heading = "Target")]
    model: Option<String>,
    /// Numbers of concurrent requests, one stage each [default: 1,8,64]
    #[arg(long, value_name = "COUNT,...", value_delimiter = ',', value_parser = load::concurrency, help_heading = "Load")]
    concurrency: Vec<u32>,
    /// Requests per second, one stage each, in place of --concurrency
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', value_parser = load::rate,
          conflicts_with = "concurrency", help_heading = "Load")]
    rate: Vec<RequestRate>,
    /// Prompt length (ISL) [default: 512]
    #[arg(long, value_name = "TOKENS", value_parser = load::tokens, help_heading = "Load")]
    isl: Option<u32>,
    /// Answer length (OSL) [default: 128]
    #[arg(long, value_name = "TOKENS", value_parser = load::tokens, help_heading = "Load")]
    osl: Option<u32>,
    /// Duration of each stage [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = load::duration, help_heading = "Load")]
    duration: Option<Span>,
    /// A limit that each stage must meet, such as ttft.p99<=500ms; may be given several times
    #[arg(long = "objective", value_name = "LIMIT", value_parser = objectives::parse, help_heading = "Objectives")]
    objectives: Vec<Objective>,
    /// Write the BenchmarkRun to this file
    #[arg(short, long, value_name = "FILE", default_value = "benchmarkrun.yaml")]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &InitArgs) -> anyhow::Result<()> {
    let path = args.output.as_path();
    // Check this first, so that nobody answers questions for a file that cannot be written.
    ensure!(args.force || path.symlink_metadata().is_err(), exists(path));
    if let Some(url) = &args.url {
        // clap does not check the URL, because its message would repeat a password.
        answers::url(url).map_err(|problem| anyhow!("--url: {problem}"))?;
    }
    let answers = if args.target().is_none() && can_ask() { args.asked()? } else { args.unasked() };
    check(&answers, path).map_err(|problem| anyhow!(problem))?;
    write(path, &document::text(&answers), args.force)?;
    Ok(console::print(next_commands(path))?)
}

impl InitArgs {
    fn target(&self) -> Option<Target> {
        let simulator = self.simulator.map(Target::Simulator);
        self.url.clone().map(Target::Url).or(simulator)
    }

    /// Returns the answers that the flags give. All other answers have their defaults.
    fn answers(&self) -> Answers {
        let default = Load::default();
        let levels = match (&self.concurrency[..], &self.rate[..]) {
            ([], []) => default.levels,
            (_, []) => Levels::Concurrency(self.concurrency.clone()),
            _ => Levels::Rate(self.rate.clone()),
        };
        Answers {
            target: self.target().unwrap_or_default(),
            model: self.model.clone(),
            load: Load {
                levels,
                isl: self.isl.unwrap_or(default.isl),
                osl: self.osl.unwrap_or(default.osl),
                duration: self.duration.unwrap_or(default.duration),
            },
            objectives: self.objectives.clone(),
        }
    }

    /// Returns the questions that no flag answers.
    fn open_questions(&self) -> Vec<Question> {
        let open = [
            (Question::Target, self.target().is_none()),
            (Question::Model, self.model.is_none()),
            (Question::Load, self.concurrency.is_empty() && self.rate.is_empty()),
            (Question::Objectives, self.objectives.is_empty()),
        ];
        open.into_iter().filter_map(|(question, is_open)| is_open.then_some(question)).collect()
    }

    /// Asks the questions that no flag answers.
    fn asked(&self) -> anyhow::Result<Answers> {
        let check = |answers: &Answers| check(answers, &self.output);
        // Check the flags first, because no answer can correct a wrong flag.
        check(&self.answers()).map_err(|problem| anyhow!(problem))?;
        let terminal = (&mut io::stdin().lock(), &mut io::stderr());
        questions::ask(&self.open_questions(), self.answers(), served_model, check, terminal).map_err(|error| {
            anyhow!("{error}; nothing was written; answer all questions, or give flags (`benchwright init --help`)")
        })
    }

    /// Returns the answers without asking: flags, defaults, and the model that the server lists.
    fn unasked(&self) -> Answers {
        let mut answers = self.answers();
        answers.model = answers.model.or_else(|| served_model(&answers.target));
        answers
    }
}

/// Whether a person can read questions and answer them.
fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Checks the file for these answers like `benchwright validate`.
fn check(answers: &Answers, path: &Path) -> Result<(), String> {
    answers.check()?;
    input::check_text(&document::text(answers), path, &Rules::default()).map_err(|error| error.to_string())
}

fn exists(path: &Path) -> String {
    format!("--output is {}, which exists; add --force to replace it, or name another file", path.display())
}

/// Writes the file atomically: either the whole file or nothing.
fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let fill = |file: &mut (dyn Write + Send)| file.write_all(text.as_bytes());
    let written = if force { output::write(path, fill) } else { write_new(path, fill) };
    written.map(drop).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow!(exists(path)),
        _ => anyhow!("--output is {}, which cannot be written: {error}; name another file", path.display()),
    })
}

fn next_commands(path: &Path) -> String {
    let file = shell_word(&path.display().to_string());
    format!(
        "{}\n  benchwright validate -f {file}\n  benchwright run -f {file}\n  kubectl apply -f {file}\n",
        path.display()
    )
}

/// Returns the first model that the server lists. Prints a note if the server lists several models or none.
fn served_model(target: &Target) -> Option<String> {
    let Target::Url(url) = target else { return None };
    match listed_models(url) {
        Ok(models) => {
            let names: Vec<&str> = models.iter().map(String::as_str).collect();
            if let [first, _, ..] = names[..] {
                let (all, first) = (listed(&names), one_line(&cut(first)));
                console::say(format_args!(
                    "note: the server lists {all}; requests name {first}, unless you name another"
                ));
            }
            models.into_iter().next()
        }
        Err(why) => {
            // The error may contain text from the server, so control characters are replaced.
            let why = one_line(&why.to_string());
            console::say(format_args!(
                "note: {url} lists no models ({why}); requests will name the model that it serves"
            ));
            None
        }
    }
}

/// The models that a server lists, without adapters.
fn listed_models(url: &str) -> anyhow::Result<Vec<String>> {
    let target = client::Target::new(url, Api::Completions, None, None, &BTreeMap::new())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(clock::limit(MODELS_LIMIT, probe::models(&target)));
    // Do not wait for the runtime's threads: a lookup of the host's name may still be running.
    runtime.shutdown_background();
    let served = served.map_err(|clock::TimedOut| anyhow!("no answer within {}", Span(MODELS_LIMIT)))??;
    Ok(served.into_iter().filter(|it| !it.is_adapter).map(|it| it.id).collect())
}
