//! Converts a DataFrame or a Series to a table, in the formats of pandas 1.0 to 3.

use std::{borrow::Cow, rc::Rc};

use crate::{
    Cell, Problem,
    array::{Array, Data},
    cell::{Items, Part},
    column::Column,
    dtype::{Dtype, Kind},
    pickle::{Call, Item, Pickle, names::Name},
    table::{Table, TableParts},
};

/// Maximum number of columns in a table.
pub(crate) const MAX_COLUMNS: usize = 10_000;
/// Maximum nesting depth of indexes.
const MAX_INDEX_DEPTH: usize = 4;

/// The labels of rows or columns, and the name of each level.
struct Index<'t> {
    labels: Column<'t>,
    names: Vec<Item>,
}

impl<'a> Pickle<'a> {
    /// Reads a numpy type.
    pub(crate) fn dtype(&self, item: Item) -> Result<Dtype, Problem> {
        let wrong = || Problem::new("has a type of numpy that is not written as numpy writes it");
        let call = self.call(item).filter(|it| it.name == Name::Dtype).ok_or_else(wrong)?;
        let code = call.arguments.first().and_then(|it| self.text(*it)).ok_or_else(wrong)?;
        let state = call.state.and_then(|it| self.tuple(it)).unwrap_or_default();
        let big = state.get(1).and_then(|it| self.text(*it)) == Some(">");
        // The unit of a time is in the last item of the state: (..., (b'ns', 1, 1, 1)).
        let unit = state.get(8).and_then(|it| self.tuple(*it)?.get(1).and_then(|it| self.tuple(*it)));
        let unit = match unit {
            Some([unit, number, ..]) => {
                let letters = self.bytes(*unit)?.unwrap_or_default();
                let letters = String::from_utf8_lossy(&letters).into_owned();
                match number {
                    Item::Int(number) => Some(format!("{number}{letters}")),
                    _ => Some(letters),
                }
            }
            _ => None,
        };
        Dtype::parse(code, big, unit.as_deref())
    }

