//! The data of the flat form.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::nested::{Nested, is_empty};
use crate::{
    formats::guidellm::paths,
    problem::{named, quoted},
    reader::described,
    workload::DataSetFormat,
    yaml,
};

/// Reads the data sources and the order of their rows. Returns `None` if a problem was reported.
pub(super) fn data(nested: &mut Nested, flat: &Map<String, Value>, name: &impl Fn(&str) -> String) -> Option<()> {
    let items: Vec<Value> = match flat.get("data") {
        None => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(item) => vec![item.clone()],
    };
    let is_list = matches!(flat.get("data"), Some(Value::Array(_)));
    let mut sources = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let key = if is_list { format!("{}[{index}]", name("data")) } else { name("data") };
        match source(&item) {
            Ok(source) => sources.push(source),
            Err(message) => {
                nested.problem(&key, message);
                return None;
            }
        }
        nested.names.push((format!("spec.data[{index}]"), nested.shown(&key)));
    }
    columns(nested, flat, name);
    for (index, arguments) in as_list(flat.get("data_args")).iter().enumerate() {
        let key = match flat.get("data_args") {
            Some(Value::Array(_)) => format!("{}[{index}]", name("data_args")),
            _ => name("data_args"),
        };
        read_arguments(nested, sources.get_mut(index), index, arguments, &key);
    }
    let samples = take_samples(&mut sources);
    nested.set("data", &name("data"), Value::Array(sources));
    match (flat.get("data_samples"), samples) {
        (Some(samples), of_source) => {
            nested.set("data_loader.samples", &name("data_samples"), samples.clone());
            if of_source.is_some() {
                nested.notice(&name("data"), format!("has samples, which {} replaces", name("data_samples")));
            }
        }
        (None, Some(samples)) => nested.set("data_loader.samples", &format!("{}.samples", name("data")), samples),
        (None, None) => {}
    }
    order(nested, flat, name);
    if let Some(value) = flat.get("data_collator").filter(|it| it.as_str() != Some("generative")) {
        let what = format!("is {}, which is not used", described(value));
        nested.notice(&name("data_collator"), format!("{what}: each row is one request"));
    }
    Some(())
}

/// Returns the elements of a list. An absent value is an empty list.
fn as_list(value: Option<&Value>) -> &[Value] {
    match value {
        None => &[],
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
    }
}

/// Returns the number of rows. Old versions write it next to the lengths of synthetic data.
fn take_samples(sources: &mut [Value]) -> Option<Value> {
    let synthetic = sources
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .filter(|it| it.get("kind").is_some_and(|it| it == "synthetic_text"));
    synthetic.filter_map(|it| it.remove("samples")).filter(|it| !it.is_null()).last()
}

/// Reads which column has which role.
fn columns(nested: &mut Nested, flat: &Map<String, Value>, name: &impl Fn(&str) -> String) {
    let key = name("data_column_mapper");
    match flat.get("data_column_mapper") {
        None => {}
        Some(mapper @ Value::Object(_)) => {
            nested.set("data_column_mapper.column_mappings", &key, mapper.clone());
        }
        // For generated text, GuideLLM has only this mapper.
        Some(Value::String(mapper)) if mapper == "generative_column_mapper" => {}
        Some(other) => {
            let remedy = "write the names of the columns, as {text_column: prompt}";
            nested.notice(&key, format!("is {}, which is not used; {remedy}", described(other)));
        }
    }
}

