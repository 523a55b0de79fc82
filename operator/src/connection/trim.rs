//! Trims the responses of the API server while they arrive, before they are parsed or stored.
//!
//! Everyone who can write an object can fill it up to etcd's limit of 1.5 MiB. A megabyte of small labels takes tens of megabytes of memory as
//! objects. So the operator keeps at most [`MOST_ENTRIES`] labels per object, with at most [`MOST_BYTES`] in total. The same limits apply to
//! finalizers and to owner references. It drops the parts that it never reads: `managedFields`, annotations with other prefixes, and nearly all of
//! the spec of pods, Jobs, Deployments and NetworkPolicies.

use bytes::Bytes;

/// Maximum number of labels to keep per object. The same limit applies to annotations, finalizers and owner references.
pub const MOST_ENTRIES: usize = 256;
/// Maximum total size of the kept labels of an object, in bytes. The same limit applies to annotations, finalizers, owner references and a trimmed
/// spec.
pub const MOST_BYTES: usize = 64 * 1024;
/// The prefix of the annotations that the operator reads.
const OWN: &[u8] = b"benchwright.dev/";

/// How the parts of an object or array are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A list, a watch event, or a Kubernetes object.
    Object,
    /// The array of a list's objects.
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

/// An object or array whose end has not been read yet.
#[derive(Debug)]
struct Level {
    rule: Rule,
    is_object: bool,
    /// Number of its parts that were kept.
    kept: usize,
    part: Part,
}

/// The position within a part of an object or array. A part is a key with its value, or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Before the first byte of the part.
    Before,
    /// In the key, or between key and value.
    Key,
    /// In the value. The rule applies to it.
    Value(Rule),
}

/// What happens to the bytes of the current part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Buffered. At its end, the part is kept if it is short enough.
    Held,
    Dropped,
}

/// Trims one response, which can arrive in pieces of any size.
#[derive(Debug)]
pub struct Trimmer {
    /// The fields of the spec to keep. `None` if all are kept.
    spec: Option<&'static [&'static str]>,
    levels: Vec<Level>,
    is_text: bool,
    is_escaped: bool,
    fate: Fate,
    /// Number of levels above the part that is [`Fate::Held`] or [`Fate::Dropped`].
    decided_at: usize,
    key: Vec<u8>,
    held: Vec<u8>,
    /// Number of bytes that the current list can still take.
    left: usize,
    out: Vec<u8>,
}

impl Trimmer {
    /// Creates a trimmer for the response to a request for this path, such as `/api/v1/namespaces/bench/pods`.
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

    /// Processes the next bytes of the response, and returns the bytes to keep. Buffered bytes can be returned by a later call.
    pub fn trim(&mut self, bytes: &[u8]) -> Bytes {
        self.out.reserve(bytes.len());
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.is_text && !self.is_escaped {
                // Skips to the next quote or backslash in one step, because strings make up most of a response.
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
        // A part that is dropped or buffered is not trimmed any further.
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

    /// Handles the first byte of a part: of a key, or of an item of an array.
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

    /// Decides at the end of a key whether its value is kept.
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

    /// Writes the comma between the last kept part and this part.
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

/// The spec fields that the operator reads from objects at this path. `None` if it may read all fields.
fn fields_of_spec(path: &str) -> Option<&'static [&'static str]> {
    let mut parts = path.trim_start_matches('/').split('/');
    // The path begins with `api/v1/` or `apis/GROUP/VERSION/`. `namespaces/NAME/` follows, unless the list covers all namespaces.
    let group = if parts.next()? == "api" { 1 } else { 2 };
    let mut parts = parts.skip(group).peekable();
    if parts.peek() == Some(&"namespaces") {
        parts.nth(1)?;
    }
    match parts.next()? {
        "pods" => Some(&["nodeName"]),
        "jobs" => Some(&["suspend"]),
        "deployments" => Some(&[]),
        // Only these two fields are needed. If a selector is too large to keep, the policy counts as selecting every pod.
        "networkpolicies" => Some(&["podSelector", "policyTypes"]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
