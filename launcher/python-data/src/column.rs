//! A column of a table, as pandas or numpy stores it.

use crate::{
    Cell, Problem,
    arrow::Arrow,
    cell::{Items, List, Part},
    pickle::{Item, Pickle, Seq},
};

/// A column, or the labels of the rows.
#[derive(Clone, Debug)]
pub(crate) enum Column<'t> {
    /// A range of an array along one dimension.
    Array(Part<'t>),
    /// Two columns: the values, and whether each value is missing.
    Masked(Box<Column<'t>>, Box<Column<'t>>),
    /// Two columns: indices, and the categories that they point to. The index -1 means a missing value.
    Categories(Box<Column<'t>>, Box<Column<'t>>),
    Arrow(Arrow<'t>),
    /// Several arrays in sequence. The number is the index of the first row after the array.
    Chunks(Vec<(usize, Arrow<'t>)>),
    /// The numbers of a Python `range`: first number, step, length.
    Range(i64, i64, usize),
    Items(Items<'t>),
    /// The value of one key in each dict of a list.
    Field(Seq<'t>, &'t str, &'t Pickle<'t>),
    /// The same value in each row. The number is the number of rows.
    Constant(Item, usize, &'t Pickle<'t>),
    /// Several labels per row, one column per level of the index.
    Levels(Vec<Column<'t>>),
    /// The rows of a two-dimensional array without the padding of each row.
    Padded {
        rows: Part<'t>,
        lengths: Box<Column<'t>>,
        mask: Option<Part<'t>>,
        /// Whether each row is padded at its start. Used only if there is no mask.
        at_start: bool,
    },
}

impl<'t> Column<'t> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Column::Array(part) => part.length,
            Column::Masked(data, _) => data.len(),
            Column::Categories(codes, _) => codes.len(),
            Column::Arrow(array) => array.length,
            Column::Chunks(all) => all.last().map_or(0, |it| it.0),
            Column::Range(_, _, length) | Column::Constant(_, length, _) => *length,
            Column::Items(items) => items.items.len(),
            Column::Field(rows, ..) => rows.len(),
            Column::Levels(levels) => levels.first().map_or(0, Column::len),
            Column::Padded { rows, .. } => rows.length,
        }
    }

    /// The value in a row. `row` must be below [`Column::len`].
    pub(crate) fn get(&self, row: usize) -> Result<Cell<'t>, Problem> {
        match self {
            Column::Array(part) => part.get(row),
            Column::Masked(data, mask) => match mask.get(row)? {
                Cell::Bool(false) => data.get(row),
                _ => Ok(Cell::Null),
            },
            Column::Categories(codes, categories) => match codes.get(row)? {
                Cell::Int(-1) => Ok(Cell::Null),
                Cell::Int(code) => match usize::try_from(code).ok().filter(|it| *it < categories.len()) {
                    Some(place) => categories.get(place),
                    None => Err(Problem::new(format!("has the category {code} of {}", categories.len()))),
                },
                _ => Err(Problem::new("has a category that is no number")),
            },
            Column::Arrow(array) => array.get(row),
            Column::Chunks(all) => {
                let chunk = all.partition_point(|it| it.0 <= row);
                match all.get(chunk) {
                    Some((end, array)) => array.get(row + array.length - end),
                    None => Ok(Cell::Null),
                }
            }
            Column::Range(start, step, _) => {
                let number = i64::try_from(row).ok().and_then(|it| it.checked_mul(*step)?.checked_add(*start));
                number.map(Cell::Int).ok_or_else(|| Problem::new("has a label that is too large"))
            }
            Column::Items(items) => items.items.get(row).map_or(Ok(Cell::Null), |it| items.pickle.cell(it)),
            Column::Field(rows, name, pickle) => {
                let value = rows.get(row).and_then(|it| pickle.field(it, name));
                value.map_or(Ok(Cell::Null), |it| pickle.cell(it))
            }
            Column::Constant(item, _, pickle) => pickle.cell(*item),
            Column::Levels(levels) => {
                let cells: Result<Vec<_>, _> = levels.iter().map(|it| it.get(row)).collect();
                Ok(Cell::List(List::Cells(cells?)))
            }
            Column::Padded { rows, lengths, mask, at_start } => padded((rows, lengths, row), mask.as_ref(), *at_start),
        }
    }

    /// Whether all values are known to be readable without a check.
    pub(crate) fn is_checked(&self) -> bool {
        match self {
            Column::Array(part) => part.array.is_numbers(),
            Column::Masked(data, mask) => data.is_checked() && mask.is_checked(),
            _ => false,
        }
    }

    /// Number of nodes that are visited to find the value of a row. The value itself is not counted.
    pub(crate) fn visits(&self, row: usize) -> usize {
        match self {
            Column::Field(rows, _, pickle) => rows.get(row).and_then(|it| pickle.dict(it)).map_or(1, <[_]>::len),
            Column::Levels(levels) => levels.len(),
            _ => 1,
        }
    }
}

/// Returns the ids of a row, including the padding, and their number without padding.
fn row_of<'t>((rows, lengths, row): (&Part<'t>, &Column<'t>, usize)) -> Result<(Part<'t>, usize), Problem> {
    let Cell::List(List::Array(part)) = rows.get(row)? else {
        return Err(Problem::new("is no array of rows"));
    };
    let length = match lengths.get(row)? {
        Cell::Int(number) => usize::try_from(number).ok(),
        _ => None,
    };
    let length = length.filter(|it| *it <= part.length);
    let length =
        length.ok_or_else(|| Problem::new(format!("has a length that is not between 0 and {}", part.length)))?;
    Ok((part, length))
}

