//! Tests reading columns from files of every format, as commands do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use data_sets::columns::{Label, ReadFile, read_columns};
use serde_json::{Map, Value, json};

use super::{assert_equal, files, folder, json as json_of, name, say};

/// Returns the rows of a file as objects with the columns in `names`, their labels, and information about the file.
fn rows(path: &Path, names: &[&str]) -> Result<(Vec<Value>, Vec<Label>, ReadFile), String> {
    let wanted: Vec<&[&str]> = names.iter().map(std::slice::from_ref).collect();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    let read = read_columns(path, &wanted, |row| {
        let values = names.iter().zip(row.values.iter_mut());
        let row_of = values.filter_map(|(name, value)| Some(((*name).to_owned(), value.take()?.1)));
        rows.push(Value::Object(row_of.collect::<Map<_, _>>()));
        labels.push(row.label);
        Ok(())
    });
    read.map(|read| (rows, labels, read)).map_err(|error| error.to_string())
}

fn keys(rows: &Value) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for row in rows.as_array().unwrap() {
        keys.extend(row.as_object().unwrap().keys().filter(|it| !keys.contains(it)).cloned().collect::<Vec<_>>());
    }
    keys
}

fn assert_rows(path: &Path, expected: &Value) {
    let what = name(path);
    let keys = keys(expected);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (found, _, read) = rows(path, &keys).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_equal(&Value::from(found), expected, what);
    assert_eq!(read.notices, Vec::<String>::new(), "{what}");
    assert_eq!(read.file.bytes, Some(fs::metadata(path).unwrap().len()), "{what}");
}

/// Files that have other rows than the other files of their folder.
const OTHERS: [&str; 3] = ["openai_messages.jsonl", "sharegpt.json", "single_object.json"];

#[test]
fn json_has_its_rows_in_every_shape() {
    let expected = folder().join("json/expected_rows.json");
    let (mut compared, mut refused) = (0, 0);
    for path in files("json") {
        let what = name(&path);
        if what.starts_with("bad_") {
            let error = rows(&path, &["input", "output"]).map(|it| it.0).unwrap_err();
            let names_the_place = error.contains("line ") || error.contains("different lengths");
            assert!(names_the_place && error.contains(what), "{error}");
            refused += 1;
        } else if OTHERS.contains(&what) || what.starts_with("expected") {
            continue;
        } else {
            assert_rows(&path, &json_of(&expected));
            compared += 1;
        }
    }
    say(&format!("json: {compared} files compared, {refused} damaged ones refused"));
}

/// The file with this name in the folder of fixtures; `None` if it does not exist.
fn file(name: &str) -> Option<PathBuf> {
    let path = folder().join(name);
    if !path.exists() {
        say(&format!("NOT COMPARED: {name}"));
    }
    path.exists().then_some(path)
}

#[test]
fn conversations_and_single_objects_are_rows() {
    for (name, column, count) in
        [("json/openai_messages.jsonl", "messages", 4), ("json/sharegpt.json", "conversations", 4)]
    {
        let Some(path) = file(name) else { continue };
        let (rows, ..) = rows(&path, &[column]).unwrap();
        assert!(rows.len() >= count.min(2), "{name}: {rows:?}");
        assert!(rows.iter().all(|it| it[column].is_array()), "{name}: {rows:?}");
    }
    if let Some(path) = file("json/single_object.json") {
        let (rows, ..) = rows(&path, &["input", "tok_input", "output"]).unwrap();
        assert_eq!(Value::from(rows), json!([json_of(&path)]));
    }
}

#[test]
fn csv_has_its_rows() {
    let mut compared = 0;
    for path in files("csv").into_iter().filter(|it| !name(it).ends_with(".json")) {
        let own = path.with_extension("expected.json");
        let expected = if own.exists() { own } else { path.with_file_name("expected_rows.json") };
        assert_rows(&path, &json_of(&expected));
        compared += 1;
    }
    say(&format!("csv: {compared} files compared"));
}

/// Columns for which the Parquet reader returns null, because no prompt has these types.
const UNREAD: [&str; 3] = ["bin", "ts", "dec"];