/// Reads the arguments of a data source: names of columns, and arguments for GuideLLM's data set library.
fn read_arguments(nested: &mut Nested, source: Option<&mut Value>, index: usize, arguments: &Value, key: &str) {
    let (Some(Value::Object(source)), Value::Object(entries)) = (source, arguments) else {
        if !arguments.is_null() {
            let remedy = "write a mapping for each source of data";
            nested.notice(key, format!("is {}, which is not used; {remedy}", described(arguments)));
        }
        return;
    };
    let mut others = Map::new();
    for (argument, value) in entries {
        let column = match argument.replace('-', "_").as_str() {
            "prompt_column" | "text_column" => "text_column",
            "prompt_tokens_count_column" => "prompt_tokens_count_column",
            "output_tokens_count_column" => "output_tokens_count_column",
            _ => {
                others.insert(argument.clone(), value.clone());
                continue;
            }
        };
        let shown = format!("{key}.{}", named(argument));
        let mapped = nested.spec.pointer(&format!("/data_column_mapper/column_mappings/{column}"));
        if mapped.is_some_and(|it| it != value) {
            nested.problem(
                &shown,
                format!("names another column than {column} elsewhere in the profile; keep one of them"),
            );
        } else if !value.is_null() {
            let path = format!("data_column_mapper.column_mappings.{column}");
            nested.set(&path, &shown, value.clone());
            // The first matching entry counts, so this entry must come before the entry for the other columns.
            nested.names.insert(0, (format!("spec.{path}"), nested.shown(&shown)));
        }
    }
    if !others.is_empty() {
        source.insert("load_kwargs".to_owned(), Value::Object(others));
        // The first matching entry counts, so this entry must come before the entry for the data source.
        let shown = nested.shown(key);
        nested.names.insert(0, (format!("spec.data[{index}].load_kwargs"), shown));
    }
}

/// Reads the order of the rows.
fn order(nested: &mut Nested, flat: &Map<String, Value>, name: &impl Fn(&str) -> String) {
    match flat.get("data_sampler") {
        None => {}
        Some(Value::String(text)) if text == "shuffle" || text == "random" => {
            nested.set("data_loader.shuffle", &name("data_sampler"), Value::Bool(true));
        }
        Some(other) => nested.problem(&name("data_sampler"), format!("is {}; write shuffle", described(other))),
    }
    let key = name("dataloader_kwargs");
    match flat.get("dataloader_kwargs") {
        None => {}
        Some(Value::Object(entries)) => {
            for (argument, value) in entries {
                let shown = format!("{key}.{}", named(argument));
                if argument == "shuffle" {
                    if value.as_bool() != Some(false) || nested.spec.pointer("/data_loader/shuffle").is_none() {
                        nested.set("data_loader.shuffle", &shown, value.clone());
                    }
                } else {
                    nested.notice(&shown, "is not used: it does not change what is sent");
                }
            }
        }
        Some(other) if is_empty(other) => {}
        Some(other) => nested.notice(&key, format!("is {}, which is not used; write a mapping", described(other))),
    }
}

/// Converts a data source: lengths as a text or as a mapping, or a file.
fn source(item: &Value) -> Result<Value, String> {
    let with_kind = |mut entries: Map<String, Value>| {
        let kind = ["kind", "type_", "type"].into_iter().find_map(|it| entries.remove(it));
        entries.insert("kind".to_owned(), kind.unwrap_or_else(|| json!("synthetic_text")));
        Value::Object(entries)
    };
    let text = match item {
        Value::Object(entries) => return Ok(with_kind(entries.clone())),
        Value::String(text) => text.trim(),
        other => return Err(format!("is {}; write prompt_tokens=256,output_tokens=128, or a file", described(other))),
    };
    if text.starts_with('{') {
        return match yaml::read(text) {
            Ok(Value::Object(entries)) => Ok(with_kind(entries)),
            _ => Err(format!("is {}, which is no mapping; check its quotes and brackets", quoted(text))),
        };
    }
    if text.contains('=') && !text.contains("://") {
        return match paths::arguments(text)? {
            Value::Object(entries) => Ok(with_kind(entries)),
            _ => Err(format!("is {}; write prompt_tokens=256,output_tokens=128", quoted(text))),
        };
    }
    Ok(match DataSetFormat::from_path(Path::new(text)) {
        Some(DataSetFormat::Text) => json!({"kind": "text_file", "path": text}),
        Some(DataSetFormat::Csv) => json!({"kind": "csv_file", "path": text}),
        Some(DataSetFormat::Json | DataSetFormat::Jsonl) => json!({"kind": "json_file", "path": text}),
        Some(DataSetFormat::Parquet) => json!({"kind": "parquet_file", "path": text}),
        None | Some(DataSetFormat::Pickle | DataSetFormat::Npy) => json!({"kind": "huggingface", "source": text}),
    })
}
