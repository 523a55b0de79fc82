//! Scores the answers of a run. Reads the data for scoring before the load, and converts the recorded answers to figures, a verdict and files.
//!
//! The crate `accuracy` computes the scores. This module reads files, and relates stages, samples and rows. `mmlu` scores the answers to questions.

mod decoder;
mod materials;
pub(crate) mod mmlu;

use std::{
    convert::Infallible,
    io::{self, BufWriter, Write},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use ::files::{Counted, file_digest::FileDigest};
use accuracy::{
    benchmark::{Benchmark, Limit},
    files::{self, Provenance},
    gate::{self, Gate, Judged, Verdict},
    log::Element,
    punkt::Punkt,
    sample::Expected,
    scorer::{Answer, LogLine, Outcome, ScoreError, Scorer},
};
use analysis::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed, loadgen::outcome::TestOutcome};
use anyhow::{Context as _, anyhow};
use crds::{AccuracyVerdict, wording::with_causes};
use loadgen::logs::accuracy_log::{self, AccuracyEntry};
use measurement::{
    load_result::LoadResult,
    recorder::{KeptOutput, Recorder},
};
use prompts::model_folder::{self, ModelFolder};
use report::AccuracyFile;
use tokenizer::Tokenizer;
use tracing::warn;
use workload_profiles::{
    Workload,
    loadgen::Mode,
    workload::{Accuracy as Wanted, AccuracyLimits, Load, Phase, RequestSource, bounded_figures},
};

pub use decoder::Decoder;
pub use materials::{PUNKT_VARIABLE, expected, tables};

/// LoadGen's name for the log with the answers.
const LOG: &str = "mlperf_log_accuracy.json";

/// The data for scoring the answers of a run.
pub(crate) struct Scoring {
    wanted: Wanted,
    benchmark: Benchmark,
    expected: Vec<Expected>,
    data_set: FileDigest,
    /// The model's tokenizer. `None` means that the text from the server is scored.
    model: Option<ModelFolder>,
    punkt: Option<Punkt>,
    /// Number of answers in the last load whose token ids the launcher computed from their text.
    encoded: AtomicU64,
}

/// The accuracy of a run, and the files with the scores.
pub(crate) struct Scored {
    pub(crate) accuracy: Accuracy,
    pub(crate) files: Vec<AccuracyFile>,
}

