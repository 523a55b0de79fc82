//! [I/O] `benchwright accuracy`: scores the accuracy log of a LoadGen test, ours or MLCommons' own.

use std::{
    io::{self, BufReader},
    path::{Path, PathBuf},
    thread,
};

use ::files::{
    file_digest::{DigestReader, FileDigest},
    user_file, write_whole,
};
use accuracy::{
    benchmark::Benchmark,
    files::{self, Provenance},
    gate::{self, Gate, Verdict},
    log::Element,
    scorer::{Answer, LogLine, Outcome, Scorer},
};
use anyhow::{Context as _, anyhow};
use clap::Args;
use launcher::{
    console,
    scoring::{Decoder, expected, tables},
};
use loadgen::logs::accuracy_log::{self, AccuracyEntry, ReadError};
use prompts::model_folder;

/// LoadGen's name of the log.
const LOG: &str = "mlperf_log_accuracy.json";

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright accuracy results/latest --benchmark llama3.1-8b --data-set cnn_eval.json --tokenizer model")]
pub(crate) struct AccuracyArgs {
    /// The accuracy log, or a folder that contains it directly or in its subfolder Accuracy
    path: PathBuf,
    /// The benchmark as MLPerf names it, such as llama3.1-8b or llama2-70b-99.9
    #[arg(long, value_name = "NAME", value_parser = benchmark)]
    benchmark: Named,
    /// The data set of the run as JSON: an array of objects, or one object per line
    #[arg(long, value_name = "FILE")]
    data_set: PathBuf,
    /// The folder of the model's tokenizer, with tokenizer.json and tokenizer_config.json
    #[arg(long, value_name = "FOLDER")]
    tokenizer: PathBuf,
    /// The folder punkt_tab/english of NLTK's data; without it ROUGE-Lsum and gen_len are not computed, and there is no verdict
    #[arg(long, value_name = "FOLDER", env = "PUNKT_DATA")]
    punkt: Option<PathBuf>,
    /// The type of the token ids in the log: int32, int64 or float
    #[arg(long, value_name = "TYPE", default_value = "int32", value_parser = element)]
    elements: Element,
    /// Require 99.9 % of the reference in place of 99 %; the default for benchmark names that end in -99.9
    #[arg(long)]
    high_accuracy: bool,
    /// Write accuracy.txt, rouge.json and accuracy_samples.jsonl into this folder [default: beside the log]
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// A benchmark, and what its name requires.
#[derive(Clone, Copy)]
struct Named {
    benchmark: Benchmark,
    /// Whether the name requires 99.9 % of the reference's accuracy.
    high_accuracy: bool,
}

fn benchmark(name: &str) -> Result<Named, String> {
    let found = Benchmark::from_name(name);
    found.map(|benchmark| Named { benchmark, high_accuracy: name.ends_with("-99.9") }).ok_or_else(|| {
        let names: Vec<&str> = Benchmark::ALL.iter().map(|it| it.name()).collect();
        format!("this benchmark has no accuracy check; use one of {}", names.join(", "))
    })
}

fn element(name: &str) -> Result<Element, String> {
    Element::from_name(name).ok_or_else(|| "unknown type of values in a log; use int32, int64 or float".into())
}

/// Exit status 0: the limits are met; 1: a limit is missed; 2: there is no verdict.
pub(crate) fn run(args: &AccuracyArgs) -> anyhow::Result<u8> {
    let Named { benchmark, high_accuracy } = args.benchmark;
    let log = log_of(&args.path)?;
    let model = model_folder::read(&args.tokenizer)?;
    let cleans = model.cleans_up();
    let punkt = args.punkt.as_deref().map(|it| tables(it, "--punkt")).transpose()?;
    let (expected, data_set) = expected(&args.data_set, benchmark, None)?;
    let scorer = Scorer {
        benchmark,
        expected: &expected,
        punkt: punkt.as_ref(),
        element: args.elements,
        threads: thread::available_parallelism().map_or(1, usize::from),
    };
    let beside = || log.parent().unwrap_or(Path::new(".")).to_owned();
    let folder = args.output.clone().unwrap_or_else(beside);
    let scored = score(&scorer, &log, &Decoder::new(&model.tokenizer, cleans), &folder)?;
    model.warnings.iter().for_each(|it| console::say(format_args!("benchwright: {it}")));
    let gate = gate::judge(
        &scored.outcome,
        benchmark.limits(args.high_accuracy || high_accuracy),
        benchmark.samples(),
        &scored.doubts,
    );
    let provenance = Provenance {
        log_sha256: scored.log.sha256.unwrap_or_default(),
        ids: "as they are in the accuracy log".into(),
        tokenizer_sha256: model.digest.sha256,
        data_set_sha256: data_set.sha256,
        clean_up: cleans,
        punkt: punkt.is_some(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let written = |name: &str, text: String| {
        let path = folder.join(name);
        write_whole(&path, |file| file.write_all(text.as_bytes())).map(drop).with_context(|| unwritten(&path))
    };
    written("accuracy.txt", files::accuracy_txt(&scored.outcome, &provenance.log_sha256))?;
    let json = serde_json::to_string_pretty(&files::rouge_json(&scored.outcome, &gate, &provenance))?;
    written("rouge.json", json + "\n")?;
    console::print(summary(&scored.outcome, &gate, &folder))?;
    Ok(match gate.verdict {
        Verdict::Passed => 0,
        Verdict::Failed => 1,
        Verdict::Undecided(_) => 2,
    })
}

fn unwritten(path: &Path) -> String {
    format!("cannot write {}; name a folder that can be written with --output", path.display())
}

/// Returns the log: the path itself, or the log in the folder at this path.
fn log_of(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let places = ["", "Accuracy", "accuracy"].map(|it| path.join(it).join(LOG));
    places.iter().find(|it| it.exists()).cloned().ok_or_else(|| {
        anyhow!(
            "{} has no {LOG}, and neither has its subfolder Accuracy; give the results folder of a LoadGen test with mode accuracy or both",
            path.display()
        )
    })
}

/// The scores of a log.
struct Scored {
    outcome: Outcome,
    log: FileDigest,
    /// Caveats about the scores, such as missing answers.
    doubts: Vec<String>,
}

/// Scores a log, and writes the score of each sample into the folder.
fn score(scorer: &Scorer<'_>, log: &Path, decoder: &Decoder<'_>, folder: &Path) -> anyhow::Result<Scored> {
    let cannot = || format!("cannot score {}", log.display());
    let file = user_file::open(log).with_context(cannot)?;
    let mut reader = BufReader::with_capacity(1 << 18, DigestReader::new(file));
    let mut has_no_end = false;
    let path = folder.join("accuracy_samples.jsonl");
    let mut outcome = None;
    let decode = |ids: &[u32]| decoder.decode(ids, scorer.benchmark.keeps_special_tokens());
    let written = write_whole(&path, |file| {
        let lines = Whole { entries: accuracy_log::read(&mut reader), any: false, has_no_end: &mut has_no_end };
        let scored = scorer.score(lines, decode, |score| {
            serde_json::to_writer(&mut *file, score)?;
            file.write_all(b"\n")
        });
        // An error makes `write_whole` delete the incomplete file.
        let failed = scored.is_err();
        outcome = Some(scored);
        if failed { Err(io::Error::other("the log cannot be scored")) } else { Ok(()) }
    });
    let outcome = match outcome {
        Some(outcome) => outcome.with_context(cannot)?,
        None => {
            return Err(written
                .err()
                .map_or_else(|| anyhow!(unwritten(&path)), |it| anyhow!(it).context(unwritten(&path))));
        }
    };
    written.with_context(|| unwritten(&path))?;
    let log = reader.into_inner().finish(log, u64::MAX).with_context(cannot)?;
    let mut doubts = Vec::new();
    if has_no_end {
        doubts.push("the log ends without its closing bracket, and may lack answers".to_owned());
    }
    doubts.extend(decoder.doubt());
    Ok(Scored { outcome, log, doubts })
}

/// Iterates over the answers of a log. If the test was killed and the log lacks its closing bracket, the answers end there and `has_no_end` is set.
struct Whole<'a, I> {
    entries: I,
    any: bool,
    has_no_end: &'a mut bool,
}

impl<I: Iterator<Item = Result<AccuracyEntry, ReadError>>> Iterator for Whole<'_, I> {
    type Item = Result<LogLine, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.entries.next()? {
            Ok(it) => {
                self.any = true;
                Some(Ok(LogLine { seq_id: it.seq_id, qsl_idx: it.qsl_idx, answer: Answer::Data(it.data) }))
            }
            Err(ReadError::Cut { .. }) if self.any => {
                *self.has_no_end = true;
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Returns the text for the user: the figures with their limits, and the verdict.
fn summary(outcome: &Outcome, gate: &Gate, folder: &Path) -> String {
    let mut text = format!("{}\n\n", files::result_line(outcome));
    for judged in &gate.limits {
        let limit = judged.limit;
        let bound = if limit.is_upper { "at most" } else { "at least" };
        let value = judged.value.map_or("not computed".to_owned(), accuracy::figures::text);
        let met = match judged.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "not judged",
        };
        text.push_str(&format!("{:<18} {value:>14}  {bound:<8} {:>14.4}  {met}\n", limit.key, limit.bound()));
    }
    for it in outcome.kinds.iter().filter(|it| !it.kind.is_empty()) {
        let correct = it.correct.map(|correct| format!(", {correct} correct")).unwrap_or_default();
        let open = it.check.open().map(|reason| format!("; {reason}")).unwrap_or_default();
        text.push_str(&format!("{}: {} answers{correct}{open}\n", it.kind, it.total));
    }
    let name = outcome.benchmark.name();
    match &gate.verdict {
        Verdict::Passed => text.push_str(&format!("Passed: {name} meets its limits\n")),
        Verdict::Failed => text.push_str(&format!("Failed: {name} misses a limit\n")),
        Verdict::Undecided(reasons) => {
            text.push_str("No verdict:\n");
            reasons.iter().for_each(|it| text.push_str(&format!("- {it}\n")));
        }
    }
    text.push_str(&format!("{}: accuracy.txt, rouge.json, accuracy_samples.jsonl\n", folder.display()));
    text
}
