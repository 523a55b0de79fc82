//! Trims the answers of the API server while they arrive, before they are stored anywhere.
//!
//! Anyone who may write an object may fill it up to etcd's limit of 1.5 MiB, and a megabyte of small labels takes tens of megabytes of
//! memory as objects. So the operator keeps at most [`MOST_ENTRIES`] labels, finalizers and owner references per object, and at most
//! [`MOST_BYTES`] of each kind. It drops the parts that it never reads: `managedFields`, annotations with other prefixes, and nearly all of
//! the spec of pods, Jobs, Deployments and NetworkPolicies.

use bytes::Bytes;

/// Maximum number of labels kept per object. The same limit applies to annotations, finalizers and owner references.
pub const MOST_ENTRIES: usize = 256;
/// Maximum bytes of labels kept per object. The same limit applies to annotations, finalizers, owner references and a trimmed spec.
pub const MOST_BYTES: usize = 64 * 1024;
/// The prefix of the annotations that the operator reads.
const OWN: &[u8] = b"benchwright.dev/";

/// How to treat the parts of the object or array that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A list, an event of a watch, or an object.
    Object,
    /// The objects of a list.
    Items,
    /// The metadata of an object.
    Metadata,
    /// Labels, finalizers or owner references.
    Limited,
    /// Annotations.
    Annotations,
    /// The spec of an object. The operator reads only a few of its fields.
    Spec,
    /// All parts are kept.
    All,
}

/// An object or array that has begun but not ended.
#[derive(Debug)]
struct Level {
    rule: Rule,
    is_object: bool,
    /// Number of parts that were kept.
    kept: usize,
    part: Part,
}

/// The reader's position within a part of an object or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Before its first byte.
    Before,
    /// In the key of an object's part, or between key and value.
    Key,
    /// In the value, to which this rule applies.
    Value(Rule),
}

/// What happens to the bytes of the part that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Held back. Kept if it is short enough, which is decided at its end.
    Held,
    Dropped,
}

/// Trims one answer, which arrives in pieces of any size.
#[derive(Debug)]
pub struct Trimmer {
    /// The fields of the spec that are kept; `None`: all.
    spec: Option<&'static [&'static str]>,
    levels: Vec<Level>,
    is_text: bool,
    is_escaped: bool,
    fate: Fate,
    /// The number of levels above the part that is [`Fate::Held`] or [`Fate::Dropped`].
    decided_at: usize,
    key: Vec<u8>,
    held: Vec<u8>,
    /// How many more bytes this list may have.
    left: usize,
    out: Vec<u8>,
}

impl Trimmer {
    /// Trims the answer to a request for this path, such as `/api/v1/namespaces/bench/pods`.
    pub fn new(path: &str) -> Self {
        Trimmer {
            spec: fields_of_spec(path),
            levels: Vec::new(),
            is_text: false,
            is_escaped: false,
            fate: Fate::Kept,
            decided_at: 0,
            key: Vec::new(),
            held: Vec::new(),
            left: MOST_BYTES,
            out: Vec::new(),
        }
    }

