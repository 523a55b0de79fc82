//! Apache Arrow arrays as pyarrow pickles them. Pandas 3 stores each text column in such an array.

use std::borrow::Cow;

use crate::{
    Cell, Problem,
    column::Column,
    dtype::Dtype,
    pickle::{Item, Pickle, names::Name},
    problem::shown,
};

/// An Arrow array of texts, numbers or truth values.
#[derive(Clone, Debug)]
pub(crate) struct Arrow<'t> {
    kind: Kind<'t>,
    pub(crate) length: usize,
    /// The index of the first value in the buffers.
    offset: usize,
    /// Whether each value is present: one bit per value, starting with the lowest bit of the first byte.
    valid: Option<Cow<'t, [u8]>>,
}

#[derive(Clone, Debug)]
enum Kind<'t> {
    /// The start of each text, the size of such a start in bytes, and all texts concatenated.
    Texts(Cow<'t, [u8]>, usize, Cow<'t, [u8]>),
    Numbers(Dtype, Cow<'t, [u8]>),
    Bools(Cow<'t, [u8]>),
}

fn bit(bits: &[u8], place: usize) -> bool {
    bits.get(place / 8).is_some_and(|it| it >> (place % 8) & 1 == 1)
}

impl<'t> Arrow<'t> {
    pub(crate) fn get(&self, place: usize) -> Result<Cell<'t>, Problem> {
        let place = self.offset + place;
        if self.valid.as_ref().is_some_and(|it| !bit(it, place)) {
            return Ok(Cell::Null);
        }
        let short = || Problem::new("an Arrow array ends early");
        match &self.kind {
            Kind::Bools(bits) => Ok(Cell::Bool(bit(bits, place))),
            Kind::Numbers(dtype, bytes) => {
                let start = place * dtype.size;
                dtype.element(bytes.get(start..start + dtype.size).ok_or_else(short)?)
            }
            Kind::Texts(offsets, width, bytes) => {
                let at = |place: usize| {
                    let mut whole = [0; 8];
                    let number = offsets.get(place * width..(place + 1) * width)?;
                    whole.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
                    usize::try_from(u64::from_le_bytes(whole)).ok()
                };
                let (start, end) = (at(place).ok_or_else(short)?, at(place + 1).ok_or_else(short)?);
                let wrong = || Problem::new("an Arrow array holds a text that is no UTF-8");
                Ok(Cell::Text(match bytes {
                    Cow::Borrowed(bytes) => {
                        let text = bytes.get(start..end).ok_or_else(short)?;
                        Cow::Borrowed(std::str::from_utf8(text).map_err(|_| wrong())?)
                    }
                    Cow::Owned(bytes) => {
                        let text = bytes.get(start..end).ok_or_else(short)?;
                        Cow::Owned(std::str::from_utf8(text).map_err(|_| wrong())?.to_owned())
                    }
                }))
            }
        }
    }
}

impl<'a> Pickle<'a> {
    /// Reads the array of a recorded call of `_restore_array` or `chunked_array`.
    pub(crate) fn arrow(&self, item: Item) -> Result<Column<'_>, Problem> {
        let wrong = || Problem::new(format!("holds {} where an Arrow array belongs", self.kind(item)));
        let call = self.call(item).ok_or_else(wrong)?;
        match (call.name, call.arguments) {
            (Name::RestoreArray, [parts]) => self.restored(*parts).map(Column::Arrow),
            (Name::ChunkedArray, [chunks, ..]) => {
                let chunks = self.seq(*chunks).ok_or_else(wrong)?;
                let mut all = Vec::new();
                let mut end = 0;
                for chunk in chunks.iter() {
                    self.visit(1)?;
                    let call = self.call(chunk).filter(|it| it.name == Name::RestoreArray).ok_or_else(wrong)?;
                    let array = self.restored(*call.arguments.first().ok_or_else(wrong)?)?;
                    end += array.length;
                    all.push((end, array));
                }
                Ok(Column::Chunks(all))
            }
            _ => Err(wrong()),
        }
    }

    fn restored(&self, parts: Item) -> Result<Arrow<'_>, Problem> {
        let wrong = |what: &str| Problem::new(format!("an Arrow array {what}"));
        let Some([kind, length, _, offset, buffers, ..]) = self.tuple(parts) else {
            return Err(wrong("is not written as pyarrow writes it"));
        };
        let count = |item: Item| match item {
            Item::Int(number) => usize::try_from(number).ok().filter(|it| *it <= u32::MAX as usize),
            _ => None,
        };
        let (Some(length), Some(offset)) = (count(*length), count(*offset)) else {
            return Err(wrong("has no length, or one that is too large"));
        };
        let alias = self.call(*kind).filter(|it| it.name == Name::TypeForAlias);
        let alias = alias.and_then(|it| self.text(*it.arguments.first()?));
        let alias = alias.ok_or_else(|| wrong("has a type without a name, such as a list; it is not read"))?;
        let buffers = self.seq(*buffers).ok_or_else(|| wrong("has no buffers"))?;
        let buffer = |place: usize| match buffers.get(place) {
            None | Some(Item::None) => Ok(None),
            Some(item) => {
                let call = self.call(item).filter(|it| it.name == Name::PyBuffer);
                let bytes =
                    call.and_then(|it| it.arguments.first()).ok_or_else(|| wrong("has a buffer of another type"))?;
                self.bytes(*bytes)
            }
        };
        let code = match alias {
            "int8" => "i1",
            "int16" => "i2",
            "int32" => "i4",
            "int64" => "i8",
            "uint8" => "u1",
            "uint16" => "u2",
            "uint32" => "u4",
            "uint64" => "u8",
            "halffloat" | "float16" => "f2",
            "float" | "float32" => "f4",
            "double" | "float64" => "f8",
            "bool" => "?",
            "string" | "large_string" => "",
            other => return Err(wrong(&format!("holds elements of the type {}, which is not read", shown(other)))),
        };
        let valid = buffer(0)?;
        let first = buffer(1)?.unwrap_or_default();
        // An array without values can have no buffers.
        let values = if length == 0 { 0 } else { offset + length };
        let (kind, wanted) = match code {
            "" => {
                let width = if alias == "string" { 4 } else { 8 };
                let wanted = if values == 0 { 0 } else { (values + 1) * width };
                (Kind::Texts(first.clone(), width, buffer(2)?.unwrap_or_default()), wanted)
            }
            "?" => (Kind::Bools(first.clone()), values.div_ceil(8)),
            code => {
                let dtype = Dtype::parse(code, false, None)?;
                (Kind::Numbers(dtype, first.clone()), values * dtype.size)
            }
        };
        if first.len() < wanted || valid.as_ref().is_some_and(|it| it.len() < values.div_ceil(8)) {
            return Err(wrong("has fewer bytes than its length says"));
        }
        Ok(Arrow { kind, length, offset, valid })
    }
}
