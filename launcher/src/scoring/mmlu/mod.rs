//! The figures, the verdict and the files of an MMLU run. Pure.

use std::{
    collections::{BTreeMap, HashMap},
    io,
};

use accuracy::mmlu::{
    self, Answer, Categories, Counts, Domain, Figures, Format, Method, Settings, from_log_probabilities, from_text,
};
use analysis::{Accuracy, AccuracyFigure, AccuracyLimit, NotComputed};
use charts::svg::{Ranked, Ranking, draw_ranking};
use crds::AccuracyVerdict;
use measurement::{load_result::LoadResult, record::RequestRecord, recorder::KeptOutput};
use questions::{QuestionSet, categories, format};
use report::AccuracyFile;
use serde_json::{Value, json};
use tracing::warn;
use workload_profiles::{
    Workload,
    workload::{AnswerScoring, Questions, RequestSource},
};

use super::Scored;

/// The name of the check.
const CHECK: &str = "mmlu";
/// The figure to which a limit applies.
const OVERALL: &str = "overall_accuracy";

/// The message for answers without figures.
const NO_LOGPROBS: &str =
    "no answer has log probabilities: the server does not send them; set scoring to text in the profile";
/// Width of the picture, in pixels.
const WIDTH: f64 = 760.0;

/// The scores of a run's questions.
#[derive(Debug)]
struct Scores {
    /// The counts of correct answers.
    figures: Figures,
    /// The questions that were sent, in the order of the data.
    answers: Vec<Answer>,
    /// Number of questions whose request failed, by outcome. They count as unanswered.
    failed: BTreeMap<String, u64>,
    /// Number of questions that were not sent, or were in flight when the load ended. They are not counted.
    not_asked: u64,
    /// Whether log probabilities were requested, but no answer has any.
    lacks_logprobs: bool,
    questions: Questions,
    settings: Settings,
}

/// Returns the accuracy of a load with questions, and its files. `None` if the load has no questions.
pub(crate) fn score(workload: &Workload, set: Option<&QuestionSet>, load: &LoadResult) -> Option<Scored> {
    let (RequestSource::Questions(questions), Some(set)) = (&workload.requests, set) else { return None };
    let records = load.recorder.records.iter().flatten();
    let scores = Scores::new(questions, set, &load.recorder.outputs, records);
    let files = scores.files().unwrap_or_else(|error| {
        warn!(%error, "the accuracy files (overall.json and others) cannot be written and are missing from the results; the figures in the report are not affected");
        Vec::new()
    });
    Some(Scored { accuracy: scores.accuracy(), files })
}

