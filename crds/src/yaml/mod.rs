//! One YAML document as a tree of values with their positions. The reader interprets a document like kubectl's reader. So a file either has the same
//! meaning on a laptop and in a cluster, or is refused here.
//!
//! kubectl's reader follows YAML 1.1, where `off` is false and `010` is eight. The parser that this project uses for other files follows YAML 1.2.
//! [`scalar`] has the rules.

mod scalar;
mod syntax;

use std::{collections::HashMap, fmt};

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::wording::{cut, named, quoted};
use scalar::Reading;
use syntax::advice;

/// Maximum number of values in a document after aliases are expanded. A BenchmarkRun with all fields has 400.
const MAX_NODES: usize = 50_000;
/// Maximum nesting depth of values. A BenchmarkRun has eight levels.
const MAX_DEPTH: usize = 64;

/// A position in a text. Line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// A problem at a position in a document: `spec.seed, line 3 column 9: is "x"; write a whole number`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The position, if it is known.
    pub place: Option<Place>,
    /// The path of the field. Empty if the problem concerns the whole document.
    pub path: String,
    /// What was found, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.map(|it| it.to_string()).unwrap_or_default();
        let parts: Vec<&str> = [self.path.as_str(), &place].into_iter().filter(|it| !it.is_empty()).collect();
        if !parts.is_empty() {
            write!(f, "{}: ", parts.join(", "))?;
        }
        f.write_str(&self.message)
    }
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The position at which the value begins.
    pub place: Place,
    /// The value itself.
    pub content: Content,
}

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A single value, and the text as it was written.
    Scalar(Value, String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values. Each key occurs once.
    Mapping(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The position of the key.
    pub place: Place,
    /// The value.
    pub value: Node,
}

/// A document, and the problems after which the rest of it could still be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The root value.
    pub root: Node,
    /// Problems: duplicate keys, tags, and ambiguous numbers.
    pub problems: Vec<Problem>,
    /// Keys without quotes that kubectl does not read as text, but as true, false or null.
    pub ambiguous_keys: Vec<Problem>,
}

impl Node {
    /// The entry of a mapping with this key. `None` if there is none, or if the value is not a mapping.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match &self.content {
            Content::Mapping(entries) => entries.iter().find(|it| it.key == key),
            Content::Scalar(..) | Content::List(_) => None,
        }
    }

    /// The text of a string. `None` for any other value.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text), _) => Some(text),
            _ => None,
        }
    }

    /// Whether the value is null or absent.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null, _))
    }

    /// The position of the value at a dotted path. If the value is absent, the position of its nearest existing parent.
    pub fn place_of(&self, path: &str) -> Place {
        let mut at = self;
        let mut place = self.place;
        for segment in path.split(['.', '[']).map(|it| it.trim_end_matches(']')) {
            let inner = match &at.content {
                Content::List(items) => segment.parse().ok().and_then(|index: usize| items.get(index)),
                _ => at.get(segment).map(|it| {
                    place = it.place;
                    &it.value
                }),
            };
            let Some(inner) = inner else { break };
            place = if at.get(segment).is_some() && inner.is_null() { place } else { inner.place };
            at = inner;
        }
        place
    }

    /// Converts the value to JSON, without positions.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(value, _) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Content::Mapping(entries) => {
                Value::Object(entries.iter().map(|it| (it.key.clone(), it.value.to_json())).collect::<Map<_, _>>())
            }
        }
    }

    /// The value as messages show it.
    pub fn described(&self) -> String {
        match &self.content {
            Content::Scalar(Value::Null, _) => "empty".to_owned(),
            Content::Scalar(Value::String(text), _) => quoted(text),
            Content::Scalar(Value::Bool(value), written) if *written != value.to_string() => {
                format!("{}, which kubectl reads as {value}", cut(written))
            }
            Content::Scalar(_, written) => cut(written),
            Content::List(_) => format!("a list, {}", cut(&self.to_json().to_string())),
            Content::Mapping(_) => format!("a mapping, {}", cut(&self.to_json().to_string())),
        }
    }
}

/// Writes YAML that both kubectl and [`read`] read as `value`. If a text would be ambiguous, or does not fit into a block, the result is JSON, which
/// is valid YAML too.
pub fn write(value: &serde_json::Value) -> String {
    let text = serde_saphyr::to_string(value).unwrap_or_default();
    let clear = read(&text).ok().flatten().filter(|it| it.problems.is_empty() && it.ambiguous_keys.is_empty());
    if clear.is_some_and(|it| it.root.to_json() == *value) { text } else { format!("{value:#}\n") }
}