    /// Reads a numpy array. `None` if the item is not an array.
    pub(crate) fn array(&self, item: Item) -> Result<Option<Array<'_>>, Problem> {
        let wrong = || Problem::new("holds an array that is not written as numpy writes it");
        let Some(call) = self.call(item) else { return Ok(None) };
        let (shape, dtype, fortran, data) = match call.name {
            Name::Reconstruct => {
                let state = call.state.and_then(|it| self.tuple(it));
                let Some([_, shape, dtype, fortran, data]) = state else { return Err(wrong()) };
                (*shape, *dtype, *fortran == Item::Bool(true), *data)
            }
            Name::FromBuffer => {
                let [data, dtype, shape, order] = call.arguments else { return Err(wrong()) };
                (*shape, *dtype, self.text(*order) == Some("F"), *data)
            }
            _ => return Ok(None),
        };
        let dtype = self.dtype(dtype)?;
        let mut lengths = Vec::new();
        for length in self.seq(shape).ok_or_else(wrong)?.iter() {
            let Item::Int(length) = length else { return Err(wrong()) };
            let length = usize::try_from(length);
            lengths.push(length.map_err(|_| Problem::new("holds an array with a negative dimension"))?);
        }
        let data = if dtype.kind == Kind::Object {
            Data::Items(self.seq(data).ok_or_else(wrong)?, self)
        } else {
            Data::Bytes(self.bytes(data)?.ok_or_else(wrong)?)
        };
        Array::new(dtype, lengths, fortran, data).map(Some)
    }

    /// The state of an object as a dict. The state is either a dict, or a tuple that contains one.
    fn state_dict(&self, state: Item) -> Option<Item> {
        if self.dict(state).is_some() {
            return Some(state);
        }
        self.tuple(state)?.iter().copied().find(|it| self.dict(*it).is_some_and(|it| !it.is_empty()))
    }

    /// The numpy array inside a pandas array, and its type.
    fn backing(&self, state: Item) -> (Option<Item>, Option<Item>) {
        let is_array =
            |it: &Item| self.call(*it).is_some_and(|it| matches!(it.name, Name::Reconstruct | Name::FromBuffer));
        let is_type = |it: &Item| {
            let name = self.call(*it).map(|it| it.name);
            matches!(name, Some(Name::Dtype | Name::CategoricalDtype | Name::ExtensionDtype))
        };
        if let Some(items) = self.tuple(state)
            && items.iter().any(is_array)
        {
            return (items.iter().copied().find(is_array), items.iter().copied().find(is_type));
        }
        let Some(dict) = self.state_dict(state) else { return (None, None) };
        let array = ["_ndarray", "_codes", "_data"].iter().find_map(|it| self.field(dict, it)).filter(is_array);
        (array, self.field(dict, "_dtype"))
    }

    /// The class and the state of a pandas array that is built around a numpy array.
    fn backed(&self, item: Item) -> Option<(Name, Item)> {
        let call = self.call(item)?;
        match call.name {
            Name::UnpickleBacked => {
                let class = self.name(*call.arguments.first()?)?;
                let state = call.state.or_else(|| call.arguments.get(2).copied())?;
                Some((class, state))
            }
            Name::Backed | Name::Categorical => Some((call.name, call.state?)),
            _ => None,
        }
    }

    /// Reads a numpy array, or the numpy array inside a pandas array of texts or times. `None` if the item is neither.
    fn plain_array(&self, item: Item) -> Result<Option<Array<'_>>, Problem> {
        if let Some((Name::Backed, state)) = self.backed(item) {
            let (array, _) = self.backing(state);
            return array.map_or(Ok(None), |it| self.array(it));
        }
        self.array(item)
    }

    /// Reads a one-dimensional array of any supported class.
    fn values(&self, item: Item, depth: usize) -> Result<Column<'_>, Problem> {
        let wrong = || Problem::new(format!("holds {} where an array belongs", self.kind(item)));
        if depth > MAX_INDEX_DEPTH {
            return Err(Problem::new("has an index within an index within an index"));
        }
        if let Some(array) = self.plain_array(item)? {
            return Part::whole(Rc::new(array)).map(Column::Array).ok_or_else(wrong);
        }
        if let Some((class, state)) = self.backed(item) {
            let (Name::Categorical, (Some(codes), Some(dtype))) = (class, self.backing(state)) else {
                return Err(wrong());
            };
            let dtype = self.call(dtype).filter(|it| it.name == Name::CategoricalDtype).ok_or_else(wrong)?;
            let categories = dtype.state.and_then(|it| self.field(it, "categories")).ok_or_else(wrong)?;
            let codes = self.values(codes, depth + 1)?;
            let categories = self.index(categories, depth + 1)?.labels;
            return Ok(Column::Categories(Box::new(codes), Box::new(categories)));
        }
        let call = self.call(item).ok_or_else(wrong)?;
        let state = call.state.and_then(|it| self.state_dict(it));
        let field = |name: &str| state.and_then(|it| self.field(it, name));
        match call.name {
            Name::Masked => {
                let (data, mask) = (field("_data").ok_or_else(wrong)?, field("_mask").ok_or_else(wrong)?);
                let (data, mask) = (self.values(data, depth + 1)?, self.values(mask, depth + 1)?);
                if data.len() != mask.len() {
                    return Err(Problem::new("has an array and a mask of different lengths"));
                }
                Ok(Column::Masked(Box::new(data), Box::new(mask)))
            }
            Name::ArrowArray => self.arrow(field("_pa_array").or_else(|| field("_data")).ok_or_else(wrong)?),
            Name::NewIndex => self.index(item, depth).map(|it| it.labels),
            _ => Err(wrong()),
        }
    }

    /// Reads the labels of rows or columns.
    fn index(&self, item: Item, depth: usize) -> Result<Index<'_>, Problem> {
        let wrong = || Problem::new(format!("holds {} where an index belongs", self.kind(item)));
        let call = self.call(item).filter(|it| it.name == Name::NewIndex).ok_or_else(wrong)?;
        let [class, fields] = call.arguments else { return Err(wrong()) };
        let field = |name: &str| self.field(*fields, name);
        let names = vec![field("name").unwrap_or(Item::None)];
        match self.name(*class).ok_or_else(wrong)? {
            Name::RangeIndex => {
                let (Some(Item::Int(start)), Some(Item::Int(stop)), Some(Item::Int(step))) =
                    (field("start"), field("stop"), field("step"))
                else {
                    return Err(wrong());
                };
                Ok(Index { labels: range(start, stop, step).ok_or_else(wrong)?, names })
            }
            Name::MultiIndex => {
                let seq = |name: &str| field(name).and_then(|it| self.seq(it));
                let levels = seq("levels").ok_or_else(wrong)?;
                let codes = seq("codes").or_else(|| seq("labels")).ok_or_else(wrong)?;
                let mut all = Vec::new();
                for (level, codes) in levels.iter().zip(codes.iter()).take(MAX_COLUMNS) {
                    let (codes, level) = (self.values(codes, depth + 1)?, self.index(level, depth + 1)?);
                    all.push(Column::Categories(Box::new(codes), Box::new(level.labels)));
                }
                let length = all.first().map_or(0, Column::len);
                if all.len() != levels.len() || all.len() != codes.len() || all.iter().any(|it| it.len() != length) {
                    return Err(Problem::new("has an index whose levels differ in length"));
                }
                let names = seq("names").map(|it| it.iter().collect()).unwrap_or_else(|| vec![Item::None; all.len()]);
                Ok(Index { labels: Column::Levels(all), names })
            }
            Name::Index => Ok(Index { labels: self.values(field("data").ok_or_else(wrong)?, depth + 1)?, names }),
            _ => Err(wrong()),
        }
    }

    /// Reads the table of a DataFrame or a Series. `None` if the item is neither.
    pub(crate) fn frame(&self, item: Item) -> Result<Option<Table<'_>>, Problem> {
        let Some(Call { name, state, .. }) = self.call(item) else { return Ok(None) };
        let wrong = || Problem::new(format!("holds a {name:?} that is not written as pandas writes it"));
        if !matches!(name, Name::DataFrame | Name::Series) {
            return Ok(None);
        }
        let state = state.ok_or_else(wrong)?;
        let manager = self.field(state, "_mgr").or_else(|| self.field(state, "_data")).ok_or_else(wrong)?;
        let manager = self.call(manager).filter(|it| it.name == Name::BlockManager).ok_or_else(wrong)?;
        let (axes, blocks) = self.blocks(manager).ok_or_else(wrong)?;
        if name == Name::Series {
            let ([axis], [block]) = (&*axes, &*blocks) else { return Err(wrong()) };
            let index = self.index(*axis, 0)?;
            let name = ["_name", "name"].iter().find_map(|it| self.field(state, it)).unwrap_or(Item::None);
            let name = match self.cell(name)? {
                Cell::Null => Cell::Text(Cow::Borrowed("values")),
                name => name,
            };
            let columns = vec![(name, self.values(block.0, 0)?)];
            let names = self.cells(&index.names)?;
            let parts = TableParts { columns, labels: index.labels, index_names: names, is_frame: false };
            return Table::new(parts, Some(self)).map(Some);
        }
        let [columns, rows] = &*axes else { return Err(wrong()) };
        let (names, rows) = (self.index(*columns, 0)?.labels, self.index(*rows, 0)?);
        if names.len() > MAX_COLUMNS {
            return Err(Problem::new(format!("has {} columns; at most {MAX_COLUMNS} are read", names.len())));
        }
        let mut filled: Vec<Option<Column<'_>>> = Vec::new();
        filled.resize_with(names.len(), || None);
        for (values, placement) in &*blocks {
            self.visit(1)?;
            self.fill(*values, *placement, &mut filled)?;
        }
        let mut columns = Vec::with_capacity(filled.len());
        for (place, column) in filled.into_iter().enumerate() {
            let name = names.get(place)?;
            let empty = || Problem::new(format!("has no values for its column {}", name.to_name()));
            columns.push((name.clone(), column.ok_or_else(empty)?));
        }
        let index_names = self.cells(&rows.names)?;
        let parts = TableParts { columns, labels: rows.labels, index_names, is_frame: true };
        Table::new(parts, Some(self)).map(Some)
    }

    fn cells(&self, items: &[Item]) -> Result<Vec<Cell<'_>>, Problem> {
        items.iter().map(|it| self.cell(*it)).collect()
    }

    /// The axes of a table, and its blocks. A block consists of an item with values, and an item with the numbers of the columns that these values
    /// belong to.
    #[expect(clippy::type_complexity, reason = "a pair of lists")]
    fn blocks(&self, manager: Call<'_>) -> Option<(Vec<Item>, Vec<(Item, Item)>)> {
        let items = |it: Item| self.seq(it).map(|it| it.iter().take(MAX_COLUMNS + 1).collect::<Vec<_>>());
        // Pandas up to 1.2 writes a state of four items; for a Series, every version does.
        if let Some([_, _, _, last]) = manager.state.and_then(|it| self.tuple(it)) {
            let fields = self.field(*last, "0.14.1")?;
            let axes = items(self.field(fields, "axes")?)?;
            let blocks = items(self.field(fields, "blocks")?)?.into_iter();
            let blocks: Option<_> =
                blocks.map(|it| Some((self.field(it, "values")?, self.field(it, "mgr_locs")?))).collect();
            return Some((axes, blocks?));
        }
        let [blocks, axes, ..] = manager.arguments else { return None };
        let block = |it: Item| {
            let call = self.call(it).filter(|it| matches!(it.name, Name::UnpickleBlock | Name::NewBlock))?;
            Some((*call.arguments.first()?, *call.arguments.get(1)?))
        };
        let blocks: Option<_> = items(*blocks)?.into_iter().map(block).collect();
        Some((items(*axes)?, blocks?))
    }

    /// Splits a block into columns, and stores each column at its number.
    fn fill<'t>(&'t self, values: Item, placement: Item, columns: &mut [Option<Column<'t>>]) -> Result<(), Problem> {
        let places = self.places(placement, columns.len())?;
        let mut put = |place: usize, column: Column<'t>| match columns.get_mut(place) {
            Some(slot @ None) => {
                *slot = Some(column);
                Ok(())
            }
            Some(Some(_)) => Err(Problem::new(format!("has values for its column {place} twice"))),
            None => Err(Problem::new(format!("has values for its column {place}, which it does not have"))),
        };
        if let Some(array) = self.plain_array(values)?
            && let [height, length] = *array.shape()
        {
            if height != places.len() {
                let wanted = places.len();
                return Err(Problem::new(format!("has a block of {height} columns for {wanted} places")));
            }
            let stride = array.stride(0);
            let array = Rc::new(array);
            for (row, place) in places.into_iter().enumerate() {
                let part = Part { array: Rc::clone(&array), axis: 1, offset: row * stride, length };
                put(place, Column::Array(part))?;
            }
            return Ok(());
        }
        let [place] = *places else {
            return Err(Problem::new(format!("has one column for {} places", places.len())));
        };
        put(place, self.values(values, 0)?)
    }

    /// The numbers of the columns in a block.
    fn places(&self, placement: Item, most: usize) -> Result<Vec<usize>, Problem> {
        let wrong = || Problem::new("has a block without places");
        let column = match self.call(placement) {
            Some(Call { name: Name::Slice, arguments: [Item::Int(start), Item::Int(stop), step], .. }) => {
                let step = if let Item::Int(step) = step { *step } else { 1 };
                range(*start, *stop, step).ok_or_else(wrong)?
            }
            _ => match self.seq(placement) {
                Some(items) => Column::Items(Items { items, pickle: self }),
                None => self.values(placement, 0)?,
            },
        };
        if column.len() > most {
            return Err(wrong());
        }
        let place = |it| match column.get(it)? {
            Cell::Int(place) => usize::try_from(place).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        (0..column.len()).map(place).collect()
    }
}

/// The numbers of a Python `range`.
fn range<'t>(start: i64, stop: i64, step: i64) -> Option<Column<'t>> {
    let (distance, size) = if step > 0 {
        (stop.checked_sub(start)?, step)
    } else {
        (start.checked_sub(stop)?, step.checked_neg().filter(|it| *it > 0)?)
    };
    let length = if distance <= 0 { 0 } else { (distance - 1) / size + 1 };
    Some(Column::Range(start, step, usize::try_from(length).ok()?))
}
