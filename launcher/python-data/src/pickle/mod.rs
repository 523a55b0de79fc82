//! A pickle interpreter that never executes Python code.
//!
//! [`Pickle::read`] executes the opcodes of the file on a stack. Where Python would look up a name or call a function, it records a node. Then
//! `frame` and `plain` convert those nodes to a table that pandas or numpy write for one.

mod machine;
pub(crate) mod names;
mod opcodes;

use std::{borrow::Cow, cell::Cell as Count};

use crate::{Problem, pickle::names::Name};

/// Maximum bytes of a file, because positions are stored in 32 bits.
pub const MAX_FILE: usize = u32::MAX as usize;
/// Maximum bytes of memory for a pickle's structure, excluding its texts, bytes and lists of token ids.
pub const MAX_HEAP: usize = 1 << 30;
/// Maximum number of nodes that are visited per byte of the file. A node that is used in several places counts once per place.
const MAX_VISITS: u64 = 10;
/// Number of visits that any file can make, however short it is.
const MIN_VISITS: u64 = 200_000;
/// Maximum nesting depth of a value within a cell.
pub(crate) const MAX_DEPTH: usize = 100;
/// How a user can convert a pickle that cannot be read.
pub const REMEDY: &str =
    "convert it where you trust it: python -c \"import pandas; pandas.read_pickle('FILE').to_parquet('FILE.parquet')\"";

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

/// An element of the stack, or of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item {
    None,
    /// `pandas.NA`.
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// UTF-8 text in the file.
    Text(Span),
    Bytes(Span),
    /// An index into `texts`: a text that the file contains with escapes.
    OwnText(u32),
    Node(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Name(Name),
    /// A list of token ids: the index of its first id in `tokens`, and its length.
    Tokens(u32, u32),
    List(Vec<Item>),
    Tuple(Box<[Item]>),
    Dict(Vec<(Item, Item)>),
    Set,
    /// An integer with more than 64 bits, in two's complement, little-endian.
    Big(Span),
    /// An integer with more than 64 bits: an index into `texts`, which contains its decimal digits.
    Digits(u32),
    /// A call or a new object, recorded but not executed: its name, the node of its arguments, and its state.
    Call(Name, u32, Option<Item>),
}

/// A pickle, converted to nodes. Its texts and bytes stay in the file and are borrowed from it.
#[derive(Debug)]
pub struct Pickle<'a> {
    file: &'a [u8],
    nodes: Vec<Node>,
    /// All lists of token ids, concatenated.
    tokens: Vec<u32>,
    texts: Vec<String>,
    pub(crate) root: Item,
    /// Number of nodes that can still be visited.
    visits: Count<u64>,
}

/// The items of a list or a tuple.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seq<'t> {
    Items(&'t [Item]),
    Tokens(&'t [u32]),
}

impl Seq<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Seq::Items(it) => it.len(),
            Seq::Tokens(it) => it.len(),
        }
    }

    pub(crate) fn get(self, place: usize) -> Option<Item> {
        match self {
            Seq::Items(it) => it.get(place).copied(),
            Seq::Tokens(it) => it.get(place).map(|it| Item::Int(i64::from(*it))),
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Item> {
        (0..self.len()).filter_map(move |it| self.get(it))
    }
}

/// A call that was recorded but not executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'t> {
    pub(crate) name: Name,
    pub(crate) arguments: &'t [Item],
    pub(crate) state: Option<Item>,
}

impl<'a> Pickle<'a> {
    /// Interprets the bytes of a file.
    ///
    /// # Errors
    /// The problem and its position: an opcode or a name that is not allowed, a damaged file, or a file that needs too much memory.
    pub fn read(file: &'a [u8]) -> Result<Pickle<'a>, Problem> {
        if file.len() > MAX_FILE {
            return Err(Problem::new(format!("has {} bytes; at most {MAX_FILE} are read", file.len())));
        }
        machine::run(file)
    }

    /// Counts a visit of `nodes` nodes. Fails if the file has no visits left.
    pub(crate) fn visit(&self, nodes: usize) -> Result<(), Problem> {
        let left = self.visits.get().checked_sub(nodes as u64).ok_or_else(|| {
            Problem::new(format!(
                "repeats its values too often: more than {MAX_VISITS} values per byte of the file, and more than {MIN_VISITS} in total"
            ))
        })?;
        self.visits.set(left);
        Ok(())
    }

    fn span(&self, span: Span) -> &'a [u8] {
        let start = span.start as usize;
        self.file.get(start..start + span.length as usize).unwrap_or_default()
    }

    pub(crate) fn node(&self, item: Item) -> Option<&Node> {
        let Item::Node(place) = item else { return None };
        self.nodes.get(place as usize)
    }

    pub(crate) fn text(&self, item: Item) -> Option<&str> {
        match item {
            // The interpreter has already checked that this is UTF-8.
            Item::Text(span) => std::str::from_utf8(self.span(span)).ok(),
            Item::OwnText(place) => self.texts.get(place as usize).map(String::as_str),
            _ => None,
        }
    }

    /// The decimal digits of an integer with more than 64 bits.
    pub(crate) fn big(&self, node: &Node) -> Option<String> {
        match node {
            Node::Big(span) => Some(decimal(self.span(*span))),
            Node::Digits(place) => self.texts.get(*place as usize).cloned(),
            _ => None,
        }
    }