/// Returns the ids of a row without its padding. The padding is at the start if the mask of the row begins with 0, or if `at_start`.
fn padded<'t>(
    of: (&Part<'t>, &Column<'t>, usize),
    mask: Option<&Part<'t>>,
    at_start: bool,
) -> Result<Cell<'t>, Problem> {
    let (mut part, length) = row_of(of)?;
    let first = match mask.map(|it| it.get(of.2)).transpose()? {
        Some(Cell::List(mask)) => Some(mask.get(0)?),
        _ => None,
    };
    if at_start || matches!(first, Some(Cell::Int(0) | Cell::Bool(false))) {
        part.offset += (part.length - length) * part.array.stride(part.axis);
    }
    part.length = length;
    Ok(Cell::List(List::Array(part)))
}

/// Whether rows without a mask are padded at the start. Padding is known to repeat one id in all rows. So it is at the start if the ids at the other
/// end differ.
pub(crate) fn fills_start(rows: &Part<'_>, lengths: &Column<'_>) -> Result<bool, Problem> {
    let (mut at_end, mut at_start) = (Filling::Open, Filling::Open);
    for row in 0..rows.length {
        let (part, length) = row_of((rows, lengths, row))?;
        for place in length..part.length {
            at_end.add(&part.get(place)?);
            at_start.add(&part.get(place - length)?);
        }
        if (at_end, at_start) == (Filling::Differs, Filling::Differs) {
            let remedy = "add masked_tokens.npy, or pad each row at one end with one id";
            return Err(Problem::new(format!(
                "has a row {row} that is padded with different ids at both ends; {remedy}"
            )));
        }
    }
    Ok(at_end == Filling::Differs)
}

/// Which id is at one end of the rows, over all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    Open,
    Id(i128),
    Differs,
}

impl Filling {
    fn add(&mut self, cell: &Cell<'_>) {
        let id = match cell {
            Cell::Int(id) => Some(i128::from(*id)),
            Cell::UInt(id) => Some(i128::from(*id)),
            _ => None,
        };
        *self = match (*self, id) {
            (Filling::Open, Some(id)) => Filling::Id(id),
            (Filling::Id(one), Some(other)) if one == other => Filling::Id(one),
            _ => Filling::Differs,
        };
    }
}