/// Reads one document. Returns `None` for an empty text.
///
/// # Errors
/// The text is not valid YAML, or is larger than the limit for all documents of this project.
pub fn read(text: &str) -> Result<Option<Document>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = Options::default();
    options.emit_comments = false;
    options.block_nesting_limit = MAX_DEPTH;
    options.flow_nesting_limit = MAX_DEPTH;
    let parser = Parser::new_from_str_with_options(text, options);
    let mut reader =
        Reader { text, parser, anchors: HashMap::new(), nodes: 0, problems: Vec::new(), ambiguous_keys: Vec::new() };
    let mut document: Option<Node> = None;
    while let Some((event, span)) = reader.next()? {
        if matches!(event, Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd) {
            continue;
        }
        let root = reader.node(event, span, "")?;
        match &document {
            // Separators at the start and at the end of a text produce empty documents.
            _ if root.is_null() => {}
            None => document = Some(root),
            Some(first) => {
                let message = format!(
                    "holds several documents, the first one at {}; give each document a file of its own",
                    first.place
                );
                return Err(Problem { place: Some(root.place), path: String::new(), message });
            }
        }
    }
    Ok(document.map(|root| Document { root, problems: reader.problems, ambiguous_keys: reader.ambiguous_keys }))
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    /// Anchors by their number: the value, and the number of its nodes. `None` while the value is still being read.
    anchors: HashMap<usize, Option<(Node, usize)>>,
    nodes: usize,
    problems: Vec<Problem>,
    ambiguous_keys: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Problem> {
        self.parser.next_event().transpose().map_err(|error| self.syntax(&error))
    }

    fn syntax(&self, error: &ScanError) -> Problem {
        let place = Place { line: error.marker().line(), column: error.marker().col() + 1 };
        let words = error.info();
        let shown = syntax::shown_line(self.text, place.line);
        let message = format!("is no readable YAML: {words}{shown}; {}", advice(&words));
        Problem { place: Some(place), path: String::new(), message }
    }

    fn must_next(&mut self) -> Result<(Event<'a>, Span), Problem> {
        let end = || Problem {
            place: None,
            path: String::new(),
            message: "is no readable YAML: it ends too early; close every bracket and quote".into(),
        };
        self.next()?.ok_or_else(end)
    }

    /// The next event within a list or mapping. `None` at its end.
    fn next_before(&mut self, end: &Event<'a>) -> Result<Option<(Event<'a>, Span)>, Problem> {
        let next = self.must_next()?;
        Ok(Some(next).filter(|(event, _)| event != end))
    }

    fn node(&mut self, event: Event<'a>, span: Span, path: &str) -> Result<Node, Problem> {
        let place = Place { line: span.start.line(), column: span.start.col() + 1 };
        let before = self.nodes;
        self.count(1, place)?;
        let (anchor, content) = match event {
            Event::Alias(id) => return self.alias(id, place, path),
            Event::Scalar(text, style, anchor, tag) => {
                self.check_tag(tag.as_ref().map(|it| it.original()), place, path);
                (anchor, self.scalar(&text, style, place, path))
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(tag.as_ref().map(|it| it.original()), place, path);
                self.anchors.insert(anchor, None);
                (anchor, self.list(path)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(tag.as_ref().map(|it| it.original()), place, path);
                self.anchors.insert(anchor, None);
                (anchor, self.mapping(path)?)
            }
            _ => (0, Content::Scalar(Value::Null, String::new())),
        };
        let node = Node { place, content };
        // The parser uses 0 for a node without an anchor.
        if anchor != 0 {
            self.anchors.insert(anchor, Some((node.clone(), self.nodes - before)));
        }
        Ok(node)
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), Problem> {
        self.nodes += nodes;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!(
            "holds more than {MAX_NODES} values, counting the content of each alias at each use; write fewer values, or use fewer aliases of large values"
        );
        Err(Problem { place: Some(place), path: String::new(), message })
    }

    fn alias(&mut self, id: usize, place: Place, path: &str) -> Result<Node, Problem> {
        match self.anchors.get(&id).cloned() {
            Some(Some((node, size))) => {
                self.count(size, place)?;
                Ok(Node { place, ..node })
            }
            _ => {
                let message = "is an alias of a value that it is a part of; write the value out".to_owned();
                Err(Problem { place: Some(place), path: path.to_owned(), message })
            }
        }
    }

    fn check_tag(&mut self, tag: Option<String>, place: Place, path: &str) {
        if let Some(tag) = tag {
            self.problem(place, path, format!("has the tag {}; take the tag out", cut(&tag)));
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, place: Place, path: &str) -> Content {
        let value = match style {
            ScalarStyle::Plain => match scalar::read(text) {
                Reading::Value(value) => value,
                Reading::TwoWays { kubectl } => {
                    let message = format!(
                        "is {}, which kubectl reads as {kubectl} and other readers of YAML as another value; write {kubectl}, or \"{}\" in quotes if it is a text",
                        cut(text),
                        cut(text)
                    );
                    self.problem(place, path, message);
                    Value::Null
                }
                Reading::NotFinite => {
                    let message = format!(
                        "is {}, which JSON cannot hold; write a finite number, or \"{}\" in quotes if it is a text",
                        cut(text),
                        cut(text)
                    );
                    self.problem(place, path, message);
                    Value::Null
                }
            },
            _ => Value::String(text.to_owned()),
        };
        Content::Scalar(value, text.to_owned())
    }

    fn list(&mut self, path: &str) -> Result<Content, Problem> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next_before(&Event::SequenceEnd)? {
            let path = format!("{path}[{}]", items.len());
            items.push(self.node(event, span, &path)?);
        }
        Ok(Content::List(items))
    }

    fn mapping(&mut self, path: &str) -> Result<Content, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        // Index of each key in the entries. It is a map, because searching a list would be slow for thousands of keys.
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut merged: Vec<Node> = Vec::new();
        while let Some((event, span)) = self.next_before(&Event::MappingEnd)? {
            let place = Place { line: span.start.line(), column: span.start.col() + 1 };
            let key = self.key(event, span, place, path)?;
            let inner = child(path, &key);
            let (event, span) = self.must_next()?;
            let value = self.node(event, span, &inner)?;
            if key == "<<" {
                merged.push(value);
            } else if let Some(first) = known.get(&key).and_then(|it| entries.get(*it)) {
                let message = format!(
                    "is given twice, here as {} and at {} as {}; keep one of them",
                    value.described(),
                    first.place,
                    first.value.described()
                );
                self.problem(place, &inner, message);
            } else {
                known.insert(key.clone(), entries.len());
                entries.push(Entry { key, place, value });
            }
        }
        for value in merged {
            self.merge(&mut entries, &mut known, value, path);
        }
        Ok(Content::Mapping(entries))
    }

    fn key(&mut self, event: Event<'a>, span: Span, place: Place, path: &str) -> Result<String, Problem> {
        let inner = child(path, "<key>");
        let plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, ..));
        let node = self.node(event, span, &inner)?;
        let Content::Scalar(value, written) = &node.content else {
            self.problem(place, path, format!("has {} for a key; write a text", node.described()));
            return Ok(cut(&node.to_json().to_string()));
        };
        if plain && (value.is_boolean() && !["true", "false"].contains(&written.as_str()) || value.is_null()) {
            let read = if value.is_null() { "null".to_owned() } else { value.to_string() };
            let message =
                format!("is a key that kubectl reads as {read}; write \"{}\" in quotes, or another name", cut(written));
            self.ambiguous_keys.push(Problem { place: Some(place), path: child(path, written), message });
        }
        Ok(written.clone())
    }

    fn merge(&mut self, entries: &mut Vec<Entry>, known: &mut HashMap<String, usize>, value: Node, path: &str) {
        let from = match value.content {
            Content::List(items) => items,
            _ => vec![value],
        };
        for node in from {
            match node.content {
                Content::Mapping(more) => {
                    for entry in more {
                        if !known.contains_key(&entry.key) {
                            known.insert(entry.key.clone(), entries.len());
                            entries.push(entry);
                        }
                    }
                }
                _ => {
                    let message = format!("is {}; merge a mapping, such as <<: *name", node.described());
                    self.problem(node.place, &child(path, "<<"), message);
                }
            }
        }
    }

    fn problem(&mut self, place: Place, path: &str, message: String) {
        self.problems.push(Problem { place: Some(place), path: path.to_owned(), message });
    }
}

/// The path of an entry with this key below `path`.
pub fn child(path: &str, key: &str) -> String {
    if path.is_empty() { named(key) } else { format!("{path}.{}", named(key)) }
}

#[cfg(test)]
mod tests;
