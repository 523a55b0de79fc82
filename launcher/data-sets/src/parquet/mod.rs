//! Reads a data set that is an Apache Parquet file.
//!
//! Only the pages of the wanted columns are read, in sequence. The module `pages` decompresses them with a size limit, using codecs that are written
//! entirely in Rust.

mod pages;
mod row_budget;
mod schema;

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use parquet::{
    errors::ParquetError,
    file::{
        metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaDataReader},
        reader::RowGroupReader as _,
    },
    record::{Field, reader::TreeBuilder},
    schema::types::{SchemaDescriptor, Type},
};
use serde_json::{Map, Value};

use super::{DataSetError, label::Label, sink::RowSink};
use pages::RowGroup;
use schema::SchemaProblem;

/// Maximum number of columns that are read. Each field of an object counts as a column.
const MAX_COLUMNS: usize = 64;

/// Reads the rows of a file.
pub(super) fn read<S: RowSink>(sink: &mut S, file: File) -> Result<(), DataSetError> {
    // The library panics on some damaged files, which is caught here. Damage that would abort the process is detected earlier.
    let read = catch_unwind(AssertUnwindSafe(|| read_file(sink, file)));
    let damaged = |sink: &S, error: &str| {
        let row = sink.offered();
        sink.wrong(
            format!("row {row}, counted from 0"),
            format!("cannot be read: {error}; download or write the file again"),
        )
    };
    match read {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Problem::Row(error))) => Err(error),
        Ok(Err(Problem::Refused(what))) => Err(sink.wrong("as a Parquet file".to_owned(), what)),
        Ok(Err(Problem::Parquet(ParquetError::External(error)))) => Err(damaged(sink, &error.to_string())),
        Ok(Err(Problem::Parquet(_))) | Err(_) => Err(damaged(sink, "it is damaged, or no Parquet file")),
    }
}

/// The reason why reading ended early.
enum Problem {
    Row(DataSetError),
    /// The problem with the file, and the remedy.
    Refused(String),
    Parquet(ParquetError),
}

impl From<ParquetError> for Problem {
    fn from(error: ParquetError) -> Self {
        Problem::Parquet(error)
    }
}

fn read_file(sink: &mut impl RowSink, file: File) -> Result<(), Problem> {
    match schema::check(&file) {
        Ok(()) => {}
        Err(SchemaProblem::Refused(what)) => return Err(Problem::Refused(what)),
        Err(SchemaProblem::Damaged) => return Err(ParquetError::General("its schema is damaged".to_owned()).into()),
    }
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
    let schema = metadata.file_metadata().schema();
    let columns: Vec<&str> = schema.get_fields().iter().map(|it| it.name()).collect();
    let (rows, most) = (metadata.file_metadata().num_rows(), sink.most_rows());
    if u64::try_from(rows).is_ok_and(|it| it > most) {
        return Err(Problem::Refused(format!("states {rows} rows; at most {most} are read: give a part of it")));
    }
    let mut wanted = sink.choose(&columns, true).map_err(Problem::Refused)?;
    let chosen: Vec<&str> = wanted.iter().filter_map(|it| columns.get(*it).copied()).collect();
    // pandas stores the row labels as columns.
    let labels = if sink.wants_labels() {
        index_columns(metadata.file_metadata().key_value_metadata(), &columns)
    } else {
        Vec::new()
    };
    wanted.extend(labels.iter().copied());
    wanted.sort_unstable();
    wanted.dedup();
    let fields = wanted.iter().map(|it| Arc::clone(&schema.get_fields()[*it])).collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build()?;
    let projection = Arc::new(SchemaDescriptor::new(Arc::new(projection)));
    if projection.num_columns() > MAX_COLUMNS {
        let found = projection.num_columns();
        return Err(Problem::Refused(format!(
            "has {found} fields in the columns that are read; at most {MAX_COLUMNS} are read: leave some out"
        )));
    }
    let is_wanted = |chunk: &ColumnChunkMetaData| {
        let path = chunk.column_path();
        path.parts().first().is_some_and(|it| wanted.iter().any(|place| columns[*place] == it))
    };
    let file = Arc::new(file);
    for group in metadata.row_groups() {
        let group = RowGroup::new(Arc::clone(&file), group, is_wanted);
        for leaf in 0..group.num_columns() {
            if let Some(what) = group.refused(leaf).filter(|_| is_wanted(group.metadata().column(leaf))) {
                return Err(Problem::Refused(what));
            }
        }
        // Reads one row per batch. Some encodings expand each value of a batch to a copy as long as the page.
        for row in TreeBuilder::new().with_batch_size(1).as_iter(Arc::clone(&projection), &group)? {
            let mut row = object(&row?);
            let label: Vec<Value> = labels.iter().filter_map(|it| row.get(columns[*it]).cloned()).collect();
            row.retain(|name, _| chosen.contains(&name.as_str()));
            sink.label(Label::from_values(&label));
            let is_read = sink.read(Value::Object(row)).is_ok();
            if !is_read || !sink.take() {
                return Err(Problem::Row(sink.wrong(sink.at(is_read), sink.problem())));
            }
            if sink.is_complete() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The indices of the columns with row labels. pandas stores their names as metadata in the file: `{"index_columns": ["__index_level_0__"], ...}`. An
/// entry that is an object describes consecutive numbers and is skipped.
fn index_columns(notes: Option<&Vec<KeyValue>>, columns: &[&str]) -> Vec<usize> {
    let notes = notes.and_then(|it| it.iter().find(|it| it.key == "pandas"));
    let notes = notes.and_then(|it| serde_json::from_str::<Value>(it.value.as_deref()?).ok()).unwrap_or_default();
    let names = notes["index_columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = names.iter().filter_map(Value::as_str);
    names.filter_map(|it| columns.iter().position(|column| *column == it)).collect()
}

fn object(row: &parquet::record::Row) -> Map<String, Value> {
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// Converts a value to JSON. Types that cannot be part of a prompt become null.
fn value(field: &Field) -> Value {
    match field {
        Field::Bool(it) => (*it).into(),
        Field::Byte(it) => (*it).into(),
        Field::Short(it) => (*it).into(),
        Field::Int(it) => (*it).into(),
        Field::Long(it) => (*it).into(),
        Field::UByte(it) => (*it).into(),
        Field::UShort(it) => (*it).into(),
        Field::UInt(it) => (*it).into(),
        Field::ULong(it) => (*it).into(),
        Field::Float(it) => (*it).into(),
        Field::Double(it) => (*it).into(),
        Field::Str(it) => it.as_str().into(),
        Field::Bytes(it) => it.as_utf8().map_or(Value::Null, Value::from),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::Null
        | Field::Float16(_)
        | Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_)
        | Field::MapInternal(_) => Value::Null,
    }
}
