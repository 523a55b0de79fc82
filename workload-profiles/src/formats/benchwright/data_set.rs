//! Prompts from a file.

use std::path::Path;

use serde_json::{Map, Value};

use crate::{
    formats::common::{bounds::MAX_TOKENS, files::file_source},
    reader::{Section, described},
    workload::{
        AcrossStages, ChatRendering, ConversationUse, DataSet, DataSetFormat, LengthFilter, MAX_REQUESTS, OutputLength,
        PromptColumn, PromptForm, RequestSource, RowContent, RowOrder, UsedUp,
    },
};

/// Reads the section `dataSet`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<RequestSource> {
    section.require("file", "write where the launcher finds it: a path, or {url: ...}");
    section.require("row", "write what a row holds, such as {prompt: question} or {conversation: {send: turns}}");
    section.require("output", "write the most tokens of an answer: a number, {column: ...}, answer or unbounded");
    let file = file_source(&section, "file");
    let format = format(&section, file.as_ref().map(|it| it.file_name()));
    let row = row(&section);
    let any_column = has_no_name(&section);
    let output = output(&section);
    let count = section.count("count", 1..=MAX_REQUESTS);
    let filter = section.section("filter").map(filter).unwrap_or_default();
    let orders = [("file", RowOrder::File), ("shuffled", RowOrder::Shuffled)];
    let order = section.or_default("order", RowOrder::default(), |it, key| it.choice(key, &orders));
    let used_up = [
        ("refuse", UsedUp::Refuse),
        ("repeat", UsedUp::Repeat),
        ("draw", UsedUp::Draw),
        ("endStage", UsedUp::EndStage),
    ];
    let used_up = section.or_default("usedUp", UsedUp::default(), |it, key| it.choice(key, &used_up));
    let across = [("restart", AcrossStages::Restart), ("continue", AcrossStages::Continue)];
    let across_stages = section.or_default("acrossStages", AcrossStages::default(), |it, key| it.choice(key, &across));
    let chat_template = chat_template(&section, row.as_ref());
    check_answers(&section, row.as_ref(), output.as_ref(), &filter);
    section.finish();
    Some(RequestSource::DataSet(DataSet {
        file: file?,
        format: format?,
        row: row?,
        any_column,
        chat_template,
        output: output?,
        count,
        filter,
        order: order?,
        used_up: used_up?,
        across_stages: across_stages?,
    }))
}

/// Reads the format. The default is derived from the file's name.
fn format(section: &Section, name: Option<String>) -> Option<DataSetFormat> {
    let formats = DataSetFormat::ALL.map(|it| (it.word(), it));
    let by_name = name.as_ref().and_then(|it| DataSetFormat::from_path(Path::new(it)));
    if by_name.is_none() && name.is_some() {
        section.require(
            "format",
            "write json, jsonl, csv, parquet, text, pickle or npy; the name of the file does not end with one",
        );
    }
    section.choice("format", &formats).or(by_name)
}

fn row(section: &Section) -> Option<RowContent> {
    let (name, holder) = section.variant_with_value("row", &["prompt", "conversation"])?;
    if name == "prompt" { prompt(&holder).map(RowContent::Prompt) } else { conversation(&holder) }
}

/// Whether the profile describes the prompt of a row, but does not name its column.
fn has_no_name(section: &Section) -> bool {
    let prompt = section.value("row").and_then(|it| it.get("prompt"));
    prompt.is_some_and(|it| it.is_object() && it.get("name").is_none())
}

/// Reads the column of the prompts, which the profile describes by its name, its form, or both.
fn prompt(holder: &Section) -> Option<PromptColumn> {
    if holder.value("prompt").is_some_and(serde_json::Value::is_string) {
        return column(holder, "prompt").map(|name| PromptColumn { name, form: PromptForm::Text });
    }
    let section = holder.section("prompt")?;
    let forms = [("text", PromptForm::Text), ("tokenIds", PromptForm::TokenIds), ("messages", PromptForm::Messages)];
    let form = section.or_default("form", PromptForm::default(), |it, key| it.choice(key, &forms));
    // Without a name, the usual column names for this form are tried.
    let name = section.value("name").is_some().then(|| column(&section, "name"));
    section.finish();
    let prompt = PromptColumn::from_form(form?);
    match name {
        None => Some(prompt),
        Some(name) => Some(PromptColumn { name: name?, ..prompt }),
    }
}

