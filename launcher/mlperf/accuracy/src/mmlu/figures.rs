//! The figures of MMLU, and the contents of its result files. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::{Categories, Domain, Format, domain};
use crate::figures::mean;

/// How the letter of an answer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Method {
    /// From the log probabilities of the first token.
    #[serde(rename = "log-probabilities")]
    LogProbabilities,
    /// From the generated text.
    #[serde(rename = "text")]
    Text,
}

/// The settings of an MMLU run, which are part of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The project whose prompt format is used.
    pub format: Format,
    /// Number of examples before each question.
    pub shots: usize,
    /// How letters are found.
    pub method: Method,
    /// The project whose table of domains is used.
    pub categories: Categories,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The position of the question in the data, from 0.
    pub index: u64,
    /// The subject as named in the data.
    pub subject: String,
    /// The correct letter.
    pub gold: char,
    /// The letter that the model chose; `None` if it chose none, which counts as wrong.
    pub chosen: Option<char>,
    /// Time from sending the request to the end of the answer, in milliseconds; `None` if it was not measured.
    pub latency_ms: Option<f64>,
    /// Number of prompt tokens; `None` if it is unknown.
    pub prompt_tokens: Option<u64>,
    /// Number of output tokens; `None` if it is unknown.
    pub output_tokens: Option<u64>,
    /// The text of the answer.
    pub output: String,
}

impl Answer {
    /// Whether the chosen letter is correct.
    pub fn is_correct(&self) -> bool {
        self.chosen == Some(self.gold)
    }
}

/// The number of answers in a subject or a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of correct answers.
    pub correct: u64,
    /// Number of all answers.
    pub total: u64,
}

impl Counts {
    fn add(&mut self, correct: bool) {
        self.correct += u64::from(correct);
        self.total += 1;
    }

    /// Returns the share of correct answers, from 0 to 1; 0 if there are no answers.
    pub fn accuracy(self) -> f64 {
        self.correct as f64 / self.total.max(1) as f64
    }
}

/// The figures of an MMLU run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// All questions. The headline figure is the share of correct answers over all questions (micro average), as in the original.
    pub overall: Counts,
    /// Number of questions without a letter. They count as wrong.
    pub unanswered: u64,
    /// The counts of each subject.
    pub by_subject: BTreeMap<String, Counts>,
    /// The counts of each domain.
    pub by_domain: BTreeMap<Domain, Counts>,
    /// Subjects that are missing from the table of domains. They count in the domain Other.
    pub unknown_subjects: BTreeSet<String>,
}

impl Figures {
    /// Computes the figures of these answers.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a Answer>, categories: Categories) -> Figures {
        let mut figures = Figures::default();
        for answer in answers {
            let correct = answer.is_correct();
            let known = domain(&answer.subject, categories);
            if known.is_none() {
                figures.unknown_subjects.insert(answer.subject.clone());
            }
            figures.overall.add(correct);
            figures.unanswered += u64::from(answer.chosen.is_none());
            figures.by_subject.entry(answer.subject.clone()).or_default().add(correct);
            figures.by_domain.entry(known.unwrap_or(Domain::Other)).or_default().add(correct);
        }
        figures
    }

    /// Returns the mean of all subjects' accuracies, from 0 to 1; `None` if there are no answers.
    pub fn macro_accuracy(&self) -> Option<f64> {
        mean(&self.by_subject.values().map(|it| it.accuracy()).collect::<Vec<_>>())
    }

    /// Returns the content of `overall.json`.
    pub fn overall_json(&self, settings: &Settings) -> Json {
        json!({
            "overall_accuracy": self.overall.accuracy(),
            "correct": self.overall.correct,
            "total": self.overall.total,
            "unanswered": self.unanswered,
            "macro_subject_accuracy": self.macro_accuracy(),
            "format": settings.format,
            "shots": settings.shots,
            "scoring": settings.method,
            "categories": settings.categories,
            "subjects_in_no_category": self.unknown_subjects,
        })
    }

    /// Returns the content of `by_subject.json`: the accuracy of each subject, by name.
    pub fn by_subject_json(&self) -> Json {
        plain(self.subjects())
    }

    /// Returns the content of `by_domain.json`: the accuracy of each domain, by name.
    pub fn by_domain_json(&self) -> Json {
        plain(self.domains())
    }

    /// Returns the content of `by_subject_detail.json`: the counts of each subject, by name.
    pub fn by_subject_detail_json(&self) -> Json {
        detail(self.subjects())
    }

    /// Returns the content of `by_domain_detail.json`: the counts of each domain, by name.
    pub fn by_domain_detail_json(&self) -> Json {
        detail(self.domains())
    }

    fn subjects(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.by_subject.iter().map(|(name, it)| (name.as_str(), *it))
    }

    fn domains(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.by_domain.iter().map(|(domain, it)| (domain.name(), *it))
    }
}

fn plain<'a>(counts: impl Iterator<Item = (&'a str, Counts)>) -> Json {
    Json::Object(counts.map(|(name, it)| (name.to_owned(), it.accuracy().into())).collect::<Map<_, _>>())
}