#[test]
fn parquet_has_its_rows_and_labels() {
    let (mut compared, mut refused) = (0, 0);
    for path in files("parquet").into_iter().filter(|it| name(it).ends_with(".parquet")) {
        let what = name(&path);
        let stem = what.trim_end_matches(".parquet");
        let expected =
            [stem, stem.split('_').next().unwrap()].map(|it| path.with_file_name(format!("{it}.expected.json")));
        let Some(expected) = expected.iter().find(|it| it.exists()).map(|it| json_of(it)) else {
            let found = rows(&path, &["input", "tok_input"]);
            let is_empty = found.as_ref().is_ok_and(|it| it.0.is_empty());
            assert!(found.is_err() || is_empty && what == "empty.parquet", "{what}: {found:?}");
            refused += 1;
            continue;
        };
        let (mut wanted, labels) = match expected.get("rows") {
            Some(rows) => (rows.clone(), expected["index"].as_array().cloned()),
            None => (expected, None),
        };
        for row in wanted.as_array_mut().unwrap() {
            row.as_object_mut().unwrap().retain(|name, _| !UNREAD.contains(&name.as_str()));
        }
        assert_rows(&path, &wanted);
        if let Some(labels) = labels {
            let (_, found, _) = rows(&path, &["input"]).unwrap();
            let labels: Vec<Label> = labels.iter().map(|it| Label::Number(it.as_i64().unwrap())).collect();
            assert_eq!(found, labels, "{what}");
        }
        compared += 1;
    }
    say(&format!(
        "parquet: {compared} files compared, without bytes, times and decimals; {refused} empty or damaged ones"
    ));
}

#[test]
fn pickles_have_their_rows_also_compressed() {
    let (mut plain, mut packed) = (0, 0);
    for path in files("pickle").into_iter().filter(|it| !name(it).ends_with(".json")) {
        let what = name(&path);
        let stem = what.split('.').next().unwrap();
        let expected = json_of(&path.with_file_name(format!("{stem}.expected.json")));
        if expected["kind"] != "DataFrame" {
            continue;
        }
        let data = expected["data"].as_object().unwrap();
        let count = expected["index"].as_array().unwrap().len();
        let row = |place: usize| {
            Value::Object(data.iter().map(|(name, values)| (name.clone(), as_json(&values[place]))).collect())
        };
        let wanted: Vec<Value> = (0..count).map(row).collect();
        assert_rows(&path, &Value::from(wanted));
        let labels: Vec<Label> = expected["index"].as_array().unwrap().iter().map(label).collect();
        let first = data.keys().next().unwrap().clone();
        assert_eq!(rows(&path, &[&first]).unwrap().1, labels, "{what}");
        if what.ends_with(".pkl") { plain += 1 } else { packed += 1 }
    }
    say(&format!("pickle: the rows of {plain} plain and {packed} compressed tables compared"));
}

/// Converts a value of the fixtures to the JSON that the reader returns: times become nanoseconds, and bytes become text or null.
fn as_json(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(as_json).collect(),
        Value::Object(map) => match map.iter().next().map(|(key, value)| (key.as_str(), value)) {
            Some(("$datetime_ns" | "$int", value)) => value.clone(),
            Some(("$float", _)) => Value::Null,
            Some(("$bytes", hex)) => {
                let hex = hex.as_str().unwrap().as_bytes().chunks(2).map(|it| std::str::from_utf8(it).unwrap());
                let bytes: Vec<u8> = hex.map(|it| u8::from_str_radix(it, 16).unwrap()).collect();
                String::from_utf8(bytes).map_or(Value::Null, Value::from)
            }
            _ => Value::Object(map.iter().map(|(key, value)| (key.clone(), as_json(value))).collect()),
        },
        other => other.clone(),
    }
}

fn label(value: &Value) -> Label {
    match value {
        Value::Number(number) => number.as_i64().map_or(Label::Other, Label::Number),
        Value::String(text) => Label::Text(text.clone()),
        _ => Label::Other,
    }
}

#[test]
fn hostile_pickles_are_refused_with_a_remedy() {
    for path in files("hostile-pickle").into_iter().filter(|it| name(it).ends_with(".pkl")) {
        let what = name(&path);
        let error = rows(&path, &["input"]).map(|it| it.0).expect_err(what);
        assert!(error.contains(what), "{error}");
        if what.starts_with("os_system") {
            assert!(error.contains("names os.system") && error.contains("read_pickle"), "{error}");
        }
    }
}

#[test]
fn arrays_are_columns_of_lists() {
    if let Some(path) = file("npy/ragged_object.npy") {
        let (rows, ..) = rows(&path, &["values"]).unwrap();
        assert_eq!(Value::from(rows), json!([{"values": [1, 2, 3]}, {"values": [4, 5]}, {"values": []}]));
    }
    if let Some(path) = file("npy/bundle_compressed.npz") {
        let (rows, ..) = rows(&path, &["input_ids", "lens"]).unwrap();
        assert_eq!(Value::from(rows), json!([{"input_ids": [1, 2], "lens": 2}, {"input_ids": [3, 4], "lens": 2}]));
    }
    if file("npy/input_ids_padded.npy").is_some() {
        let (rows, ..) = rows(&folder().join("npy"), &["input_ids"]).unwrap();
        assert_eq!(rows[1], json!({"input_ids": [45137, 33605, 85299]}));
        assert_eq!(rows.len(), 5);
    }
}
