//! Checks the schema of a Parquet file before the library reads it. The library reads nested groups recursively, and reserves memory for as many
//! fields as the file claims to have. Without this check, a small file could crash the process.
//!
//! The schema is a list in Thrift's compact encoding, in which each group is followed by its fields. The library ignores the field types in the file
//! and reads each value by its field number. So this check refuses a field with a type that differs from the format's.

use std::{fs::File, io, os::unix::fs::FileExt as _};

/// Maximum bytes of the footer, which contains the schema and the position of each column. The library needs many times this amount of memory.
const MAX_FOOTER: u64 = 16 << 20;
/// Maximum depth of groups. This limit and the next two limit memory, because the library stores the whole path of each column.
const MAX_DEPTH: usize = 64;
/// Maximum number of columns and groups.
const MAX_ELEMENTS: u64 = 10_000;
/// Maximum bytes of a name.
const MAX_NAME: usize = 512;
/// Maximum depth of a value that is skipped.
const MAX_SKIPPED: u8 = 16;

/// Field types in the compact encoding.
mod types {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// The reason why a schema is refused.
pub(super) enum SchemaProblem {
    /// The schema is damaged.
    Damaged,
    /// The problem and the remedy.
    Refused(String),
}

/// Checks the schema of a file.
///
/// # Errors
/// The schema is damaged or too large. A file without a footer passes this check, because the library refuses it later.
pub(super) fn check(file: &File) -> Result<(), SchemaProblem> {
    let Some(footer) = footer(file)? else { return Ok(()) };
    let mut footer = Thrift(&footer);
    // The version and the schema are the first fields of every file, in this order.
    if footer.field()? != (1, types::I32) {
        return Err(SchemaProblem::Damaged);
    }
    footer.number()?;
    if footer.field()? != (1, types::LIST) {
        return Err(SchemaProblem::Damaged);
    }
    let (count, kind) = footer.list()?;
    if kind != types::STRUCT {
        return Err(SchemaProblem::Damaged);
    }
    if count > MAX_ELEMENTS {
        return Err(refused(format!("has a schema of {count} columns and groups; at most {MAX_ELEMENTS} are read")));
    }
    // For each incomplete group: the number of its fields that are still missing.
    let mut open: Vec<u64> = Vec::new();
    for left in (0..count).rev() {
        while open.pop_if(|it| *it == 0).is_some() {}
        if let Some(fields) = open.last_mut() {
            *fields -= 1;
        }
        let mut element = Element::default();
        footer.structure(Structure::Element, &mut element)?;
        if element.children > left {
            return Err(SchemaProblem::Damaged);
        }
        if element.name > MAX_NAME {
            return Err(refused(format!(
                "has a column whose name has more than {MAX_NAME} bytes; give it a shorter one"
            )));
        }
        if element.children > 0 {
            open.push(element.children);
        }
        if open.len() > MAX_DEPTH {
            return Err(refused(format!("has columns that are nested deeper than {MAX_DEPTH} levels; leave them out")));
        }
    }
    Ok(())
}

fn refused(what: String) -> SchemaProblem {
    SchemaProblem::Refused(what)
}

/// The bytes of the footer; `None` if the file cannot be read, or has no unencrypted footer at its end.
fn footer(file: &File) -> Result<Option<Vec<u8>>, SchemaProblem> {
    let Some((start, length)) = place_of_footer(file).ok().flatten() else { return Ok(None) };
    if length > MAX_FOOTER {
        return Err(refused(format!(
            "has {length} bytes of metadata; at most {MAX_FOOTER} are read: write it with more rows in a group, or as several files"
        )));
    }
    let mut footer = vec![0; usize::try_from(length).unwrap_or_default()];
    Ok(file.read_exact_at(&mut footer, start).ok().map(|()| footer))
}

/// The start and the length of the footer.
fn place_of_footer(file: &File) -> io::Result<Option<(u64, u64)>> {
    let mut tail = [0; 8];
    let Some(end) = file.metadata()?.len().checked_sub(tail.len() as u64) else { return Ok(None) };
    file.read_exact_at(&mut tail, end)?;
    let [a, b, c, d, magic @ ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    Ok(end.checked_sub(length).filter(|_| magic == *b"PAR1").map(|start| (start, length)))
}

/// The properties of a column or group that this check needs.
#[derive(Default)]
struct Element {
    children: u64,
    /// Length of the name in bytes.
    name: usize,
}

/// The structures that occur in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Structure {
    Element,
    LogicalType,
    Decimal,
    Time,
    TimeUnit,
    Integer,
    Variant,
    Geometry,
    Geography,
    Empty,
}

/// The type of a field in a structure, and the structure of its content. `None` if the library does not know the field and skips it.
fn wanted(of: Structure, field: i16) -> Option<(u8, Structure)> {
    let value = |kind| Some((kind, Structure::Empty));
    let structure = |it| Some((types::STRUCT, it));
    match (of, field) {
        (Structure::Element, 1..=3 | 5..=9) | (Structure::Decimal, 1 | 2) | (Structure::Geography, 2) => {
            value(types::I32)
        }
        (Structure::Element, 4) | (Structure::Geometry | Structure::Geography, 1) => value(types::BINARY),
        (Structure::Element, 10) => structure(Structure::LogicalType),
        (Structure::LogicalType, 5) => structure(Structure::Decimal),
        (Structure::LogicalType, 7 | 8) => structure(Structure::Time),
        (Structure::LogicalType, 10) => structure(Structure::Integer),
        (Structure::LogicalType, 16) => structure(Structure::Variant),
        (Structure::LogicalType, 17) => structure(Structure::Geometry),
        (Structure::LogicalType, 18) => structure(Structure::Geography),
        (Structure::LogicalType, 1..=19) | (Structure::TimeUnit, 1..=3) => structure(Structure::Empty),
        (Structure::Time, 1) | (Structure::Integer, 2) => value(types::TRUE),
        (Structure::Time, 2) => structure(Structure::TimeUnit),
        (Structure::Integer | Structure::Variant, 1) => value(types::BYTE),
        _ => None,
    }
}

/// Reads values in the compact encoding.
struct Thrift<'a>(&'a [u8]);