impl Scoring {
    /// Reads the data for scoring the answers of a workload. `None` if answers are not scored. Call it before the load.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn read(workload: &Workload) -> anyhow::Result<Option<Scoring>> {
        let Some(wanted) = &workload.accuracy else { return Ok(None) };
        let name = wanted.check.as_str();
        let benchmark =
            Benchmark::from_name(name).ok_or_else(|| anyhow!("accuracy.check is {name}; no such check exists"))?;
        let of_requests = match &workload.requests {
            RequestSource::DataSet(set) => Some(&set.file),
            _ => None,
        };
        let file = wanted.data_set.as_ref().or(of_requests);
        let file =
            file.ok_or_else(|| anyhow!("accuracy needs a file of expected answers; name it in accuracy.dataSet"))?;
        let path = file.as_path();
        // A pipe can be read only once, and the prompts have already been read from it.
        let rows = match path.is_file() || path.is_dir() || !path.exists() {
            true => expected(path, benchmark, wanted.expected.as_deref()),
            false => {
                Err(anyhow!("{} is no file; name one with the expected answers in accuracy.dataSet", path.display()))
            }
        };
        let (expected, data_set) = match rows {
            Ok(rows) => rows,
            Err(error) if wanted.optional => {
                warn!(
                    "the answers are not scored: {}; if no scores are needed, set accuracy: none in the profile",
                    causes(&error)
                );
                return Ok(None);
            }
            Err(error) => return Err(error).context("accuracy"),
        };
        let tokenizer = wanted.tokenizer.as_ref().or(workload.tokenizer.as_ref()).map(|it| it.as_path());
        let model = tokenizer.map(model_folder::read).transpose()?;
        model.iter().flat_map(|it| &it.warnings).for_each(|it| warn!("{it}"));
        let (folder, named) = match &wanted.punkt {
            Some(folder) => (Some(folder.clone()), "accuracy.punkt"),
            None => (materials::punkt_folder(), PUNKT_VARIABLE),
        };
        let punkt = folder.map(|it| tables(&it, named)).transpose()?;
        let wanted = wanted.clone();
        let encoded = AtomicU64::new(0);
        Ok(Some(Scoring { wanted, benchmark, expected, data_set, model, punkt, encoded }))
    }

    /// Computes the token ids of answers that have only text, so that the logs contain ids.
    pub(crate) fn add_ids(&self, recorder: &mut Recorder) {
        let Some(ModelFolder { tokenizer, .. }) = &self.model else { return };
        self.encoded.store(0, Ordering::Relaxed);
        let outputs = &mut recorder.outputs;
        let length = outputs.len().div_ceil(threads()).max(1);
        thread::scope(|scope| {
            for part in outputs.chunks_mut(length) {
                scope.spawn(|| part.iter_mut().for_each(|it| self.add_ids_of(tokenizer, it)));
            }
        });
    }

    fn add_ids_of(&self, tokenizer: &Tokenizer, kept: &mut KeptOutput) {
        let output = &mut kept.output;
        if output.token_ids.is_empty()
            && !output.text.is_empty()
            && let Ok(ids) = tokenizer.ids(&output.text)
        {
            output.token_ids = ids;
            self.encoded.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Scores the answers that a load recorded. `tests` are the load's LoadGen tests.
    ///
    /// # Errors
    /// An answer cannot be scored, or there are no answers.
    pub(crate) fn score(
        &self,
        workload: &Workload,
        load: &LoadResult,
        tests: &[TestOutcome],
    ) -> anyhow::Result<Scored> {
        let counted = counted_stages(workload);
        let is_counted = |stage: u32| counted.get(stage as usize).copied().unwrap_or_default();
        let kept: Vec<&KeptOutput> = load.recorder.outputs.iter().filter(|it| is_counted(it.stage)).collect();
        let sent: u64 = load
            .recorder
            .stages
            .iter()
            .zip(&counted)
            .filter(|(_, counts)| **counts)
            .map(|(it, _)| it.outcomes.values().sum::<u64>())
            .sum();
        let without_answer = sent.saturating_sub(kept.len() as u64);
        let decoder = self.model.as_ref().map(|it| Decoder::new(&it.tokenizer, it.cleans_up()));
        let (outcome, samples) = self.outcome(&kept, decoder.as_ref())?;
        let test = tests.iter().find(|it| matches!(it.log.settings.mode, Mode::AccuracyOnly | Mode::SubmissionRun));
        let folder = test.map(|it| format!("{}/", it.folder)).unwrap_or_default();
        let mut log = Vec::new();
        let log_sha256 = match test {
            // The report writes this log. Here only its digest is computed, so the text goes to a sink.
            Some(test) => write_log(&test.answers, io::sink())?,
            None => write_log(&entries(&kept), &mut log)?,
        };
        let mut doubts: Vec<String> = decoder.as_ref().and_then(Decoder::doubt).into_iter().collect();
        if without_answer > 0 {
            doubts.push(format!("{without_answer} requests have no answer"));
        }
        let gate = gate::judge(&outcome, self.limits(), self.samples(), &doubts);
        let provenance = self.provenance(log_sha256);
        let file = |name: &str, content: Vec<u8>| AccuracyFile { name: format!("{folder}{name}"), content };
        let json = serde_json::to_vec_pretty(&files::rouge_json(&outcome, &gate, &provenance))?;
        let mut files = vec![
            file("accuracy.txt", files::accuracy_txt(&outcome, &provenance.log_sha256).into_bytes()),
            file("rouge.json", [json, b"\n".to_vec()].concat()),
            file("accuracy_samples.jsonl", samples),
        ];
        if test.is_none() {
            files.push(file(LOG, log));
        }
        let doubts = decoder.as_ref().and_then(Decoder::doubt).into_iter().collect();
        let accuracy = Accuracy { doubts, ..self.accuracy(outcome, gate, without_answer) };
        Ok(Scored { accuracy, files })
    }

    /// Returns the result if the answers cannot be scored. There is no verdict if limits require one.
    pub(crate) fn unscored(&self) -> Scored {
        let limits: Vec<AccuracyLimit> =
            self.limits().into_iter().map(|limit| limit_of(Judged { limit, value: None, met: None })).collect();
        let verdict = if limits.is_empty() { AccuracyVerdict::NotJudged } else { AccuracyVerdict::Undecided };
        let accuracy = Accuracy {
            check: self.wanted.check.clone(),
            verdict,
            // The error may contain text from a file, so it is not part of this message.
            reasons: vec!["the answers cannot be scored; the launcher's log says why".to_owned()],
            figures: Vec::new(),
            limits,
            not_computed: Vec::new(),
            scored: 0,
            without_answer: 0,
            wanted: self.samples(),
            doubts: Vec::new(),
            method: Vec::new(),
        };
        Scored { accuracy, files: Vec::new() }
    }

    /// Scores answers. Also returns the score of each answer as lines of JSON.
    fn outcome(&self, kept: &[&KeptOutput], decoder: Option<&Decoder<'_>>) -> anyhow::Result<(Outcome, Vec<u8>)> {
        let scorer = Scorer {
            benchmark: self.benchmark,
            expected: &self.expected,
            punkt: self.punkt.as_ref(),
            element: Element::Int32,
            threads: threads(),
        };
        let line = |(number, it): (u64, &&KeptOutput)| {
            let output = &it.output;
            let answer = match decoder {
                Some(_) if !output.token_ids.is_empty() || output.text.is_empty() => {
                    Answer::Data(bytes(&output.token_ids))
                }
                _ => {
                    let tokens = Some(output.token_ids.len() as u64).filter(|it| *it > 0 || output.text.is_empty());
                    Answer::Text { text: output.text.clone(), tokens }
                }
            };
            Ok::<_, Infallible>(LogLine { seq_id: number, qsl_idx: it.row.unwrap_or(it.number), answer })
        };
        let decode = |ids: &[u32]| match decoder {
            Some(decoder) => decoder.decode(ids, self.benchmark.keeps_special_tokens()),
            None => Err("no tokenizer is given".to_owned()),
        };
        let mut samples = Vec::new();
        let outcome = scorer.score((0..).zip(kept).map(line), decode, |score| {
            serde_json::to_writer(&mut samples, score).map_err(io::Error::other)?;
            samples.push(b'\n');
            Ok(())
        });
        match outcome {
            Ok(outcome) => Ok((outcome, samples)),
            Err(ScoreError::Empty) => Err(anyhow!("no request has an answer to score")),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the limits for the figures.
    fn limits(&self) -> Vec<Limit> {
        match &self.wanted.limits {
            AccuracyLimits::OfBenchmark => self.benchmark.limits(self.wanted.check.ends_with("-99.9")),
            AccuracyLimits::None => Vec::new(),
            AccuracyLimits::AtLeast(bounds) => {
                let keys = bounded_figures(&self.wanted.check).iter();
                keys.filter_map(|key| Some(gate::at_least(key, *bounds.get(*key)?))).collect()
            }
        }
    }

    /// The number of samples that the limits require. `None` means any number.
    fn samples(&self) -> Option<u64> {
        self.benchmark.samples().filter(|_| self.wanted.limits == AccuracyLimits::OfBenchmark)
    }

    fn provenance(&self, log_sha256: String) -> Provenance {
        Provenance {
            log_sha256,
            ids: self.ids(),
            tokenizer_sha256: self.model.as_ref().and_then(|it| it.digest.sha256.clone()),
            data_set_sha256: self.data_set.sha256.clone(),
            clean_up: self.model.as_ref().is_some_and(ModelFolder::cleans_up),
            punkt: self.punkt.is_some(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// Describes how texts and token ids were converted.
    fn ids(&self) -> String {
        let encoded = self.encoded.load(Ordering::Relaxed);
        match (&self.model, encoded) {
            (None, _) => "the text that the server sent is scored, because no tokenizer is given".to_owned(),
            (Some(_), 0) => "the token ids that the server sent are decoded by the tokenizer".to_owned(),
            (Some(_), encoded) => {
                format!(
                    "the server sent no token ids for {encoded} answers: the tokenizer computed them from the text, without special tokens"
                )
            }
        }
    }

    fn accuracy(&self, outcome: Outcome, gate: Gate, without_answer: u64) -> Accuracy {
        let wanted = self.samples();
        let sent = outcome.samples + without_answer;
        let part = wanted.filter(|it| sent < *it && !gate.limits.is_empty());
        let (verdict, reasons) = match gate.verdict {
            _ if gate.limits.is_empty() => (AccuracyVerdict::NotJudged, Vec::new()),
            _ if part.is_some() => (AccuracyVerdict::NotJudged, Vec::new()),
            Verdict::Passed => (AccuracyVerdict::Passed, Vec::new()),
            Verdict::Failed => (AccuracyVerdict::Failed, Vec::new()),
            Verdict::Undecided(reasons) => (AccuracyVerdict::Undecided, reasons),
        };
        let mut method = vec![self.ids()];
        method.extend(part.map(|it| format!("the run covers {sent} samples, but the limits apply to all {it}")));
        match &self.model {
            Some(model) if model.cleans_up() => method.push(
                "spaces before punctuation are removed after decoding, as the tokenizer's configuration asks".into(),
            ),
            Some(model) if model.config.is_none() => method
                .push("the tokenizer has no tokenizer_config.json, so spaces are not removed after decoding".into()),
            Some(_) | None => {}
        }
        if self.punkt.is_none() {
            method.push(format!(
                "sentences are not split, because Punkt's tables are not given: name them in {PUNKT_VARIABLE} or accuracy.punkt"
            ));
        }
        let kinds = outcome.kinds.iter().filter(|it| !it.kind.is_empty());
        method.extend(kinds.map(|it| {
            let correct = it.correct.map(|correct| format!(", {correct} correct")).unwrap_or_default();
            format!("{}: {} answers{correct}", it.kind, it.total)
        }));
        Accuracy {
            doubts: Vec::new(),
            check: self.wanted.check.clone(),
            verdict,
            reasons,
            figures: outcome
                .values
                .into_iter()
                .map(|it| AccuracyFigure {
                    name: it.key.to_owned(),
                    value: it.number,
                    text: it.text.trim_matches('\'').to_owned(),
                })
                .collect(),
            limits: gate.limits.into_iter().map(limit_of).collect(),
            not_computed: outcome
                .missing
                .into_iter()
                .map(|(figure, reason)| NotComputed { figure: figure.to_owned(), reason: reason.to_owned() })
                .collect(),
            scored: outcome.scored,
            without_answer,
            wanted,
            method,
        }
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Converts a limit to the form in reports.
fn limit_of(it: Judged) -> AccuracyLimit {
    AccuracyLimit {
        figure: it.limit.key.to_owned(),
        is_upper: it.limit.is_upper,
        limit: it.limit.bound(),
        value: it.value,
        met: it.met,
    }
}

fn causes(error: &anyhow::Error) -> String {
    let error: &dyn std::error::Error = error.as_ref();
    with_causes(error)
}

/// Returns which stages have answers that are scored. For LoadGen tests, these are the stages in accuracy mode.
fn counted_stages(workload: &Workload) -> Vec<bool> {
    let counts = |load: &Load| match load {
        Load::LoadGen { phase, .. } => matches!(phase, Phase::Accuracy { .. }),
        _ => true,
    };
    workload.stages.iter().map(|it| counts(&it.load)).collect()
}

/// Encodes token ids as in an accuracy log.
fn bytes(ids: &[u32]) -> Vec<u8> {
    ids.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Returns the answers of a load without LoadGen tests, in the form of an accuracy log. Answers without token ids are UTF-8 text.
fn entries(kept: &[&KeptOutput]) -> Vec<AccuracyEntry> {
    let entry = |(number, it): (u64, &&KeptOutput)| {
        let ids = &it.output.token_ids;
        AccuracyEntry {
            seq_id: number,
            qsl_idx: it.row.unwrap_or(it.number),
            data: if ids.is_empty() { it.output.text.clone().into_bytes() } else { bytes(ids) },
            token_data: None,
            token_count: Some(ids.len()).filter(|it| *it > 0).and_then(|it| i64::try_from(it).ok()),
        }
    };
    (0..).zip(kept).map(entry).collect()
}

/// Writes an accuracy log. Returns its SHA-256 in hexadecimal digits.
fn write_log(entries: &[AccuracyEntry], to: impl Write) -> io::Result<String> {
    let mut counted = BufWriter::new(Counted::new(to));
    let mut log = accuracy_log::Writer::new(&mut counted)?;
    entries.iter().try_for_each(|it| log.add(it))?;
    log.finish()?;
    Ok(counted.into_inner().map_err(io::IntoInnerError::into_error)?.finish().1.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_that_a_profile_may_name_has_a_scorer() {
        for name in
            workload_profiles::workload::BENCHMARK_CHECKS.into_iter().chain(workload_profiles::workload::PLAIN_CHECKS)
        {
            let known = workload_profiles::workload::SHARES.into_iter().map(|share| format!("{name}{share}"));
            assert!(Benchmark::from_name(name).is_some(), "{name}");
            let with_share = known.filter(|it| Benchmark::from_name(it).is_some()).count();
            assert_eq!(with_share, if Benchmark::PLAIN.iter().any(|(it, _)| *it == name) { 0 } else { 2 }, "{name}");
        }
        let plain: Vec<&str> = Benchmark::PLAIN.iter().map(|(name, _)| *name).collect();
        assert_eq!(plain, workload_profiles::workload::PLAIN_CHECKS);
    }

    /// Returns the figures that a check computes or reports as missing. It scores one answer for each kind of row to find them.
    fn figures_of(benchmark: Benchmark) -> Vec<&'static str> {
        let kinds = [
            "OpenOrca",
            "GSM8K",
            "MBXP",
            "rouge",
            "niah_em",
            "qa_em",
            "gpqa",
            "mmlu_pro",
            "math500",
            "aime",
            "livecodebench",
        ];
        let of_benchmark = kinds.into_iter().filter(|it| benchmark.check(it).is_some());
        let expected: Vec<Expected> =
            of_benchmark.map(|kind| Expected { text: "7".into(), kind: kind.into(), ..Expected::default() }).collect();
        let scorer = Scorer { benchmark, expected: &expected, punkt: None, element: Element::Int32, threads: 1 };
        let answer = || Answer::Text { text: "7".into(), tokens: Some(1) };
        let log = (0..expected.len() as u64).map(|it| Ok(LogLine { seq_id: it, qsl_idx: it, answer: answer() }));
        let outcome = scorer.score::<Infallible>(log, |_| Ok(String::new()), |_| Ok(())).unwrap();
        let computed = outcome.values.iter().map(|it| it.key);
        computed.chain(outcome.missing.iter().map(|(key, _)| *key)).collect()
    }

    #[test]
    fn a_profile_may_bound_the_figures_that_its_check_computes() {
        use workload_profiles::workload::{BENCHMARK_CHECKS, BOUNDED_FIGURES, PLAIN_CHECKS};
        for name in BENCHMARK_CHECKS.into_iter().chain(PLAIN_CHECKS) {
            let mut computed = figures_of(Benchmark::from_name(name).unwrap());
            computed.retain(|it| BOUNDED_FIGURES.contains(it));
            computed.sort_unstable();
            let mut bounded = bounded_figures(name).to_vec();
            bounded.sort_unstable();
            assert_eq!(bounded, computed, "{name}");
        }
    }

    #[test]
    fn ids_are_made_only_of_texts_without() {
        let tokenizer =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tokenizer/tests/fixtures/byte-level.json");
        let scoring = Scoring {
            wanted: Wanted::of_benchmark("llama3.1-8b"),
            benchmark: Benchmark::Llama3_1_8b,
            expected: Vec::new(),
            data_set: FileDigest::unknown(std::path::Path::new("rows.json")),
            model: Some(model_folder::read(&tokenizer).unwrap()),
            punkt: None,
            encoded: AtomicU64::new(0),
        };
        let kept = |token_ids: &[u32], text: &str| KeptOutput {
            stage: 0,
            number: 0,
            row: None,
            ended: std::time::Duration::ZERO,
            output: measurement::output::Output {
                token_ids: token_ids.to_vec(),
                text: text.into(),
                ..Default::default()
            },
        };
        let outputs = vec![kept(&[7], "the text"), kept(&[], "the text"), kept(&[], "")];
        let mut recorder = Recorder::default();
        recorder.outputs = outputs;
        scoring.add_ids(&mut recorder);
        let tokenizer = &scoring.model.as_ref().unwrap().tokenizer;
        let ids: Vec<Vec<u32>> = recorder.outputs.iter().map(|it| it.output.token_ids.clone()).collect();
        assert_eq!(ids, [vec![7], tokenizer.ids("the text").unwrap(), Vec::new()]);
        assert!(scoring.ids().starts_with("the server sent no token ids for 1 answers"), "{}", scoring.ids());
        // The count starts again for the next run of a series.
        scoring.add_ids(&mut recorder);
        assert_eq!(scoring.ids(), "the token ids that the server sent are decoded by the tokenizer");
    }
}