fn detail<'a>(counts: impl Iterator<Item = (&'a str, Counts)>) -> Json {
    let entry = |it: Counts| json!({"correct": it.correct, "total": it.total, "accuracy": it.accuracy()});
    Json::Object(counts.map(|(name, it)| (name.to_owned(), entry(it))).collect::<Map<_, _>>())
}

/// Writes `samples.csv`: one line per question, quoted as in RFC 4180. Values that were not measured are empty.
///
/// # Errors
/// Writing to `out` fails.
pub fn csv<'a>(
    answers: impl IntoIterator<Item = &'a Answer>,
    categories: Categories,
    out: impl io::Write,
) -> io::Result<()> {
    let mut file = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    file.write_record([
        "index",
        "subject",
        "domain",
        "answer",
        "pred",
        "correct",
        "latency_ms",
        "prompt_tokens",
        "output_tokens",
        "output",
    ])?;
    for answer in answers {
        let optional = |it: Option<u64>| it.map(|it| it.to_string()).unwrap_or_default();
        file.write_record([
            answer.index.to_string().as_str(),
            &answer.subject,
            domain(&answer.subject, categories).unwrap_or(Domain::Other).name(),
            &answer.gold.to_string(),
            &answer.chosen.map(String::from).unwrap_or_default(),
            if answer.is_correct() { "1" } else { "0" },
            &answer.latency_ms.map(|it| it.to_string()).unwrap_or_default(),
            &optional(answer.prompt_tokens),
            &optional(answer.output_tokens),
            &answer.output,
        ])?;
    }
    file.flush()
}

/// Distributes a limited number of questions as equally as possible over subjects, and returns the number per subject. In each round, every subject
/// gets one more question, until the limit is reached or no question is left. `available` is the number of questions per subject.
pub fn shares(limit: usize, available: &[usize]) -> Vec<usize> {
    let mut shares = vec![0; available.len()];
    let mut left = limit;
    loop {
        let before = left;
        for (share, all) in shares.iter_mut().zip(available) {
            let more = usize::from(*share < *all && left > 0);
            *share += more;
            left -= more;
        }
        if left == before {
            return shares;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(subject: &str, gold: char, chosen: Option<char>) -> Answer {
        Answer { subject: subject.into(), gold, chosen, ..Answer::default() }
    }

    fn answers() -> Vec<Answer> {
        vec![
            answer("anatomy", 'A', Some('A')),
            answer("anatomy", 'B', None),
            answer("astronomy", 'C', Some('C')),
            answer("alchemy", 'D', Some('A')),
        ]
    }

    #[test]
    fn the_headline_is_over_questions_and_the_mean_over_subjects() {
        let figures = Figures::of(&answers(), Categories::Original);
        assert_eq!((figures.overall.accuracy(), figures.macro_accuracy()), (0.5, Some(0.5)));
        assert_eq!(figures.unanswered, 1);
        assert_eq!(figures.by_domain_json(), json!({"Other": 1.0 / 3.0, "STEM": 1.0}));
        assert_eq!(figures.by_subject_json()["anatomy"], 0.5);
        assert_eq!(figures.by_subject_detail_json()["anatomy"], json!({"correct": 1, "total": 2, "accuracy": 0.5}));
        let settings = Settings {
            format: Format::Original,
            shots: 5,
            method: Method::LogProbabilities,
            categories: Categories::Original,
        };
        let overall = figures.overall_json(&settings);
        assert_eq!(overall["subjects_in_no_category"], json!(["alchemy"]));
        assert_eq!((&overall["format"], &overall["scoring"]), (&json!("original"), &json!("log-probabilities")));
    }

    #[test]
    fn lm_eval_counts_anatomy_as_stem() {
        let figures = Figures::of(&answers(), Categories::LmEval);
        assert_eq!(figures.by_domain[&Domain::Stem], Counts { correct: 2, total: 3 });
    }

    #[test]
    fn a_line_of_csv_is_quoted_where_it_must_be() {
        let mut answer = answer("law, \"us\"", 'A', None);
        answer.output = "one\ntwo".into();
        answer.latency_ms = Some(1.5);
        let mut out = Vec::new();
        csv([&answer], Categories::Original, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = "0,\"law, \"\"us\"\"\",Other,A,,0,1.5,,,\"one\ntwo\"\r\n";
        assert!(text.starts_with("index,subject,") && text.ends_with(line), "{text}");
    }

    #[test]
    fn a_limit_is_shared_out_equally() {
        assert_eq!(shares(7, &[10, 1, 10]), [3, 1, 3]);
        assert_eq!(shares(5, &[10, 10, 10]), [2, 2, 1]);
        assert_eq!(shares(100, &[2, 0, 3]), [2, 0, 3]);
        assert_eq!(shares(0, &[2, 2]), [0, 0]);
        assert_eq!(shares(5, &[]), [0_usize; 0]);
    }
}