impl Thrift<'_> {
    fn bytes(&mut self, count: usize) -> Result<&[u8], SchemaProblem> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(SchemaProblem::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8, SchemaProblem> {
        self.bytes(1).map(|it| it[0])
    }

    fn number(&mut self) -> Result<u64, SchemaProblem> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(SchemaProblem::Damaged)
    }

    /// Reads the difference to the previous field number, and the type of the field. An explicit field number, which a large difference would need,
    /// does not occur in this format.
    fn field(&mut self) -> Result<(i16, u8), SchemaProblem> {
        match self.byte()? {
            header if header & 0xf == types::STOP => Ok((0, types::STOP)),
            header if header >> 4 == 0 => Err(SchemaProblem::Damaged),
            header => Ok((i16::from(header >> 4), header & 0xf)),
        }
    }

    /// Reads the number of values in a list, and their type.
    fn list(&mut self) -> Result<(u64, u8), SchemaProblem> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.number()? } else { u64::from(header >> 4) };
        Ok((count, header & 0xf))
    }

    /// Reads a structure. Stores a column's number of fields and the length of its name in `element`. The recursion is limited, because no structure
    /// contains itself.
    fn structure(&mut self, of: Structure, element: &mut Element) -> Result<(), SchemaProblem> {
        let mut field = 0_i16;
        loop {
            let (distance, kind) = self.field()?;
            if kind == types::STOP {
                return Ok(());
            }
            field = field.checked_add(distance).ok_or(SchemaProblem::Damaged)?;
            if of == Structure::Empty {
                return Err(SchemaProblem::Damaged);
            }
            let Some((wanted, within)) = wanted(of, field) else {
                self.skip(kind, MAX_SKIPPED)?;
                continue;
            };
            if kind != wanted && (kind, wanted) != (types::FALSE, types::TRUE) {
                return Err(SchemaProblem::Damaged);
            }
            match (of, field) {
                // In this encoding, the lowest bit is the sign.
                (Structure::Element, 5) => match self.number()? {
                    it if it & 1 == 0 => element.children = it >> 1,
                    _ => return Err(SchemaProblem::Damaged),
                },
                (Structure::Element, 4) => {
                    element.name = usize::try_from(self.number()?).map_err(|_| SchemaProblem::Damaged)?;
                    self.bytes(element.name)?;
                }
                _ if kind == types::STRUCT => self.structure(within, element)?,
                _ => self.skip(kind, MAX_SKIPPED)?,
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Result<(), SchemaProblem> {
        let depth = depth.checked_sub(1).ok_or(SchemaProblem::Damaged)?;
        match kind {
            types::TRUE | types::FALSE => {}
            types::BYTE => drop(self.byte()?),
            types::I16 | types::I32 | types::I64 => drop(self.number()?),
            types::DOUBLE => drop(self.bytes(8)?),
            types::BINARY => {
                let length = usize::try_from(self.number()?).map_err(|_| SchemaProblem::Damaged)?;
                self.bytes(length)?;
            }
            types::LIST | types::SET => {
                let (count, kind) = self.list()?;
                // Each value takes at least one byte. Booleans would take less, but do not occur in a schema.
                if count > self.0.len() as u64 || matches!(kind, types::TRUE | types::FALSE) {
                    return Err(SchemaProblem::Damaged);
                }
                for _ in 0..count {
                    self.skip(kind, depth)?;
                }
            }
            types::STRUCT => loop {
                match self.field()? {
                    (_, types::STOP) => break,
                    (_, kind) => self.skip(kind, depth)?,
                }
            },
            _ => return Err(SchemaProblem::Damaged),
        }
        Ok(())
    }
}
