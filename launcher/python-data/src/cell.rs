//! The value of a table cell.

use std::{borrow::Cow, rc::Rc};

use serde_json::{Map as JsonMap, Value};

use crate::{
    Problem,
    array::Array,
    pickle::{Call, Item, MAX_DEPTH, Node, Pickle, Seq, names::Name},
};

/// A value. Lists and maps are read lazily.
#[derive(Clone, Debug)]
pub enum Cell<'t> {
    /// Python's `None`, or `NA` or `NaT` of pandas.
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// The decimal digits of an integer with more than 64 bits.
    Big(String),
    /// May be NaN or infinite.
    Float(f64),
    Text(Cow<'t, str>),
    Bytes(Cow<'t, [u8]>),
    /// Nanoseconds since 1970 in UTC.
    Time(i64),
    List(List<'t>),
    Map(Map<'t>),
}

/// A list, a tuple, or a range of an array.
#[derive(Clone, Debug)]
pub enum List<'t> {
    /// A list of integers, each from 0 to 2^32 - 1.
    Tokens(&'t [u32]),
    #[doc(hidden)]
    Items(Items<'t>),
    #[doc(hidden)]
    Array(Part<'t>),
    /// The labels of a row, one per level of the index.
    #[doc(hidden)]
    Cells(Vec<Cell<'t>>),
}

/// The items of a list in a pickle.
#[derive(Clone, Debug)]
pub struct Items<'t> {
    pub(crate) items: Seq<'t>,
    pub(crate) pickle: &'t Pickle<'t>,
}

/// A range of an array along one dimension.
#[derive(Clone, Debug)]
pub struct Part<'t> {
    pub(crate) array: Rc<Array<'t>>,
    pub(crate) axis: usize,
    /// The index of its first element among the stored elements of the array.
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl<'t> Part<'t> {
    /// The whole array, along its first dimension. `None` if it has no dimensions.
    pub(crate) fn whole(array: Rc<Array<'t>>) -> Option<Part<'t>> {
        let length = *array.shape.first()?;
        Some(Part { array, axis: 0, offset: 0, length })
    }

    pub fn array(&self) -> &Array<'t> {
        &self.array
    }

    pub(crate) fn get(&self, place: usize) -> Result<Cell<'t>, Problem> {
        let offset = self.offset + place * self.array.stride(self.axis);
        let axis = self.axis + 1;
        match self.array.shape.get(axis) {
            None => self.array.element(offset),
            Some(length) => {
                Ok(Cell::List(List::Array(Part { array: Rc::clone(&self.array), axis, offset, length: *length })))
            }
        }
    }

    /// Number of elements in this range, counting those along all further dimensions.
    fn elements(&self) -> usize {
        self.array.shape.iter().skip(self.axis + 1).fold(self.length, |product, it| product.saturating_mul(*it))
    }
}

impl<'t> List<'t> {
    pub fn len(&self) -> usize {
        match self {
            List::Tokens(tokens) => tokens.len(),
            List::Items(items) => items.items.len(),
            List::Array(part) => part.length,
            List::Cells(cells) => cells.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at an index; null beyond the end.
    ///
    /// # Errors
    /// The value cannot be read. In a validated table this cannot happen.
    pub fn get(&self, place: usize) -> Result<Cell<'t>, Problem> {
        match self {
            List::Tokens(tokens) => Ok(tokens.get(place).map_or(Cell::Null, |it| Cell::Int(i64::from(*it)))),
            List::Items(it) => it.items.get(place).map_or(Ok(Cell::Null), |item| it.pickle.cell(item)),
            List::Array(part) if place < part.length => part.get(place),
            List::Array(_) => Ok(Cell::Null),
            List::Cells(cells) => Ok(cells.get(place).cloned().unwrap_or(Cell::Null)),
        }
    }
}

/// A dict of a pickle.
#[derive(Clone, Debug)]
pub enum Map<'t> {
    #[doc(hidden)]
    Items(Pairs<'t>),
    #[doc(hidden)]
    Cells(Vec<(Cell<'t>, Cell<'t>)>),
}

/// The pairs of a dict in a pickle.
#[derive(Clone, Debug)]
pub struct Pairs<'t> {
    pub(crate) pairs: &'t [(Item, Item)],
    pub(crate) pickle: &'t Pickle<'t>,
}

impl<'t> Map<'t> {
    pub fn len(&self) -> usize {
        match self {
            Map::Items(it) => it.pairs.len(),
            Map::Cells(pairs) => pairs.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key and the value at an index; `None` beyond the end.
    ///
    /// # Errors
    /// The key or the value cannot be read. In a validated table this cannot happen.
    pub fn get(&self, place: usize) -> Result<Option<(Cell<'t>, Cell<'t>)>, Problem> {
        match self {
            Map::Cells(pairs) => Ok(pairs.get(place).cloned()),
            Map::Items(Pairs { pairs, pickle }) => {
                let Some((key, value)) = pairs.get(place) else { return Ok(None) };
                Ok(Some((pickle.cell(*key)?, pickle.cell(*value)?)))
            }
        }
    }
}

impl<'a> Pickle<'a> {
    /// Converts an item to a value. The content of a list or a dict is read later, on access.
    pub(crate) fn cell(&self, item: Item) -> Result<Cell<'_>, Problem> {
        let cell = match item {
            Item::None | Item::Missing => Cell::Null,
            Item::Bool(it) => Cell::Bool(it),
            Item::Int(it) => Cell::Int(it),
            Item::Float(it) => Cell::Float(it),
            Item::Text(_) | Item::OwnText(_) => Cell::Text(Cow::Borrowed(self.text(item).unwrap_or_default())),
            Item::Bytes(_) => Cell::Bytes(self.bytes(item)?.unwrap_or_default()),
            Item::Node(_) => match self.node(item) {
                Some(Node::Tokens(..) | Node::List(_) | Node::Tuple(_)) => match self.seq(item) {
                    Some(Seq::Tokens(tokens)) => Cell::List(List::Tokens(tokens)),
                    Some(items) => Cell::List(List::Items(Items { items, pickle: self })),
                    None => Cell::Null,
                },
                Some(Node::Dict(pairs)) => Cell::Map(Map::Items(Pairs { pairs, pickle: self })),
                Some(node @ (Node::Big(_) | Node::Digits(_))) => Cell::Big(self.big(node).unwrap_or_default()),
                Some(Node::Call(..)) => self.called(item)?,
                Some(Node::Name(_) | Node::Set) | None => return Err(self.no_value(item)),
            },
        };
        Ok(whole(cell))
    }

    fn called(&self, item: Item) -> Result<Cell<'_>, Problem> {
        if let Some(bytes) = self.bytes(item)? {
            return Ok(Cell::Bytes(bytes));
        }
        if let Some(array) = self.array(item)? {
            let array = Rc::new(array);
            return match Part::whole(Rc::clone(&array)) {
                Some(part) => Ok(Cell::List(List::Array(part))),
                None => array.element(0),
            };
        }
        match self.call(item) {
            Some(Call { name: Name::Scalar, arguments: [dtype, bytes], .. }) => {
                let dtype = self.dtype(*dtype)?;
                let bytes = self.bytes(*bytes)?.ok_or_else(|| Problem::new("a number of numpy has no bytes"))?;
                if bytes.len() != dtype.size {
                    return Err(Problem::new(format!("a {} of numpy has {} bytes", dtype.name(), bytes.len())));
                }
                dtype.element(&bytes)
            }
            _ => Err(self.no_value(item)),
        }
    }

    fn no_value(&self, item: Item) -> Problem {
        Problem::new(format!("holds {} where a value belongs", self.kind(item)))
    }
}

/// Converts a big integer that fits into 64 bits to an ordinary one. Returns other cells unchanged.
fn whole(cell: Cell<'_>) -> Cell<'_> {
    match &cell {
        Cell::Big(digits) => {
            let signed = digits.parse().map(Cell::Int);
            signed.or_else(|_| digits.parse().map(Cell::UInt)).unwrap_or(cell)
        }
        _ => cell,
    }
}

/// Reads a value and everything nested in it once, and returns the first error. If there is none, later reads of the value cannot fail. `depth` is
/// the number of lists and maps around the value. `visit` counts the values that were read, and can stop the check with an error.
///
/// # Errors
/// A value cannot be read or is nested too deep, or `visit` returns an error.
pub(crate) fn check(
    cell: &Cell<'_>,
    depth: usize,
    visit: &impl Fn(usize) -> Result<(), Problem>,
) -> Result<(), Problem> {
    if depth > MAX_DEPTH {
        return Err(Problem::new(format!("is nested deeper than {MAX_DEPTH} levels, or holds itself")));
    }
    match cell {
        Cell::List(List::Tokens(tokens)) => visit(1 + tokens.len()),
        Cell::List(List::Array(part)) if part.array.is_numbers() => visit(1 + part.elements()),
        Cell::List(list) => {
            visit(1)?;
            (0..list.len()).try_for_each(|it| check(&list.get(it)?, depth + 1, visit))
        }
        Cell::Map(map) => {
            visit(1)?;
            for place in 0..map.len() {
                let Some((key, value)) = map.get(place)? else { break };
                check(&key, depth + 1, visit)?;
                check(&value, depth + 1, visit)?;
            }
            Ok(())
        }
        _ => visit(1),
    }
}

impl<'t> From<&'t str> for Cell<'t> {
    fn from(text: &'t str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl<'t> Cell<'t> {
    pub fn from_pairs(pairs: impl IntoIterator<Item = (Cell<'t>, Cell<'t>)>) -> Cell<'t> {
        Cell::Map(Map::Cells(pairs.into_iter().collect()))
    }
}

impl Cell<'_> {
    pub fn is_null(&self) -> bool {
        matches!(self, Cell::Null)
    }

    /// The value as JSON. Numbers that are not finite become null. Bytes become text if they are UTF-8, otherwise null. A time becomes its number of
    /// nanoseconds. Integers with more than 64 bits become texts with their digits.
    pub fn to_json(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Bool(it) => (*it).into(),
            Cell::Int(it) | Cell::Time(it) => (*it).into(),
            Cell::UInt(it) => (*it).into(),
            Cell::Big(digits) => digits.as_str().into(),
            Cell::Float(it) => (*it).into(),
            Cell::Text(text) => text.as_ref().into(),
            Cell::Bytes(bytes) => std::str::from_utf8(bytes).map_or(Value::Null, Value::from),
            Cell::List(list) => (0..list.len()).map(|it| list.get(it).map_or(Value::Null, |it| it.to_json())).collect(),
            Cell::Map(map) => {
                let pairs = (0..map.len()).filter_map(|it| map.get(it).ok().flatten());
                Value::Object(pairs.map(|(key, value)| (key.to_name(), value.to_json())).collect::<JsonMap<_, _>>())
            }
        }
    }

    /// The value as text, for the name of a column or a key.
    pub fn to_name(&self) -> String {
        match self {
            Cell::Text(text) => text.clone().into_owned(),
            Cell::Null => "None".into(),
            other => other.to_json().to_string(),
        }
    }
}
