//! The chat template of a model: turns messages into the text of a prompt, like `apply_chat_template` of transformers. Pure: the caller reads
//! the template, and passes the time.
//!
//! Templates are Jinja templates. The crate minijinja runs them, with the additions of transformers: `trim_blocks` and `lstrip_blocks`, the
//! methods of Python's strings, lists and dictionaries, `raise_exception`, `strftime_now`, a `tojson` that writes like Python's `json.dumps`,
//! `break` and `continue`, and the tag `generation`. A template comes from the publisher of the model. So its work and its output have
//! bounds, and it cannot load other templates.

mod generation;
mod json;
mod python;

use std::{error::Error as _, fmt};

use jiff::civil::DateTime;
use minijinja::{Environment, Error, ErrorKind, State, Value, syntax::SyntaxConfig, value::Serde};
use serde_json::Map;

/// Maximum length of a template, in bytes: fifty times the longest published template.
pub const MAX_TEMPLATE: usize = 1 << 20;
/// Maximum length of a rendered text, in bytes.
pub const MAX_OUTPUT: usize = 64 << 20;
/// Maximum instructions per rendering; 64 bytes of produced text count as one. A chat of a thousand messages takes a tenth of it. It bounds
/// the time to about a second, and the memory to 256 MiB.
const FUEL: u64 = 4 << 20;
/// Maximum length of a repeated message from the library or a template.
const MAX_REASON: usize = 300;
/// The name of the template in its environment. It is never printed.
const NAME: &str = "chat_template";

/// Why a template cannot be used, or cannot be used with these messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatTemplateError {
    /// The text is not a template.
    #[error("the chat template is not valid{}: {reason}; give the one that the model is published with", at(*.line))]
    Syntax {
        /// The line, from 1.
        line: Option<usize>,
        /// The library's error.
        reason: String,
    },
    /// The template is too long.
    #[error(
        "the chat template has {bytes} bytes, of at most {MAX_TEMPLATE}; give the one that the model is published with"
    )]
    TooLong {
        /// The length of the template in bytes.
        bytes: usize,
    },
    /// The template calls `raise_exception`: it refuses these messages. The message is the template's own.
    #[error("{0}")]
    Raised(String),
    /// The template fails with these messages.
    #[error("the chat template fails{}: {reason}", at(*.line))]
    Failed {
        /// The line, from 1.
        line: Option<usize>,
        /// The library's error.
        reason: String,
    },
    /// The template does more work, or produces a longer text, than is allowed.
    #[error("the chat template takes more work or makes a longer text than is allowed; shorten the messages")]
    TooMuch,
}

fn at(line: Option<usize>) -> String {
    line.map(|it| format!(" in line {it}")).unwrap_or_default()
}

/// The input of a rendering.
#[derive(Clone, Copy, Debug)]
pub struct Chat<'a> {
    /// The messages: a list of objects, each with `role` and `content`.
    pub messages: &'a serde_json::Value,
    /// The tools that the model may call; `None` if there are none.
    pub tools: Option<&'a serde_json::Value>,
    /// Documents for the model; `None` if there are none.
    pub documents: Option<&'a serde_json::Value>,
    /// Ends the text with the beginning of the model's answer.
    pub add_generation_prompt: bool,
    /// The special tokens of the tokenizer by their names, such as `bos_token`, and the user's variables. They override all other variables.
    pub variables: &'a Map<String, serde_json::Value>,
    /// The local time that `strftime_now` uses; `None`: a template that calls it fails. Set it if prompts may differ between runs.
    pub now: Option<DateTime>,
}

/// A chat template, ready to be rendered. Rendering the same chat twice gives the same text.
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChatTemplate")
    }
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// The text is not a Jinja template, or is longer than [`MAX_TEMPLATE`].
    pub fn parse(source: &str) -> Result<ChatTemplate, ChatTemplateError> {
        if source.len() > MAX_TEMPLATE {
            return Err(ChatTemplateError::TooLong { bytes: source.len() });
        }
        let syntax = |error: Error| ChatTemplateError::Syntax { line: error.line(), reason: reason(&error) };
        let mut environment = Environment::new();
        let blocks = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(syntax)?;
        environment.set_syntax(blocks);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(python::method);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_template_owned(NAME, generation::without_tags(source)).map_err(syntax)?;
        Ok(ChatTemplate { environment })
    }

    /// The rendered text of a chat.
    ///
    /// # Errors
    /// The template refuses the messages, fails with them, or exceeds a bound.
    pub fn render(&self, chat: &Chat<'_>) -> Result<String, ChatTemplateError> {
        let now = chat.now;
        let optional =
            |value: Option<&serde_json::Value>| value.map_or_else(|| Value::from(()), |it| Value::from(Serde(it)));
        let mut variables: Vec<(String, Value)> = vec![
            ("messages".into(), Value::from(Serde(chat.messages))),
            ("tools".into(), optional(chat.tools)),
            ("documents".into(), optional(chat.documents)),
            ("add_generation_prompt".into(), chat.add_generation_prompt.into()),
            ("strftime_now".into(), Value::from_function(move |format: &str| strftime(now, format))),
        ];
        variables.extend(chat.variables.iter().map(|(name, value)| (name.clone(), Value::from(Serde(value)))));
        let template = self.environment.get_template(NAME).map_err(|error| failure(&error))?;
        let text = template.render(Value::from_pairs(variables)).map_err(|error| failure(&error))?;
        if text.len() > MAX_OUTPUT { Err(ChatTemplateError::TooMuch) } else { Ok(text) }
    }
}

/// The message that a template passes to `raise_exception`, kept apart from the library's messages.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
}

/// Python's `datetime.now().strftime(format)`.
fn strftime(now: Option<DateTime>, format: &str) -> Result<String, Error> {
    let wrong = |reason: String| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {reason}"));
    let now = now.ok_or_else(|| wrong("the template asks for the time, and there is none".into()))?;
    jiff::fmt::strtime::format(format, now).map_err(|error| wrong(error.to_string()))
}

fn failure(error: &Error) -> ChatTemplateError {
    if error.kind() == ErrorKind::OutOfFuel {
        return ChatTemplateError::TooMuch;
    }
    let mut source = error.source();
    while let Some(it) = source {
        if let Some(Raised(message)) = it.downcast_ref() {
            return ChatTemplateError::Raised(cut(message));
        }
        if it.downcast_ref::<Error>().is_some_and(|it| it.kind() == ErrorKind::OutOfFuel) {
            return ChatTemplateError::TooMuch;
        }
        source = it.source();
    }
    ChatTemplateError::Failed { line: error.line(), reason: reason(error) }
}

/// The library's message, without the position.
fn reason(error: &Error) -> String {
    let kind = error.kind();
    error.detail().map_or_else(|| kind.to_string(), |detail| cut(&format!("{kind}: {detail}")))
}

/// The first characters of a message, on one line.
fn cut(message: &str) -> String {
    message.chars().take(MAX_REASON).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// Charges the work of a rendering for a text that a function or filter of this crate produced.
fn charge(state: &State<'_, '_>, bytes: usize) -> Result<(), Error> {
    state.consume_fuel(bytes as u64 / 64)
}