impl Scores {
    /// Scores the outputs of a run. If a question was sent several times, only its first answer counts. `records` are the records of all requests.
    /// Without records there are no latencies and token counts, and a request without an output counts as failed.
    fn new<'r>(
        questions: &Questions,
        set: &QuestionSet,
        outputs: &[KeptOutput],
        records: impl IntoIterator<Item = &'r RequestRecord>,
    ) -> Scores {
        let mut by_number: HashMap<u64, &KeptOutput> = HashMap::new();
        for it in outputs {
            let first = by_number.entry(it.number).or_insert(it);
            if (it.stage, it.ended) < (first.stage, first.ended) {
                *first = it;
            }
        }
        let mut record_of: HashMap<(u32, u64), &RequestRecord> = HashMap::new();
        let mut stage_of: HashMap<u64, u32> = HashMap::new();
        for it in records {
            record_of.insert((it.stage, it.number), it);
            let stage = stage_of.entry(it.number).or_insert(it.stage);
            *stage = it.stage.min(*stage);
        }
        let has_records = !record_of.is_empty();
        let method = match questions.scoring {
            AnswerScoring::Logprobs(_) => Method::LogProbabilities,
            AnswerScoring::Text => Method::Text,
        };
        let (mut answers, mut failed, mut not_asked) = (Vec::new(), BTreeMap::<String, u64>::new(), 0);
        for (asked, number) in set.asked().zip(0_u64..) {
            let kept = by_number.get(&number);
            let stage = kept.map(|it| it.stage).or_else(|| stage_of.get(&number).copied());
            let record = stage.and_then(|it| record_of.get(&(it, number)));
            match (kept, record) {
                (Some(_), _) => {}
                (None, Some(record)) if record.outcome.is_decided() => {
                    *failed.entry(record.outcome.name()).or_default() += 1;
                }
                (None, None) if !has_records => *failed.entry("unknown".to_owned()).or_default() += 1,
                (None, _) => {
                    not_asked += 1;
                    continue;
                }
            }
            let output = kept.map(|it| &it.output);
            let chosen = output.and_then(|it| match method {
                Method::LogProbabilities => {
                    from_log_probabilities(it.first_logprobs.iter().map(|(token, it)| (token.as_str(), *it)))
                }
                Method::Text => from_text(&it.text),
            });
            let latency = record.filter(|_| kept.is_some()).and_then(|it| Some(it.ended.saturating_sub(it.sent?)));
            answers.push(Answer {
                index: asked.index,
                subject: asked.subject.to_owned(),
                gold: asked.gold,
                chosen,
                latency_ms: latency.map(|it| it.as_nanos() as f64 / 1e6),
                prompt_tokens: record.and_then(|it| it.input_tokens).map(u64::from),
                output_tokens: record.and_then(|it| it.output_tokens).map(u64::from),
                output: output.map(|it| it.text.clone()).unwrap_or_default(),
            });
        }
        let categories = categories(questions.domains);
        let settings =
            Settings { format: format(questions.format), shots: questions.shots as usize, method, categories };
        Scores {
            figures: Figures::of(&answers, categories),
            lacks_logprobs: method == Method::LogProbabilities
                && !by_number.is_empty()
                && by_number.values().all(|it| it.output.first_logprobs.is_empty()),
            answers,
            failed,
            not_asked,
            questions: questions.clone(),
            settings,
        }
    }

    /// Number of questions whose request failed.
    fn failed_requests(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Caveats for readers of the figures. Empty if there are none.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.lacks_logprobs {
            remarks.push(NO_LOGPROBS.to_owned());
        }
        if self.failed_requests() > 0 {
            let of: Vec<String> = self.failed.iter().map(|(name, count)| format!("{name} {count}")).collect();
            remarks.push(format!(
                "{} of {} questions have no answer because their requests failed ({}); they count as wrong and unanswered",
                self.failed_requests(),
                self.answers.len(),
                of.join(", ")
            ));
        }
        let unanswered = self.figures.unanswered.saturating_sub(self.failed_requests());
        if unanswered > 0 && !self.lacks_logprobs {
            remarks.push(format!(
                "{unanswered} of {} questions have an answer without a letter from A to D; they count as wrong",
                self.answers.len()
            ));
        }
        if self.not_asked > 0 {
            remarks.push(self.left_out());
        }
        if !self.figures.unknown_subjects.is_empty() {
            let names: Vec<&str> = self.figures.unknown_subjects.iter().map(String::as_str).collect();
            remarks.push(format!("subjects without a known domain count in the domain Other: {}", names.join(", ")));
        }
        remarks
    }

    /// Converts the accuracy to the form in `report.json`, the status and the other reports.
    fn accuracy(&self) -> Accuracy {
        let figures = &self.figures;
        let share =
            |name: &str, value: f64| AccuracyFigure { name: name.to_owned(), value, text: format!("{value:.4}") };
        let limit = self.questions.min_accuracy;
        let value = (!self.lacks_logprobs && !self.answers.is_empty()).then(|| figures.overall.accuracy());
        let doubt = match value {
            None if self.lacks_logprobs => Some(NO_LOGPROBS.to_owned()),
            None => Some("no question was asked".to_owned()),
            Some(_) if self.not_asked > 0 => Some(self.left_out()),
            Some(_) => None,
        };
        let (verdict, met) = match (limit, value, &doubt) {
            (None, ..) => (AccuracyVerdict::NotJudged, None),
            (Some(limit), Some(value), None) if value >= limit => (AccuracyVerdict::Passed, Some(true)),
            (Some(_), Some(_), None) => (AccuracyVerdict::Failed, Some(false)),
            (Some(_), ..) => (AccuracyVerdict::Undecided, None),
        };
        let computed = value.into_iter().flat_map(|value| {
            let domains = figures.by_domain.iter().map(|(it, counts)| share(it.name(), counts.accuracy()));
            let subjects = figures.macro_accuracy().map(|it| share("macro_subject_accuracy", it));
            [share(OVERALL, value)].into_iter().chain(subjects).chain(domains).collect::<Vec<_>>()
        });
        let missing = doubt.iter().filter(|_| value.is_none());
        let mut method = vec![self.how()];
        method.extend(self.remarks());
        Accuracy {
            check: CHECK.to_owned(),
            verdict,
            reasons: doubt.iter().filter(|_| verdict == AccuracyVerdict::Undecided).cloned().collect(),
            figures: computed.collect(),
            limits: limit
                .map(|limit| AccuracyLimit { figure: OVERALL.to_owned(), is_upper: false, limit, value, met })
                .into_iter()
                .collect(),
            not_computed: missing
                .map(|reason| NotComputed { figure: OVERALL.to_owned(), reason: reason.clone() })
                .collect(),
            scored: self.answers.len() as u64 - self.failed_requests(),
            without_answer: self.failed_requests(),
            wanted: None,
            doubts: Vec::new(),
            method,
        }
    }

    /// Describes how the figures were computed.
    fn how(&self) -> String {
        let Settings { format, shots, method, .. } = &self.settings;
        let method = match method {
            Method::LogProbabilities => "the most probable first token",
            Method::Text => "the text of the answer",
        };
        let prompt = match format {
            Format::Original => "the authors' prompt",
            Format::Harness => "the prompt of lm-evaluation-harness",
            Format::Chat => "an instruction and the authors' prompt",
        };
        format!("{shots} examples, {prompt}, answer letter from {method}")
    }

    fn left_out(&self) -> String {
        format!(
            "{} questions were not asked, because the run ended first; they do not count in any figure",
            self.not_asked
        )
    }

    /// Returns the content of `overall.json`.
    fn overall(&self) -> Value {
        let mut overall = self.figures.overall_json(&self.settings);
        let more = json!({
            "failed_requests": self.failed,
            "questions_not_asked": self.not_asked,
            "split": self.questions.split.name(),
            "total_limit": self.questions.total_limit,
            "max_tokens": self.questions.max_tokens,
            "instruction": self.questions.instruction,
            "remarks": self.remarks(),
        });
        if let (Value::Object(overall), Value::Object(more)) = (&mut overall, more) {
            overall.extend(more);
            if self.lacks_logprobs {
                overall.insert(OVERALL.to_owned(), Value::Null);
                overall.insert("macro_subject_accuracy".to_owned(), Value::Null);
            }
        }
        overall
    }

    /// Returns all files, in the order in which they are written.
    ///
    /// # Errors
    /// A text cannot be encoded.
    fn files(&self) -> io::Result<Vec<AccuracyFile>> {
        let figures = &self.figures;
        let mut files = vec![json_file("overall.json", &self.overall())?];
        // If no answer has log probabilities, no answer can be scored, so the files with scores are omitted.
        let has_scores = !self.lacks_logprobs && !figures.by_subject.is_empty();
        if has_scores {
            files.push(json_file("by_domain.json", &figures.by_domain_json())?);
            files.push(json_file("by_subject.json", &figures.by_subject_json())?);
        }
        if has_scores && self.questions.details {
            files.push(json_file("by_domain_detail.json", &figures.by_domain_detail_json())?);
            files.push(json_file("by_subject_detail.json", &figures.by_subject_detail_json())?);
        }
        if self.questions.details {
            let mut content = Vec::new();
            mmlu::csv(&self.answers, self.settings.categories, &mut content)?;
            files.push(AccuracyFile { name: "samples.csv".to_owned(), content });
        }
        if has_scores {
            let content = draw_ranking(&self.ranking(), WIDTH).into_bytes();
            files.push(AccuracyFile { name: "plots/score_by_subject.svg".to_owned(), content });
        }
        Ok(files)
    }

    /// The picture has one bar per subject, with the best first, in the colour of the subject's domain.
    fn ranking(&self) -> Ranking {
        let figures = &self.figures;
        let categories = self.settings.categories;
        let mut subjects: Vec<(&String, &Counts)> = figures.by_subject.iter().collect();
        subjects.sort_by(|one, other| other.1.accuracy().total_cmp(&one.1.accuracy()).then(one.0.cmp(other.0)));
        let bar = |(name, counts): (&String, &Counts)| {
            let domain = domain_of(name, categories);
            Ranked {
                name: name.replace('_', " "),
                group: Domain::ALL.iter().position(|it| *it == domain).unwrap_or_default(),
                value: counts.accuracy(),
                note: format!("{:.1} %, {} of {}", counts.accuracy() * 100.0, counts.correct, counts.total),
            }
        };
        let group = |it: &Domain| match figures.by_domain.get(it) {
            Some(counts) => format!("{} {:.1} %", it.name(), counts.accuracy() * 100.0),
            None => it.name().to_owned(),
        };
        let overall = figures.overall;
        Ranking {
            id: "score-by-subject".to_owned(),
            title: "MMLU by subject".to_owned(),
            caption: format!(
                "Share of right answers, {} of {} questions: {}. Random guesses would score 25 %.",
                overall.correct,
                overall.total,
                self.how()
            ),
            unit: "share".to_owned(),
            groups: Domain::ALL.iter().map(group).collect(),
            bars: subjects.into_iter().map(bar).collect(),
            line: (overall.total > 0)
                .then(|| (overall.accuracy(), format!("all questions {:.1} %", overall.accuracy() * 100.0))),
        }
    }
}

fn domain_of(subject: &str, categories: Categories) -> Domain {
    mmlu::domain(subject, categories).unwrap_or(Domain::Other)
}

fn json_file(name: &str, content: &Value) -> io::Result<AccuracyFile> {
    let mut content = serde_json::to_vec_pretty(content).map_err(io::Error::other)?;
    content.push(b'\n');
    Ok(AccuracyFile { name: name.to_owned(), content })
}

#[cfg(test)]
mod tests;
