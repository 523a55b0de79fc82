//! Reads JSON fields. Errors have the messages of vLLM's API server, which uses a Python validation library.

use serde_json::{Map, Value};

use super::error::ApiError;

/// Returns the fields of the body, which must be an object.
pub fn fields(body: &Value) -> Result<&Map<String, Value>, ApiError> {
    let text = "Input should be a valid dictionary";
    body.as_object().ok_or_else(|| ApiError::schema("dict_type", "body", text, &python_text(body)))
}

/// Reads a field that must be an object. Null counts as absent.
pub fn object<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Map<String, Value>>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(other) => Err(wrong("body", name, "dict_type", "Input should be a valid dictionary", other)),
    }
}

/// Reads a field that must be true or false. Null counts as absent.
pub fn flag(fields: &Map<String, Value>, loc: &str, name: &str) -> Result<Option<bool>, ApiError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(other) => Err(wrong(loc, name, "bool_type", "Input should be a valid boolean", other)),
    }
}

/// Reads a field that must be a whole number. Null counts as absent.
pub fn integer(body: &Map<String, Value>, name: &str) -> Result<Option<i64>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(wrong("body", name, "int_type", "Input should be a valid integer", value)),
        },
    }
}

/// Reads a field that must be a number. Null counts as absent.
pub fn number(body: &Map<String, Value>, name: &str) -> Result<Option<f64>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => Err(wrong("body", name, "float_type", "Input should be a valid number", value)),
        },
    }
}

fn wrong(loc: &str, name: &str, kind: &str, message: &str, found: &Value) -> ApiError {
    ApiError::schema(kind, &format!("{loc}.{name}"), message, &python_text(found))
}

/// Formats a value like vLLM's messages. Texts are cut to 64 characters.
pub fn python_text(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.chars().take(64).collect(),
        Value::Array(items) => format!("<list of {} items>", items.len()),
        Value::Object(fields) => format!("<dict of {} items>", fields.len()),
    }
}

/// Returns the error for invalid JSON. Its position counts bytes from 0, while Python counts characters.
pub fn bad_json(body: &[u8], error: &serde_json::Error) -> ApiError {
    let lines_before = body.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    let column = if error.is_eof() { error.column() } else { error.column().saturating_sub(1) };
    let place = lines_before.map(<[u8]>::len).sum::<usize>() + column;
    let text = error.to_string();
    let python = [
        ("expected `:`", "Expecting ':' delimiter"),
        ("expected `,`", "Expecting ',' delimiter"),
        ("key must be a string", "Expecting property name enclosed in double quotes"),
        ("trailing characters", "Extra data"),
        ("EOF while parsing a string", "Unterminated string starting at"),
    ];
    let known = python.iter().find(|(ours, _)| text.starts_with(ours));
    let cause = known.map_or("Expecting value", |(_, theirs)| theirs);
    let quote = if cause.contains('\'') { '"' } else { '\'' };
    ApiError {
        param: Some(format!("body.{place}")),
        ..ApiError::validation(format!(
            "{{'type': 'json_invalid', 'loc': 'body.{place}', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', \
             'ctx': {{'error': {quote}{cause}{quote}}}}}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, place: usize, cause: &str) {
        let error = serde_json::from_str::<Value>(body).unwrap_err();
        let refused = bad_json(body.as_bytes(), &error);
        assert_eq!(refused.param, Some(format!("body.{place}")), "{body}");
        assert!(refused.message.contains(cause), "{body}: {}", refused.message);
    }

    #[test]
    fn json_errors_have_their_place_and_the_words_of_python() {
        check(r#"{"model": "x", "messages": ["#, 28, "{'error': 'Expecting value'}");
        check(r#"{"a": x}"#, 6, "Expecting value");
        check(r#"{"a": 1 "b": 2}"#, 8, "{'error': \"Expecting ',' delimiter\"}");
        check(r#"{"a" 1}"#, 5, "Expecting ':' delimiter");
        check("{a: 1}", 1, "Expecting property name enclosed in double quotes");
        check("{\n\"a\": x}", 7, "Expecting value");
        check("1 2", 2, "Extra data");
    }
}
