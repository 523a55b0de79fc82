//! The filter `tojson` of transformers: Python's `json.dumps`, but letters outside ASCII are not escaped. Pure.
//!
//! Jinja's own `tojson` escapes `<`, `>`, `&` and `'` for HTML; the filter of transformers does not.

use minijinja::{
    Error, ErrorKind, State, Value,
    value::{Kwargs, ValueKind},
};

use crate::{charge, python::float};

/// Maximum nesting depth of a value.
const MAX_DEPTH: usize = 200;
/// Maximum indentation per level, in characters.
const MAX_INDENT: usize = 64;

/// How JSON is written. The fields correspond to the arguments of `json.dumps`.
struct Style {
    ascii: bool,
    /// The indentation per level; `None` if everything is on one line.
    indent: Option<String>,
    between_items: String,
    after_key: String,
    sort_keys: bool,
}

/// Python's `json.dumps(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`. Source of the signature: `tojson` in
/// transformers/utils/chat_template_utils.py.
pub(crate) fn tojson(
    state: &State<'_, '_>,
    value: &Value,
    indent: Option<Value>,
    options: Kwargs,
) -> Result<Value, Error> {
    let given = |name: &str| -> Result<Option<Value>, Error> {
        Ok(options.get::<Option<Value>>(name)?.filter(|it| !it.is_none()))
    };
    let indent = match indent.filter(|it| !it.is_none()) {
        Some(it) => Some(it),
        None => given("indent")?,
    };
    let indent = indent.map(|it| indentation(&it)).transpose()?;
    let is_true = |name: &str| Ok::<bool, Error>(given(name)?.is_some_and(|it| it.is_true()));
    let (between_items, after_key) = match given("separators")? {
        Some(pair) => separators(&pair)?,
        None if indent.is_some() => (",".into(), ": ".into()),
        None => (", ".into(), ": ".into()),
    };
    let style =
        Style { ascii: is_true("ensure_ascii")?, indent, between_items, after_key, sort_keys: is_true("sort_keys")? };
    options.assert_all_used()?;
    let mut json = String::new();
    style.write(state, value, 0, &mut json)?;
    Ok(Value::from(json))
}

fn wrong(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("tojson: {}", reason.into()))
}

/// The indentation per level, given as a number of spaces or as a text.
fn indentation(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return if text.len() <= MAX_INDENT { Ok(text.to_owned()) } else { Err(wrong("indent is too long")) };
    }
    let spaces = match value.kind() {
        ValueKind::Bool => Some(i64::from(value.is_true())),
        _ => value.as_i64(),
    };
    // Python treats a negative number of spaces as zero.
    let spaces = spaces.map(|it| usize::try_from(it).unwrap_or_default()).filter(|it| *it <= MAX_INDENT);
    spaces
        .map(|it| " ".repeat(it))
        .ok_or_else(|| wrong(format!("indent is {value}; at most {MAX_INDENT} spaces are possible")))
}

fn separators(pair: &Value) -> Result<(String, String), Error> {
    let two = || wrong("separators are two texts");
    let texts: Vec<String> =
        pair.try_iter()?.take(3).map(|it| it.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(two)?;
    <[String; 2]>::try_from(texts).map(|[items, key]| (items, key)).map_err(|_| two())
}

impl Style {
    fn write(&self, state: &State<'_, '_>, value: &Value, depth: usize, json: &mut String) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(wrong(format!("the value is nested more than {MAX_DEPTH} deep")));
        }
        let before = json.len();
        match value.kind() {
            ValueKind::None => json.push_str("null"),
            ValueKind::Bool => json.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => json.push_str(&number(value)),
            ValueKind::String => self.text(value.as_str().unwrap_or_default(), json),
            ValueKind::Seq | ValueKind::Iterable => {
                json.push('[');
                let mut is_empty = true;
                for item in value.try_iter()? {
                    self.next(is_empty, depth + 1, json);
                    is_empty = false;
                    self.write(state, &item, depth + 1, json)?;
                }
                self.close(is_empty, depth, ']', json);
            }
            ValueKind::Map => {
                json.push('{');
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                for (place, key) in keys.iter().enumerate() {
                    self.next(place == 0, depth + 1, json);
                    self.key(key, json)?;
                    json.push_str(&self.after_key);
                    self.write(state, &value.get_item(key)?, depth + 1, json)?;
                }
                self.close(keys.is_empty(), depth, '}', json);
            }
            ValueKind::Undefined => return Err(wrong("the value is undefined")),
            kind => return Err(wrong(format!("a value of the kind {kind} has no form in JSON"))),
        }
        // A nested value is charged again as part of each value around it. This only makes the limit stricter.
        charge(state, json.len() - before)
    }

    fn next(&self, is_first: bool, depth: usize, json: &mut String) {
        if !is_first {
            json.push_str(&self.between_items);
        }
        self.line(depth, json);
    }

    fn close(&self, is_empty: bool, depth: usize, bracket: char, json: &mut String) {
        if !is_empty {
            self.line(depth, json);
        }
        json.push(bracket);
    }

    fn line(&self, depth: usize, json: &mut String) {
        if let Some(indent) = &self.indent {
            json.push('\n');
            (0..depth).for_each(|_| json.push_str(indent));
        }
    }

    /// Writes the key of an object. As in Python, a key that is a number, a boolean or null is written as text.
    fn key(&self, key: &Value, json: &mut String) -> Result<(), Error> {
        match key.kind() {
            ValueKind::String => self.text(key.as_str().unwrap_or_default(), json),
            ValueKind::None => self.text("null", json),
            ValueKind::Bool => self.text(if key.is_true() { "true" } else { "false" }, json),
            ValueKind::Number => self.text(&number(key), json),
            kind => return Err(wrong(format!("a key of the kind {kind} has no form in JSON"))),
        }
        Ok(())
    }

    fn text(&self, text: &str, json: &mut String) {
        json.push('"');
        for it in text.chars() {
            match it {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\n' => json.push_str("\\n"),
                '\r' => json.push_str("\\r"),
                '\t' => json.push_str("\\t"),
                '\u{8}' => json.push_str("\\b"),
                '\u{c}' => json.push_str("\\f"),
                '\0'..' ' => json.push_str(&format!("\\u{:04x}", u32::from(it))),
                _ if self.ascii && !it.is_ascii() => {
                    it.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
                }
                _ => json.push(it),
            }
        }
        json.push('"');
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => match number {
            it if it.is_nan() => "NaN".into(),
            it if it.is_infinite() => if it > 0.0 { "Infinity" } else { "-Infinity" }.into(),
            it => float(it),
        },
        _ => value.to_string(),
    }
}
