//! Tests of rows that are rendered with the model's chat template.

use std::{fs, path::PathBuf};

use serde_json::json;
use tokenizer::Tokenizer;
use workload_profiles::workload::{ChatRendering, FileSource};

use super::*;

const TOKENIZER: &[u8] = include_bytes!("../../../tokenizer/tests/fixtures/byte-level.json");
/// A template that writes roles and texts, as the templates of models do. It refuses a message with the text `no`.
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('be polite') }}{% endif %}\
                        <{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<answer>{% endif %}\
                        {% if style is defined %}{{ style }}{% endif %}";

/// A model's folder, and a data set next to it.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(template: Option<&str>, rows: &str) -> Files {
        let files = Files { folder: tempfile::tempdir().unwrap() };
        files.write("tokenizer.json", TOKENIZER);
        files.write("tokenizer_config.json", br#"{"bos_token": "<|begin_of_text|>"}"#);
        files.write("rows.jsonl", rows.as_bytes());
        if let Some(template) = template {
            files.write("chat_template.jinja", template.as_bytes());
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn set(&self, row: RowContent) -> DataSet {
        let prompt = PromptColumn::from_form(PromptForm::Messages);
        let set = DataSet::new(self.path("rows.jsonl"), DataSetFormat::Jsonl, prompt, 9, 1);
        DataSet { row, chat_template: Some(ChatRendering::default()), ..set }
    }

    fn read(&self, set: &DataSet) -> Result<ReadRows, String> {
        let mut workload = workload_of(set);
        workload.tokenizer = Some(FileSource::Path(self.folder.path().to_owned()));
        read_with_digest(&workload, Seed(1)).map_err(|error| error.to_string())
    }
}

fn prompt(form: PromptForm) -> RowContent {
    RowContent::Prompt(PromptColumn::from_form(form))
}

/// Asserts that the row is sent as the token ids of this text.
fn assert_rendered(row: RowContent, json: &str, expected: &str) {
    let files = Files::new(Some(TEMPLATE), json);
    let set = files.set(row);
    assert_eq!(set.form(), PromptForm::TokenIds);
    let found = files.read(&set).unwrap();
    let expected = Tokenizer::parse(TOKENIZER).unwrap().ids(expected).unwrap();
    assert_eq!(found.rows.ids(0), expected, "{json}");
}

#[test]
fn a_row_is_sent_as_the_ids_of_its_rendered_text() {
    let bos = "<|begin_of_text|>";
    assert_rendered(prompt(PromptForm::Text), r#"{"input": "hi"}"#, &format!("{bos}<user>hi<answer>"));
    let messages = r#"{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]}"#;
    let rendered = format!("{bos}<system>be brief<user>hi<answer>");
    assert_rendered(prompt(PromptForm::Messages), messages, &rendered);
    let conversation = r#"{"c": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": "human", "value": "d"}, {"from": "gpt", "value": "e"}]}"#;
    for (send, expected) in [
        (ConversationUse::FirstTurn, "<user>a"),
        (ConversationUse::AllButLast, "<user>a<assistant>b<user>d"),
        (ConversationUse::All, "<user>a<assistant>b<user>d<assistant>e"),
        (ConversationUse::JoinedText, "<user>a\nb\nd"),
    ] {
        let row = RowContent::Conversation { column: "c".into(), send };
        assert_rendered(row, conversation, &format!("{bos}{expected}<answer>"));
    }
}

#[test]
fn the_arguments_of_the_profile_reach_the_template() {
    let files = Files::new(Some(TEMPLATE), r#"{"input": "hi"}"#);
    let mut set = files.set(prompt(PromptForm::Text));
    let plain = files.read(&set).unwrap().rows.ids(0).len();
    let arguments = json!({"style": "<short>"}).as_object().unwrap().clone();
    set.chat_template = Some(ChatRendering { arguments });
    let with_style = files.read(&set).unwrap();
    let added = Tokenizer::parse(TOKENIZER).unwrap().count("<short>").unwrap();
    assert_eq!(with_style.rows.ids(0).len(), plain + added);
}

#[test]
fn lengths_are_those_of_the_rendered_rows() {
    let files = Files::new(Some(TEMPLATE), "{\"input\": \"hi\"}\n{\"input\": \"hi hi hi hi hi hi\"}\n");
    let mut set = files.set(prompt(PromptForm::Text));
    let shorter = files.read(&set).unwrap().rows.ids(0).len();
    set.filter.min_input = Some(u32::try_from(shorter).unwrap() + 1);
    let read = files.read(&set).unwrap();
    assert!(read.rows.len() == 1 && read.rows.ids(0).len() > shorter, "{read:?}");
}

#[test]
fn the_report_has_the_digest_of_the_template() {
    let files = Files::new(Some(TEMPLATE), r#"{"input": "hi"}"#);
    let found = files.read(&files.set(prompt(PromptForm::Text))).unwrap();
    let paths: Vec<_> = found.files.iter().map(|it| (it.path.clone(), it.sha256.is_some())).collect();
    assert_eq!(paths, [(files.path("rows.jsonl"), true), (files.path("chat_template.jinja"), true)]);
}

#[test]
fn what_cannot_be_rendered_is_found_before_the_load() {
    let refused = |template, rows: &str, expected: [&str; 2]| {
        let files = Files::new(template, rows);
        let mut set = files.set(prompt(PromptForm::Text));
        set.count = None;
        let error = files.read(&set).unwrap_err();
        assert!(expected.iter().all(|it| error.contains(it)), "{error}");
    };
    let rows = "{\"input\": \"hi\"}\n{\"input\": \"no\"}\n";
    refused(Some(TEMPLATE), rows, ["rows.jsonl, line 2: cannot be rendered", "be polite"]);
    refused(Some(""), rows, ["line 1: is an empty prompt once it is rendered", "arguments of chatTemplate"]);
    refused(Some("{% if %}"), rows, ["chat_template.jinja", "the chat template is not valid"]);
    refused(None, rows, ["has no chat template", "made for chats"]);
}