fn conversation(holder: &Section) -> Option<RowContent> {
    let section = holder.section("conversation")?;
    section.require("send", "write what is sent: firstTurn, allButLast, all, joinedText or turns");
    let uses = [
        ("firstTurn", ConversationUse::FirstTurn),
        ("allButLast", ConversationUse::AllButLast),
        ("all", ConversationUse::All),
        ("joinedText", ConversationUse::JoinedText),
        ("turns", ConversationUse::Turns),
    ];
    let send = section.choice("send", &uses);
    // The column's name in ShareGPT.
    let column = section.or_default("column", "conversations".to_owned(), column);
    section.finish();
    Some(RowContent::Conversation { column: column?, send: send? })
}

fn output(section: &Section) -> Option<OutputLength> {
    let value = section.value("output")?;
    if value.is_number() {
        return section.count_u32("output", 1..=MAX_TOKENS).map(OutputLength::Fixed);
    }
    let (name, holder) = section.variant("output", &["fixed", "column", "textOf", "answer", "unbounded"])?;
    match name {
        "answer" | "unbounded" => {
            if holder.is_some() {
                section.problem("output", format!("takes no settings for {name}; write output: {name}"));
            }
            Some(if name == "answer" { OutputLength::Answer } else { OutputLength::Unbounded })
        }
        _ => {
            let holder = section.with_value("output", name, holder)?;
            match name {
                "fixed" => holder.count_u32("fixed", 1..=MAX_TOKENS).map(OutputLength::Fixed),
                "column" => column(&holder, "column").map(OutputLength::Column),
                _ => column(&holder, "textOf").map(OutputLength::TextOf),
            }
        }
    }
}

/// Reads the name of a column.
fn column(section: &Section, key: &'static str) -> Option<String> {
    let name = section.text(key)?;
    if name.is_empty() {
        section.problem(key, "is empty; write the name of a column");
        return None;
    }
    Some(name.to_owned())
}

fn filter(section: Section) -> LengthFilter {
    let length = |key| section.count_u32(key, 0..=MAX_TOKENS);
    let filter = LengthFilter {
        min_input: length("minInput"),
        max_input: length("maxInput"),
        min_output: length("minOutput"),
        max_output: length("maxOutput"),
        max_total: length("maxTotal"),
        min_turns: length("minTurns"),
    };
    for (key, min, max_key, max) in [
        ("minInput", filter.min_input, "maxInput", filter.max_input),
        ("minOutput", filter.min_output, "maxOutput", filter.max_output),
    ] {
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            section.problem(key, format!("is {min}, above {max_key}, which is {max}; no row would pass"));
        }
    }
    section.finish();
    filter
}

/// Reads how rows are rendered with a chat template: `true`, or the arguments of the template.
fn chat_template(section: &Section, row: Option<&RowContent>) -> Option<ChatRendering> {
    let value = section.value("chatTemplate")?;
    let arguments = if value.is_object() {
        let inner = section.section("chatTemplate")?;
        inner.require("arguments", "write the variables of the template by their names, or chatTemplate: true");
        let arguments = inner.value("arguments");
        if let Some(other) = arguments.filter(|it| !it.is_object()) {
            inner.problem(
                "arguments",
                format!("is {}; write the variables of the template by their names", described(other)),
            );
        }
        inner.finish();
        arguments.and_then(Value::as_object).cloned().unwrap_or_default()
    } else {
        section.bool("chatTemplate")?.then(Map::new)?
    };
    let ids = |it: &PromptColumn| it.form == PromptForm::TokenIds;
    let problem = match row {
        Some(RowContent::Prompt(column)) if ids(column) => {
            "renders messages or texts, but the rows hold token ids; take it out"
        }
        Some(RowContent::Conversation { send: ConversationUse::Turns, .. }) => {
            "renders a row before the load, but the turns of a session hold answers of this run; take it out, or send allButLast"
        }
        _ => return Some(ChatRendering { arguments }),
    };
    section.problem("chatTemplate", problem);
    None
}

/// Rows that are prompts have neither turns nor a recorded answer. Adds a problem for each setting that needs them.
fn check_answers(section: &Section, row: Option<&RowContent>, output: Option<&OutputLength>, filter: &LengthFilter) {
    if !matches!(row, Some(RowContent::Prompt(_))) {
        return;
    }
    if output == Some(&OutputLength::Answer) {
        let remedy = "write {column: ...}, {textOf: ...} or a number";
        section.problem("output", format!("is answer, but a row with a prompt has no answer of its own; {remedy}"));
    }
    if filter.min_turns.is_some() {
        section.problem("filter.minTurns", "counts the turns of conversations, and a row holds a prompt; take it out");
    }
}
