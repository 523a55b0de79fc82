//! The selected questions, and their prompts. Pure.

use std::collections::BTreeMap;

use accuracy::mmlu::{self, Question};
use workload_profiles::workload::{QuestionFormat, Questions};

use super::rows::Row;
use prompts::{source::PromptSource, token_count::TokenCount};

/// The selected questions, in order. Question i is request i of a stage.
#[derive(Debug, Default)]
pub struct QuestionSet {
    subjects: Vec<Subject>,
    asked: Vec<Stored>,
    format: mmlu::Format,
    instruction: String,
    max_tokens: u32,
}

#[derive(Debug)]
struct Subject {
    name: String,
    examples: Vec<Question>,
}

#[derive(Debug)]
struct Stored {
    index: u64,
    subject: usize,
    /// Number of examples in the subject in the prompt.
    shots: usize,
    question: Question,
}

/// A selected question, without its text.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Position of the question in the data, from 0.
    pub index: u64,
    /// The subject as named in the data.
    pub subject: &'a str,
    /// The letter of the correct choice.
    pub gold: char,
}

impl QuestionSet {
    pub(super) fn new(
        questions: &Questions,
        chosen: Vec<(u64, Row)>,
        mut examples: BTreeMap<String, Vec<Question>>,
    ) -> QuestionSet {
        let (mut subjects, mut places) = (Vec::new(), BTreeMap::new());
        let mut asked = Vec::with_capacity(chosen.len());
        for (index, Row { subject, question }) in chosen {
            let place = *places.entry(subject).or_insert_with_key(|name: &String| {
                let examples = examples.remove(name).unwrap_or_default();
                subjects.push(Subject { name: name.clone(), examples });
                subjects.len() - 1
            });
            asked.push(Stored { index, subject: place, shots: questions.shots as usize, question });
        }
        QuestionSet {
            subjects,
            asked,
            format: format(questions.format),
            instruction: questions.instruction.clone().unwrap_or_default(),
            max_tokens: questions.max_tokens,
        }
    }

    /// Removes examples from prompts with more than `most` tokens, the last examples first. The tokens of each text are counted separately, which
    /// tends to overestimate the total. Returns the number of questions with prompts that lost examples.
    pub(super) fn fit(&mut self, most: u32, tokens: &TokenCount) -> u64 {
        let of_example = |it: &Question| u64::from(tokens.count(&mmlu::example(self.format, it)));
        let lengths: Vec<Vec<u64>> =
            self.subjects.iter().map(|it| it.examples.iter().map(of_example).collect()).collect();
        let mut cut = 0;
        for place in 0..self.asked.len() {
            let Stored { subject, .. } = self.asked[place];
            let lengths = &lengths[subject];
            let mut text = String::new();
            self.write_with(place, 0, &mut text);
            let mut left = u64::from(most).saturating_sub(u64::from(tokens.count(&text)));
            let fitting =
                lengths.iter().take_while(|it| left.checked_sub(**it).map(|rest| left = rest).is_some()).count();
            cut += u64::from(fitting < lengths.len());
            self.asked[place].shots = fitting;
        }
        cut
    }

    /// Returns the number of questions.
    pub fn len(&self) -> u64 {
        self.asked.len() as u64
    }

    /// Whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Returns the names of the subjects, in the order of their first question.
    pub fn subjects(&self) -> impl Iterator<Item = &str> {
        self.subjects.iter().map(|it| it.name.as_str())
    }

    /// Returns all questions, in the order in which they are sent.
    pub fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.asked.iter().map(|it| Asked {
            index: it.index,
            subject: &self.subjects[it.subject].name,
            gold: mmlu::LETTERS[it.question.answer % mmlu::LETTERS.len()],
        })
    }

    /// Returns the prompt of question `number`.
    pub fn prompt(&self, number: u64) -> String {
        let mut prompt = String::new();
        self.write(number, &mut prompt);
        prompt
    }

    /// Appends the prompt of a question, with the first `shots` examples of its subject.
    fn write_with(&self, place: usize, shots: usize, prompt: &mut String) {
        let asked = &self.asked[place];
        let subject = &self.subjects[asked.subject];
        let examples = &subject.examples[..shots.min(subject.examples.len())];
        if !self.instruction.is_empty() {
            prompt.push_str(&self.instruction);
            prompt.push_str("\n\n");
        }
        prompt.push_str(&mmlu::prompt(self.format, &subject.name, examples, &asked.question));
    }
}

impl PromptSource for QuestionSet {
    fn count(&self) -> u64 {
        self.len()
    }

    fn write(&self, number: u64, prompt: &mut String) {
        let Some(place) = usize::try_from(number).ok().filter(|it| *it < self.asked.len()) else { return };
        self.write_with(place, self.asked[place].shots, prompt);
    }

    fn max_tokens(&self) -> u32 {
        self.max_tokens
    }
}

/// Converts to the type of the crate `accuracy`.
pub fn format(format: QuestionFormat) -> mmlu::Format {
    match format {
        QuestionFormat::Original => mmlu::Format::Original,
        QuestionFormat::Harness => mmlu::Format::Harness,
        QuestionFormat::Chat => mmlu::Format::Chat,
    }
}
