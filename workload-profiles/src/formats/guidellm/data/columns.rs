//! `spec.data_column_mapper`: the roles of a file's columns.

use serde_json::Value;

use crate::{
    reader::{Section, described},
    workload::{PromptColumn, PromptForm},
};

/// Possible columns for a prompt. GuideLLM uses the first of them that a file contains.
const TEXTS: [&str; 9] =
    ["prompt", "instruction", "question", "input", "context", "content", "conversation", "turn", "text"];
/// Columns that GuideLLM reads in addition to texts and lengths.
const OTHERS: [&str; 12] = [
    "prefix_column",
    "image_column",
    "video_column",
    "audio_column",
    "tools_column",
    "tool_response_column",
    "tool_choice_column",
    "turn_type_column",
    "relative_timestamp_column",
    "requeue_delay_column",
    "request_duration_column",
    "conversation_turns_column",
];

/// The columns that the profile names.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The path of the column mappings, if there are any.
    path: Option<String>,
    text: Option<String>,
    messages: Option<String>,
    pub output: Option<String>,
}

/// Reads the column mapper.
pub(super) fn read(spec: &Section) -> Columns {
    let mut columns = Columns::default();
    let Some(mapper) = spec.section("data_column_mapper") else { return columns };
    let kinds = [("generative_column_mapper", true), ("pooling_column_mapper", false)];
    if mapper.choice("kind", &kinds) == Some(false) {
        mapper.problem(
            "kind",
            "is pooling_column_mapper, for an API that this engine does not call; write generative_column_mapper",
        );
    }
    if let Some(mappings) = mapper.section("column_mappings") {
        columns.path = Some(mapper.path("column_mappings"));
        columns.text = column(&mappings, "text_column");
        columns.messages = column(&mappings, "raw_messages_column");
        columns.output = column(&mappings, "output_tokens_count_column");
        column(&mappings, "prompt_tokens_count_column");
        for key in OTHERS {
            if column(&mappings, key).is_some() {
                mappings.problem(key, "is not supported by this engine; take it out, and the column is not sent");
            }
        }
        mappings.finish();
    }
    mapper.finish();
    columns
}

/// Returns the name of a column: a text, or the first name of a list.
fn column(mappings: &Section, key: &'static str) -> Option<String> {
    let name = match mappings.value(key)? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let first = names.first().and_then(|it| if let Value::String(name) = it { Some(name) } else { None });
            if let (Some(first), true) = (first, names.len() > 1) {
                mappings.notice(
                    key,
                    format!(
                        "holds several names, of which GuideLLM takes the first that the file has; here it is {first}"
                    ),
                );
            }
            first
        }
        _ => None,
    };
    let name = name.filter(|it| !it.trim().is_empty());
    if name.is_none() {
        let found = mappings.value(key).map(described).unwrap_or_default();
        mappings.problem(key, format!("is {found}; write the name of a column"));
    }
    name.cloned()
}

impl Columns {
    /// Returns the column of the prompts. `default` is the column that every file of this format contains.
    pub fn prompt(&self, source: &Section, default: Option<&str>, has_messages: bool) -> Option<PromptColumn> {
        let named = |name: &String, form| Some(PromptColumn { name: name.clone(), form });
        match (&self.text, &self.messages, &self.path) {
            (Some(_), Some(_), path) => {
                let path = path.as_deref().unwrap_or("column_mappings");
                source.problem(
                    "kind",
                    format!(
                        "has two columns of prompts, text_column and raw_messages_column of {path}; keep one of them"
                    ),
                );
                None
            }
            (Some(name), None, _) => named(name, PromptForm::Text),
            (None, Some(name), _) => {
                if !has_messages {
                    source.problem(
                        "kind",
                        "holds messages, which a completion cannot hold; write the request_format /v1/chat/completions",
                    );
                }
                named(name, PromptForm::Messages)
            }
            (None, None, Some(path)) => {
                source.problem(
                    "kind",
                    format!("needs the name of its column of prompts; write it as text_column under {path}"),
                );
                None
            }
            (None, None, None) => {
                let name = default.unwrap_or(TEXTS[0]);
                if default.is_none() {
                    let others = TEXTS[1..].join(", ");
                    source.notice("kind", format!("has its prompts in the column {name}; GuideLLM also takes the first of {others} that the file has, so name another one as data_column_mapper.column_mappings.text_column"));
                }
                named(&name.to_owned(), PromptForm::Text)
            }
        }
    }

    /// Whether the profile names columns.
    pub fn are_named(&self) -> bool {
        self.path.is_some()
    }
}
