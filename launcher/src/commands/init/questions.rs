//! The four questions. Pure: the caller provides the input and the output.

use std::io::{self, BufRead, ErrorKind, Write};

use crds::wording::one_line;

use super::{
    answers::{Answers, Target},
    load::Load,
    objectives,
};

/// The default answer if the file does not name a model.
const SERVED: &str = "the model that the server serves";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Target,
    Model,
    Load,
    Objectives,
}

impl Question {
    fn text(self) -> &'static str {
        match self {
            Question::Target => "What to measure: the URL of a server, or simulator with gpu, tiny or instant",
            Question::Model => "Which model",
            Question::Load => "Which load, by concurrency or rate",
            Question::Objectives => "Which objectives, such as ttft p99 500ms, errorRatio 0.01",
        }
    }

    /// The default answer, which is used if the user only presses Enter.
    fn default(self, answers: &Answers) -> String {
        match self {
            Question::Target => answers.target.to_string(),
            Question::Model => answers.model.as_deref().map_or(SERVED.to_owned(), one_line),
            Question::Load => answers.load.to_string(),
            Question::Objectives => objectives::NONE.to_owned(),
        }
    }

    fn set(self, text: &str, answers: &mut Answers) -> Result<(), String> {
        match self {
            Question::Target => answers.target = Target::parse(text)?,
            Question::Model => answers.model = Some(text.to_owned()),
            Question::Load => answers.load = Load::parse(text, &answers.load)?,
            Question::Objectives => answers.objectives = objectives::parse_all(text)?,
        }
        Ok(())
    }
}

/// Asks the questions. `answers` contains the default answers, `served_model` returns the default model of a target, and `check` checks the resulting
/// file. If an answer is wrong, the error is printed and the question is asked again.
///
/// # Errors
/// The input ends before the last answer, or the terminal cannot be used.
pub(super) fn ask(
    questions: &[Question],
    mut answers: Answers,
    served_model: impl Fn(&Target) -> Option<String>,
    check: impl Fn(&Answers) -> Result<(), String>,
    (input, output): (&mut impl BufRead, &mut impl Write),
) -> io::Result<Answers> {
    writeln!(output, "Press Enter to accept the answer in brackets.")?;
    for question in questions {
        if *question == Question::Model {
            answers.model = served_model(&answers.target);
        }
        loop {
            write!(output, "{} [{}]: ", question.text(), question.default(&answers))?;
            output.flush()?;
            // If reading fails, end the line, so that the error message begins on a new one.
            let answer = line(input).inspect_err(|_| drop(writeln!(output)))?;
            let mut changed = answers.clone();
            let set = if answer.is_empty() { Ok(()) } else { question.set(&answer, &mut changed) };
            match set.and_then(|()| check(&changed)) {
                Ok(()) => {
                    answers = changed;
                    break;
                }
                Err(problem) => writeln!(output, "{problem}")?,
            }
        }
    }
    Ok(answers)
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match input.read_line(&mut line)? {
        0 => Err(io::Error::new(ErrorKind::UnexpectedEof, "the answers ended before the last question")),
        _ => Ok(line.trim().to_owned()),
    }
}