    /// Takes the next bytes of the answer and returns the bytes to keep. Some bytes may be returned by a later call.
    pub fn trim(&mut self, bytes: &[u8]) -> Bytes {
        self.out.reserve(bytes.len());
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.is_text && !self.is_escaped {
                // Strings make up most of an answer.
                let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if plain > 0 {
                    self.put_all(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            self.take(byte);
            rest = after;
        }
        Bytes::from(std::mem::take(&mut self.out))
    }

    fn take(&mut self, byte: u8) {
        if self.is_text {
            self.put(byte);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_text = false,
                _ => {}
            }
            return;
        }
        let is_whole = self.levels.last().is_none_or(|it| it.rule == Rule::All);
        match byte {
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(byte),
            _ if is_whole => {
                self.is_text = byte == b'"';
                self.put(byte);
            }
            b',' => self.end_part(),
            b':' => self.decide(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.begin_part();
                self.is_text = byte == b'"';
                self.put(byte);
            }
        }
    }

    fn open(&mut self, byte: u8) {
        self.begin_part();
        let rule = match self.levels.last().map(|it| (it.rule, it.part)) {
            None => Rule::Object,
            Some((Rule::All, _)) => Rule::All,
            Some((_, Part::Value(rule))) => rule,
            Some(_) => Rule::All,
        };
        // A dropped or held part is not trimmed further.
        let rule = if self.fate == Fate::Kept { rule } else { Rule::All };
        if matches!(rule, Rule::Limited | Rule::Annotations | Rule::Spec) {
            self.left = MOST_BYTES;
        }
        self.put(byte);
        self.levels.push(Level { rule, is_object: byte == b'{', kept: 0, part: Part::Before });
    }

    fn close(&mut self, byte: u8) {
        if self.levels.last().is_some_and(|it| it.rule != Rule::All) {
            self.end_part();
        }
        self.levels.pop();
        self.put(byte);
    }

    /// Handles the first byte of a part: a key, or an item of an array.
    fn begin_part(&mut self) {
        let Some(level) = self.levels.last_mut().filter(|it| it.rule != Rule::All && it.part == Part::Before) else {
            return;
        };
        if level.is_object {
            level.part = Part::Key;
            self.key.clear();
            return;
        }
        level.part = Part::Value(if level.rule == Rule::Items { Rule::Object } else { Rule::All });
        let fate = self.fate_of(&[]);
        self.begin(fate);
    }

    /// Decides at the end of a key what happens to its value.
    fn decide(&mut self) {
        let Some(level) = self.levels.last() else { return };
        let name = self.key.get(1..self.key.len().saturating_sub(1)).unwrap_or_default();
        let value = match (level.rule, name) {
            (Rule::Object, b"metadata") => Rule::Metadata,
            (Rule::Object, b"items") => Rule::Items,
            (Rule::Object, b"object") => Rule::Object,
            (Rule::Object, b"spec") if self.spec.is_some() => Rule::Spec,
            (Rule::Metadata, b"labels" | b"finalizers" | b"ownerReferences") => Rule::Limited,
            (Rule::Metadata, b"annotations") => Rule::Annotations,
            _ => Rule::All,
        };
        let fate = self.fate_of(name);
        let key = std::mem::take(&mut self.key);
        if let Some(level) = self.levels.last_mut() {
            level.part = Part::Value(value);
        }
        self.begin(fate);
        self.put_all(&key);
        self.put(b':');
        self.key = key;
    }

    fn fate_of(&self, key: &[u8]) -> Fate {
        let Some(level) = self.levels.last() else { return Fate::Kept };
        match level.rule {
            Rule::Metadata if key == b"managedFields" => Fate::Dropped,
            Rule::Limited | Rule::Annotations if level.kept >= MOST_ENTRIES => Fate::Dropped,
            Rule::Annotations if !key.starts_with(OWN) => Fate::Dropped,
            Rule::Spec if !self.spec.iter().copied().flatten().any(|it| it.as_bytes() == key) => Fate::Dropped,
            Rule::Limited | Rule::Annotations | Rule::Spec => Fate::Held,
            _ => Fate::Kept,
        }
    }

    fn begin(&mut self, fate: Fate) {
        self.fate = fate;
        self.decided_at = self.levels.len();
        if fate == Fate::Kept {
            self.separate();
        }
    }

    /// Puts a comma between this part and the last kept part.
    fn separate(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        level.kept += 1;
        if level.kept > 1 {
            self.out.push(b',');
        }
    }

    fn end_part(&mut self) {
        if self.fate == Fate::Held && self.decided_at == self.levels.len() {
            let held = std::mem::take(&mut self.held);
            self.fate = Fate::Kept;
            self.separate();
            self.out.extend_from_slice(&held);
            self.left = self.left.saturating_sub(held.len());
        }
        if self.decided_at == self.levels.len() {
            self.fate = Fate::Kept;
        }
        self.held.clear();
        if let Some(level) = self.levels.last_mut() {
            level.part = Part::Before;
        }
    }

    fn put(&mut self, byte: u8) {
        self.put_all(&[byte]);
    }

    fn put_all(&mut self, bytes: &[u8]) {
        if self.levels.last().is_some_and(|it| it.part == Part::Key) {
            self.key.extend_from_slice(bytes);
            return;
        }
        match self.fate {
            Fate::Kept => self.out.extend_from_slice(bytes),
            Fate::Held if self.held.len() + bytes.len() > self.left => {
                self.fate = Fate::Dropped;
                self.held = Vec::new();
            }
            Fate::Held => self.held.extend_from_slice(bytes),
            Fate::Dropped => {}
        }
    }
}

/// The spec fields that the operator reads from objects of this path; `None`: it may read all fields.
fn fields_of_spec(path: &str) -> Option<&'static [&'static str]> {
    let mut parts = path.trim_start_matches('/').split('/');
    // The path is `api/v1/…` or `apis/GROUP/VERSION/…`, then `namespaces/NAME/…` unless the list covers all namespaces.
    let group = if parts.next()? == "api" { 1 } else { 2 };
    let mut parts = parts.skip(group).peekable();
    if parts.peek() == Some(&"namespaces") {
        parts.nth(1)?;
    }
    match parts.next()? {
        "pods" => Some(&["nodeName"]),
        "jobs" => Some(&["suspend"]),
        "deployments" => Some(&[]),
        // A selector that is too large to keep counts as a selector of every pod.
        "networkpolicies" => Some(&["podSelector", "policyTypes"]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
