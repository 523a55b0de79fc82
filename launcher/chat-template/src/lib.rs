//! Renders the chat template of a model: converts messages to the text of a prompt, like `apply_chat_template` of transformers. Pure: the caller
//! reads the template, and passes the time.
//!
//! Templates are Jinja templates, which the crate minijinja runs. This crate adds what transformers adds: `trim_blocks` and `lstrip_blocks`, the
//! methods of Python's strings, lists and dictionaries, `raise_exception`, `strftime_now`, a `tojson` that writes like Python's `json.dumps`, `break`
//! and `continue`, and the tag `generation`. A template comes from the publisher of the model and is not trusted. So its work and its output are
//! limited, and it cannot load other templates.

mod generation;
mod json;
mod python;

use std::{error::Error as _, fmt};

use jiff::civil::DateTime;
use minijinja::{Environment, Error, ErrorKind, State, Value, syntax::SyntaxConfig, value::Serde};
use serde_json::Map;

/// Maximum bytes of a template: fifty times the longest published one.
pub const MAX_TEMPLATE: usize = 1 << 20;
/// Maximum bytes of a rendered text.
pub const MAX_OUTPUT: usize = 64 << 20;
/// Maximum number of instructions per rendering. Every 64 bytes of produced text count as one more instruction. A chat of a thousand messages needs a
/// tenth of this limit. It keeps the time to about a second, and the memory to 256 MiB.
const FUEL: u64 = 4 << 20;
/// Maximum length of a message of the library or of a template that is included in an error.
const MAX_REASON: usize = 300;
/// The name of the template in its environment. Users never see it.
const NAME: &str = "chat_template";

/// The reason why a template cannot be used at all, or not with these messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatTemplateError {
    /// The text is not a template.
    #[error("the chat template is not valid{}: {reason}; give the one that the model is published with", at(*.line))]
    Syntax {
        /// The number of the line, from 1.
        line: Option<usize>,
        /// The message of the library.
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
    /// The template refused the messages: it called `raise_exception` with this text.
    #[error("{0}")]
    Raised(String),
    /// The template failed while it was rendered with these messages.
    #[error("the chat template fails{}: {reason}", at(*.line))]
    Failed {
        /// The number of the line, from 1.
        line: Option<usize>,
        /// The message of the library.
        reason: String,
    },
    /// The template exceeded the limit on its work or on the length of its text.
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
    /// Whether the text ends with the start of the model's answer, so that the model continues there.
    pub add_generation_prompt: bool,
    /// The special tokens of the tokenizer by name, such as `bos_token`, and the variables of the user. They override all other variables.
    pub variables: &'a Map<String, serde_json::Value>,
    /// The local time that `strftime_now` returns. With `None`, a template that calls `strftime_now` fails. Set it only if prompts can differ between
    /// runs.
    pub now: Option<DateTime>,
}

/// A compiled chat template. It is deterministic: the same chat always gives the same text.
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

    /// Renders a chat to text.
    ///
    /// # Errors
    /// The template refuses the messages, fails with them, or exceeds a limit.
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

/// The text that a template passes to `raise_exception`. This type distinguishes it from messages of the library.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
}

/// Like `datetime.now().strftime(format)` in Python, with `now` as the time.
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

/// The message of the library, without the position.
fn reason(error: &Error) -> String {
    let kind = error.kind();
    error.detail().map_or_else(|| kind.to_string(), |detail| cut(&format!("{kind}: {detail}")))
}

/// The first [`MAX_REASON`] characters of a message, as one line.
fn cut(message: &str) -> String {
    message.chars().take(MAX_REASON).map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// Adds text that this crate's functions or filters produced to the work of the rendering, which is limited.
fn charge(state: &State<'_, '_>, bytes: usize) -> Result<(), Error> {
    state.consume_fuel(bytes as u64 / 64)
}