    pub(crate) fn seq(&self, item: Item) -> Option<Seq<'_>> {
        match self.node(item)? {
            Node::Tokens(start, length) => self.tokens(*start, *length).map(Seq::Tokens),
            Node::List(items) => Some(Seq::Items(items)),
            Node::Tuple(items) => Some(Seq::Items(items)),
            _ => None,
        }
    }

    fn tokens(&self, start: u32, length: u32) -> Option<&[u32]> {
        self.tokens.get(start as usize..start as usize + length as usize)
    }

    pub(crate) fn tuple(&self, item: Item) -> Option<&[Item]> {
        match self.node(item)? {
            Node::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs of a dict.
    pub(crate) fn dict(&self, item: Item) -> Option<&[(Item, Item)]> {
        match self.node(item)? {
            Node::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The value of a key in a dict. Among duplicate keys the last counts, as in Python.
    pub(crate) fn field(&self, dict: Item, key: &str) -> Option<Item> {
        self.dict(dict)?.iter().rev().find(|it| self.text(it.0) == Some(key)).map(|it| it.1)
    }

    pub(crate) fn call(&self, item: Item) -> Option<Call<'_>> {
        let Node::Call(name, arguments, state) = self.node(item)? else { return None };
        let arguments = self.tuple(Item::Node(*arguments))?;
        Some(Call { name: *name, arguments, state: *state })
    }

    pub(crate) fn name(&self, item: Item) -> Option<Name> {
        match self.node(item)? {
            Node::Name(name) => Some(*name),
            _ => None,
        }
    }

    /// Returns bytes, whatever the protocol of the pickle. `None` if the item is not bytes.
    ///
    /// # Errors
    /// Bytes that are written as text are not Latin-1. There were too many visits: such a text is decoded again at each use.
    pub(crate) fn bytes(&self, item: Item) -> Result<Option<Cow<'a, [u8]>>, Problem> {
        if let Some(call) = self.call(item)
            && call.name == Name::ByteArray
        {
            return match call.arguments {
                [] => Ok(Some(Cow::Borrowed(&[]))),
                [text, codec] if self.text(*codec).is_some_and(is_latin1) => self.latin1(*text),
                [bytes] => self.plain_bytes(*bytes),
                _ => Ok(None),
            };
        }
        self.plain_bytes(item)
    }

    fn plain_bytes(&self, item: Item) -> Result<Option<Cow<'a, [u8]>>, Problem> {
        if let Item::Bytes(span) = item {
            return Ok(Some(Cow::Borrowed(self.span(span))));
        }
        match self.call(item) {
            Some(Call { name: Name::Bytes, arguments: [], .. }) => Ok(Some(Cow::Borrowed(&[]))),
            // The interpreter has already checked the codec.
            Some(Call { name: Name::Encode, arguments: [text, _], .. }) => self.latin1(*text),
            _ => Ok(None),
        }
    }

    fn latin1(&self, text: Item) -> Result<Option<Cow<'a, [u8]>>, Problem> {
        let Some(text) = self.text(text) else { return Ok(None) };
        self.visit(text.len())?;
        let bytes: Option<Vec<u8>> = text.chars().map(|it| u8::try_from(u32::from(it)).ok()).collect();
        let bytes = bytes.ok_or_else(|| Problem::new("bytes that are written as text are no Latin-1"))?;
        Ok(Some(Cow::Owned(bytes)))
    }

    /// Names the type of an item, for a message.
    pub(crate) fn kind(&self, item: Item) -> String {
        match (item, self.node(item)) {
            (Item::None | Item::Missing, _) => "None".into(),
            (Item::Bool(_), _) => "a bool".into(),
            (Item::Int(_), _) | (_, Some(Node::Big(_) | Node::Digits(_))) => "a whole number".into(),
            (Item::Float(_), _) => "a number".into(),
            (Item::Text(_) | Item::OwnText(_), _) => "a text".into(),
            (Item::Bytes(_), _) => "bytes".into(),
            (_, Some(Node::Name(name) | Node::Call(name, ..))) => format!("{name:?}"),
            (_, Some(Node::Tokens(..) | Node::List(_))) => "a list".into(),
            (_, Some(Node::Tuple(_))) => "a tuple".into(),
            (_, Some(Node::Dict(_))) => "a dict".into(),
            (_, Some(Node::Set)) => "a set".into(),
            (Item::Node(_), None) => "nothing".into(),
        }
    }
}

pub(crate) fn is_latin1(codec: &str) -> bool {
    matches!(codec, "latin1" | "latin-1")
}

/// The decimal digits of a number in two's complement, little-endian.
fn decimal(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|it| *it >= 0x80);
    let mut words: Vec<u8> = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut words {
            let (inverted, overflow) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (inverted, overflow);
        }
        if carry {
            words.push(1);
        }
    }
    let mut digits = Vec::new();
    while words.last() == Some(&0) {
        words.pop();
    }
    while !words.is_empty() {
        let mut rest = 0_u32;
        for byte in words.iter_mut().rev() {
            let value = rest << 8 | u32::from(*byte);
            (*byte, rest) = ((value / 10) as u8, value % 10);
        }
        digits.push(b'0' + rest as u8);
        while words.last() == Some(&0) {
            words.pop();
        }
    }
    if digits.is_empty() {
        return "0".into();
    }
    let sign = if negative { "-" } else { "" };
    sign.chars().chain(digits.iter().rev().map(|it| char::from(*it))).collect()
}

#[cfg(test)]
mod tests;
