//! Reads `npy` files, and `npz` archives, which contain `npy` files.

use std::{borrow::Cow, rc::Rc};

use crate::{
    Cell, Problem,
    array::{Array, Data},
    cell::Part,
    column::{Column, fills_start},
    dtype::{Dtype, Kind},
    pickle::Pickle,
    plain::numbered,
    problem::shown,
    table::{Table, VALUES},
};

/// The first bytes of an `npy` file.
pub const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum bytes of a header.
const MAX_HEADER: usize = 1 << 20;

/// The content of an `npy` file.
#[derive(Debug)]
pub enum Npy<'a> {
    /// An array of numbers or texts.
    Plain(Array<'a>),
    /// An array of objects, which the file contains as a pickle.
    Objects(Pickle<'a>),
}

impl<'a> Npy<'a> {
    /// Reads an `npy` file.
    ///
    /// # Errors
    /// The header is damaged, states more elements than the file has, or states an unsupported type of elements. See also [`Pickle::read`].
    pub fn read(file: &'a [u8]) -> Result<Npy<'a>, Problem> {
        let cut = || Problem::new("is no file of numpy, or ends within its header");
        let rest = file.strip_prefix(MAGIC).ok_or_else(cut)?;
        let ([major, _], rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let (length, rest) = match major {
            1 => rest.split_first_chunk::<2>().map(|(it, rest)| (usize::from(u16::from_le_bytes(*it)), rest)),
            2 | 3 => rest.split_first_chunk::<4>().map(|(it, rest)| (u32::from_le_bytes(*it) as usize, rest)),
            _ => return Err(Problem::new(format!("is of version {major} of npy; 1 to 3 are read"))),
        }
        .ok_or_else(cut)?;
        let (header, data) = rest.split_at_checked(length).filter(|_| length <= MAX_HEADER).ok_or_else(cut)?;
        let header = std::str::from_utf8(header).map_err(|_| cut())?;
        let Header { descr, fortran, shape } = Header::parse(header)?;
        let (code, unit) = match descr.split_once('[') {
            Some((code, unit)) => (code, unit.strip_suffix(']')),
            None => (descr.as_str(), None),
        };
        let big = code.starts_with('>');
        let dtype = Dtype::parse(code.trim_start_matches(['<', '>', '|', '=']), big, unit)?;
        if dtype.kind == Kind::Object {
            return Pickle::read(data).map(Npy::Objects);
        }
        Array::new(dtype, shape, fortran, Data::Bytes(Cow::Borrowed(data))).map(Npy::Plain)
    }

    /// Returns the array.
    ///
    /// # Errors
    /// The pickle contains no array.
    pub fn array(&self) -> Result<Array<'_>, Problem> {
        match self {
            Npy::Plain(array) => Ok(array.clone()),
            Npy::Objects(pickle) => {
                pickle.array(pickle.root)?.ok_or_else(|| Problem::new("holds objects that are no array"))
            }
        }
    }

    /// A table with the array as its only column.
    ///
    /// # Errors
    /// The array is a single value. See also [`Pickle::table`].
    pub fn table(&self) -> Result<Table<'_>, Problem> {
        self.numbered(vec![self.column(VALUES)?])
    }

    fn numbered<'t>(&'t self, columns: Vec<(Cell<'t>, Column<'t>)>) -> Result<Table<'t>, Problem> {
        let budget = match self {
            Npy::Plain(_) => None,
            Npy::Objects(pickle) => Some(pickle),
        };
        numbered(columns, budget)
    }

    fn column<'t>(&'t self, name: &'t str) -> Result<(Cell<'t>, Column<'t>), Problem> {
        Ok((Cell::Text(Cow::Borrowed(name)), Column::Array(self.part()?)))
    }

    fn part(&self) -> Result<Part<'_>, Problem> {
        let array = Rc::new(self.array()?);
        Part::whole(array).ok_or_else(|| Problem::new("holds one value, and no table"))
    }
}

