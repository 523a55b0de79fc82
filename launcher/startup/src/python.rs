//! Parses the Python literals in which engines print their arguments.

use serde_json::{Map, Value};

/// Maximum nesting depth of maps and lists. Arguments of engines use four levels.
const MAX_DEPTH: usize = 32;

/// Parses a map such as `{'port': 8000, 'lora_modules': [LoRAModulePath(name='a', path='b')]}`. A Python object becomes a map with one entry: its
/// class name, with its arguments as text, as in llm-d-benchmark's nop. `None` if the text is not a map, or continues after it.
pub(crate) fn map(text: &str) -> Option<Map<String, Value>> {
    let mut reader = Reader { rest: text };
    let Value::Object(map) = reader.value(0)? else { return None };
    reader.blanks();
    (text.starts_with('{') && reader.rest.is_empty()).then_some(map)
}

/// Parses the arguments of a call such as `ServerArgs(model_path='a', tp_size=1)`.
pub(crate) fn call(text: &str) -> Option<Map<String, Value>> {
    let (class, rest) = text.split_once('(')?;
    if !class.chars().all(is_name) {
        return None;
    }
    let mut reader = Reader { rest };
    let mut map = Map::new();
    loop {
        reader.blanks();
        if reader.take(')') {
            return Some(map);
        }
        let key = reader.name()?.to_owned();
        reader.take('=').then_some(())?;
        let value = reader.value(0)?;
        map.insert(key, value);
        reader.blanks();
        if !reader.take(',') && !reader.rest.starts_with(')') {
            return None;
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, it: char) -> bool {
        self.rest.strip_prefix(it).inspect(|rest| self.rest = rest).is_some()
    }

    /// Removes the first `length` bytes of the remaining text, and returns them.
    fn split(&mut self, length: usize) -> &'a str {
        let (part, rest) = self.rest.split_at(length);
        self.rest = rest;
        part
    }

    fn name(&mut self) -> Option<&'a str> {
        let length = self.rest.find(|it| !is_name(it)).unwrap_or(self.rest.len());
        (length > 0).then(|| self.split(length))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        match self.rest.chars().next()? {
            '{' => self.braces(depth),
            '[' => self.list('[', ']', depth),
            '(' => self.list('(', ')', depth),
            '\'' | '"' => {
                let mut text = self.string()?;
                // As in Python, adjacent strings are concatenated.
                loop {
                    self.blanks();
                    if !self.rest.starts_with(['\'', '"']) {
                        return Some(Value::String(text));
                    }
                    text.push_str(&self.string()?);
                }
            }
            // A value of an enum, such as `<LoadFormat.AUTO: 'auto'>`.
            '<' => {
                let end = self.rest.find('>')? + 1;
                Some(Value::String(self.split(end).to_owned()))
            }
            it if it.is_ascii_digit() || matches!(it, '-' | '+' | '.') => self.number(),
            it if is_name(it) => self.word(),
            _ => None,
        }
    }

    fn braces(&mut self, depth: usize) -> Option<Value> {
        self.take('{').then_some(())?;
        let mut map = Map::new();
        let mut set = Vec::new();
        loop {
            self.blanks();
            if self.take('}') {
                let is_set = map.is_empty() && !set.is_empty();
                return Some(if is_set { Value::Array(set) } else { Value::Object(map) });
            }
            let key = self.value(depth + 1)?;
            self.blanks();
            if self.take(':') {
                let value = self.value(depth + 1)?;
                let key = match key {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                map.insert(key, value);
            } else {
                set.push(key);
            }
            self.blanks();
            if !self.take(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Option<Value> {
        self.take(open).then_some(())?;
        let mut items = Vec::new();
        loop {
            self.blanks();
            if self.take(close) {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.blanks();
            if !self.take(',') && !self.rest.starts_with(close) {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut chars = self.rest.char_indices().skip(1);
        let mut text = String::new();
        while let Some((at, it)) = chars.next() {
            match it {
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    it @ ('x' | 'u' | 'U') => {
                        let length = match it {
                            'x' => 2,
                            'u' => 4,
                            _ => 8,
                        };
                        let digits: String = chars.by_ref().take(length).map(|it| it.1).collect();
                        text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    }
                    other => text.push(other),
                },
                it if it == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                it => text.push(it),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let length = self.rest.find(|it: char| !(it.is_ascii_alphanumeric() || "+-._".contains(it)));
        let text = self.split(length.unwrap_or(self.rest.len()));
        if let Ok(whole) = text.parse::<i64>() {
            return Some(whole.into());
        }
        let number: f64 = text.parse().ok()?;
        Some(serde_json::Number::from_f64(number).map_or_else(|| Value::String(text.to_owned()), Value::Number))
    }

    /// Parses `True`, `None`, a name such as `torch.float16`, or an object.
    fn word(&mut self) -> Option<Value> {
        let name = self.name()?;
        if !self.rest.starts_with('(') {
            return Some(match name {
                "True" => Value::Bool(true),
                "False" => Value::Bool(false),
                "None" => Value::Null,
                other => Value::String(other.to_owned()),
            });
        }
        let class = name.rsplit('.').next().unwrap_or(name);
        let length = brackets(self.rest)?;
        let inside = self.split(length);
        let arguments = inside[1..length - 1].trim();
        Some(Value::Object(Map::from_iter([(class.to_owned(), Value::String(arguments.to_owned()))])))
    }
}

fn is_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '.')
}

/// The length of a text in round brackets at the start of `text`, including nested brackets. Brackets in strings are ignored.
fn brackets(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, it)) = chars.next() {
        match (quote, it) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), it) if it == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(it),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}
