//! The data of the flat form.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Nested;
use crate::{formats::guidellm::paths, problem::quoted, reader::described, workload::DataSetFormat, yaml};

/// The sources of data, and how their rows are handed out. `None` goes with a problem.
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
    let arguments: &[Value] = match flat.get("data_args") {
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    for (source, arguments) in sources.iter_mut().zip(arguments) {
        if let (Value::Object(source), Value::Object(_)) = (source, arguments) {
            source.insert("load_kwargs".to_owned(), arguments.clone());
        }
    }
    nested.set("data", &name("data"), Value::Array(sources));
    if let Some(samples) = flat.get("data_samples") {
        nested.set("data_loader.samples", &name("data_samples"), samples.clone());
    }
    match flat.get("data_sampler") {
        None => {}
        Some(Value::String(text)) if text == "shuffle" || text == "random" => {
            nested.set("data_loader.shuffle", &name("data_sampler"), Value::Bool(true));
        }
        Some(other) => nested.problem(&name("data_sampler"), format!("is {}; write shuffle", described(other))),
    }
    if let Some(mapper @ Value::Object(_)) = flat.get("data_column_mapper") {
        nested.set("data_column_mapper.column_mappings", &name("data_column_mapper"), mapper.clone());
    }
    Some(())
}

/// A source of data: lengths as a text or as a mapping, or a file.
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
        None => json!({"kind": "huggingface", "source": text}),
    })
}