/// A table with one column per array of an archive. Each column has the name of its array.
///
/// # Errors
/// The arrays differ in length, or one contains pickled objects. An array of objects must be given as a separate file.
pub fn table_of<'t>(arrays: &'t [(String, Npy<'t>)]) -> Result<Table<'t>, Problem> {
    if let [(name, array)] = arrays {
        return array.numbered(vec![array.column(name)?]);
    }
    let mut columns = Vec::new();
    for (name, array) in arrays {
        if matches!(array, Npy::Objects(_)) {
            return Err(Problem::new(format!("holds {} with objects among other arrays; save it alone", shown(name))));
        }
        columns.push(array.column(name)?);
    }
    numbered(columns, None)
}

/// A table from a folder of arrays, a form in which vendors publish data sets: padded ids, lengths, and a mask that shows which end of each row is
/// padded. Without a mask, the padded end is the one at which all padding has the same id. The only column is `input_ids`.
///
/// # Errors
/// The shapes of the arrays differ, a length exceeds the row length, or (without a mask) the padding contains several ids.
pub fn padded<'t>(ids: &'t Npy<'t>, lengths: &'t Npy<'t>, mask: Option<&'t Npy<'t>>) -> Result<Table<'t>, Problem> {
    let rows = ids.part()?;
    if rows.array.shape().len() != 2 || !matches!(rows.array.dtype.kind, Kind::Int | Kind::UInt) {
        return Err(Problem::new("has ids that are no whole numbers in rows of one length"));
    }
    let lengths = lengths.part()?;
    let mask = mask.map(Npy::part).transpose()?;
    if let Some(mask) = mask.as_ref().filter(|it| it.array.shape() != rows.array.shape()) {
        let (mask, ids) = (mask.array.shape(), rows.array.shape());
        return Err(Problem::new(format!("has a mask of shape {mask:?} for ids of shape {ids:?}")));
    }
    if lengths.length != rows.length {
        return Err(Problem::new(format!("has {} lengths for {} rows", lengths.length, rows.length)));
    }
    let lengths = Column::Array(lengths);
    let at_start = mask.is_none() && fills_start(&rows, &lengths)?;
    let column = Column::Padded { rows, lengths: Box::new(lengths), mask, at_start };
    numbered(vec![(Cell::Text(Cow::Borrowed("input_ids")), column)], None)
}

/// The header of an `npy` file, which is a Python dict.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Result<Header, Problem> {
        let mut rest = Scanner(text);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let header = (|| {
            rest.sign('{')?;
            while rest.sign('}').is_none() {
                let key = rest.text()?;
                rest.sign(':')?;
                match key {
                    "descr" => descr = Some(rest.text()?.to_owned()),
                    "fortran_order" => fortran = Some(rest.word()? == "True"),
                    "shape" => shape = Some(rest.shape()?),
                    _ => return None,
                }
                let _ = rest.sign(',');
            }
            Some(Header { descr: descr?, fortran: fortran?, shape: shape? })
        })();
        header.ok_or_else(|| Problem::new("has a header that is not as numpy writes it; records are not read"))
    }
}

/// Parses a header. The field is the part that is not parsed yet.
struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    fn sign(&mut self, sign: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(sign)?;
        Some(())
    }

    fn text(&mut self) -> Option<&'a str> {
        let quote = self.0.trim_start().chars().next().filter(|it| matches!(it, '\'' | '"'))?;
        self.sign(quote)?;
        let (text, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    fn word(&mut self) -> Option<&'a str> {
        let start = self.0.trim_start();
        let end = start.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(start.len());
        let (word, rest) = start.split_at_checked(end)?;
        self.0 = rest;
        Some(word).filter(|it| !it.is_empty())
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        self.sign('(')?;
        let mut shape = Vec::new();
        while self.sign(')').is_none() {
            // Python 2 writes the number 3 as 3L.
            shape.push(self.word()?.trim_end_matches('L').parse().ok()?);
            let _ = self.sign(',');
        }
        Some(shape)
    }
}
