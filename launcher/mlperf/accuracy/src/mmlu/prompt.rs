//! Builds the prompts of MMLU. Pure.

use serde::Serialize;

use super::LETTERS;
use crate::chars::strip;

/// The project whose prompt format is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Format {
    /// The authors' format: two spaces after `about`.
    #[default]
    #[serde(rename = "original")]
    Original,
    /// The format of lm-evaluation-harness: one space after `about`, and questions without surrounding white space.
    #[serde(rename = "lm-eval")]
    Harness,
    /// The authors' format for chats. The caller puts an instruction in front of it.
    #[serde(rename = "chat")]
    Chat,
}

/// A question with its four choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question without the choices.
    pub text: String,
    /// The choices, in the order of [`LETTERS`].
    pub choices: [String; 4],
    /// Index of the correct choice, 0 to 3.
    pub answer: usize,
}

/// Returns the prompt of a question: a headline, the examples with their answers, and the question. Without examples, the headline is kept. Source:
/// `gen_prompt` and `format_example` of evaluate.py.
pub fn prompt(format: Format, subject: &str, examples: &[Question], question: &Question) -> String {
    let words = subject.split('_').filter(|it| !it.is_empty() || format != Format::Harness);
    let subject = words.map(|it| format!(" {it}")).collect::<String>();
    let space = match format {
        Format::Original | Format::Chat => " ",
        Format::Harness => "",
    };
    let mut prompt = format!("The following are multiple choice questions (with answers) about{space}{subject}.\n\n");
    for example in examples {
        add_example(&mut prompt, format, example);
    }
    add_question(&mut prompt, format, question);
    prompt
}

/// Returns an example as it appears in a prompt, so that its length can be measured.
pub fn example(format: Format, example: &Question) -> String {
    let mut text = String::new();
    add_example(&mut text, format, example);
    text
}

fn add_example(prompt: &mut String, format: Format, example: &Question) {
    add_question(prompt, format, example);
    prompt.extend([' ', LETTERS[example.answer % LETTERS.len()], '\n', '\n']);
}

fn add_question(prompt: &mut String, format: Format, question: &Question) {
    let text = if format == Format::Harness { strip(&question.text) } else { &question.text };
    prompt.push_str(text);
    for (letter, choice) in LETTERS.iter().zip(&question.choices) {
        prompt.push_str(&format!("\n{letter}. {choice}"));
    }
    prompt.push_str("\nAnswer:");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_differ_in_spaces() {
        let question = Question { text: " Why? ".into(), choices: ["a", "b", "c", "d"].map(str::to_owned), answer: 2 };
        let tail = "\nA. a\nB. b\nC. c\nD. d\nAnswer:";
        let head = "The following are multiple choice questions (with answers) about";
        assert_eq!(prompt(Format::Original, "us_law", &[], &question), format!("{head}  us law.\n\n Why? {tail}"));
        assert_eq!(
            prompt(Format::Harness, "us_law", std::slice::from_ref(&question), &question),
            format!("{head} us law.\n\nWhy?{tail} C\n\nWhy?{tail}")
        );
    }
}
