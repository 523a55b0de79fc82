//! `requests.parquet`: one row per request, without prompts and outputs.
//!
//! Times are nanoseconds from the start of the run. The file's metadata contains that start as `benchwright.started`. A time is null if the event did
//! not occur. The metadata `benchwright.left_out` is the number of requests that did not fit into memory. Rows are sorted by stage, and by number
//! within a stage.

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DataType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};

use document::{Parts, TOOL_VERSION};
use measurement::{record::RequestRecord, recorder::Records};

/// Rows per row group. Reader and writer hold one group in memory, about 15 MB.
const ROWS_PER_GROUP: usize = 100_000;

/// Maximum number of bytes that a request adds to the file. It applies if no value of the request occurs in another row, so that nothing is
/// compressed.
pub const BYTES_PER_ROW: u64 = 128;

/// The type of a column, and how it reads its value from a request.
enum Column {
    /// A text that every request has.
    Text(fn(&RequestRecord, &Names) -> String),
    /// A text that a request can lack.
    OptionalText(fn(&RequestRecord, &Names) -> Option<String>),
    /// A number that every request has.
    Number(fn(&RequestRecord) -> i64),
    /// A number that a request can lack.
    Optional(fn(&RequestRecord) -> Option<i64>),
}

/// The names of stages and traffic classes. Records refer to them by index.
struct Names {
    stages: Vec<String>,
    classes: Vec<String>,
}

/// The column with the replica. A file has it only if the run had several servers.
const REPLICA: &str = "replica";

const COLUMNS: [(&str, Column); 20] = [
    (
        "stage",
        Column::Text(|it, names| names.stages.get(it.stage as usize).cloned().unwrap_or_else(|| it.stage.to_string())),
    ),
    ("number", Column::Number(|it| i64::try_from(it.number).unwrap_or(i64::MAX))),
    ("outcome", Column::Text(|it, _| it.outcome.name())),
    ("scheduled_ns", Column::Number(|it| nanos(it.scheduled))),
    ("sent_ns", Column::Optional(|it| it.sent.map(nanos))),
    ("first_token_ns", Column::Optional(|it| it.first_token.map(nanos))),
    ("last_token_ns", Column::Optional(|it| it.last_token.map(nanos))),
    ("ended_ns", Column::Number(|it| nanos(it.ended))),
    ("asked_input_tokens", Column::Optional(|it| it.requested_input_tokens.map(i64::from))),
    ("asked_output_tokens", Column::Optional(|it| it.requested_output_tokens.map(i64::from))),
    ("input_tokens", Column::Optional(|it| it.input_tokens.map(i64::from))),
    ("output_tokens", Column::Optional(|it| it.output_tokens.map(i64::from))),
    ("content_events", Column::Number(|it| i64::from(it.content_events))),
    ("permit_wait_ns", Column::Optional(|it| it.permit_wait.map(nanos))),
    ("tpot_ns", Column::Optional(|it| it.tpot().map(nanos))),
    ("session", Column::Optional(|it| it.turn.map(|turn| i64::from(turn.session)))),
    ("turn", Column::Optional(|it| it.turn.map(|turn| i64::from(turn.number.get())))),
    ("cached_tokens", Column::Optional(|it| it.cached_tokens.map(i64::from))),
    ("class", Column::OptionalText(|it, names| names.classes.get(it.class?.get()).cloned())),
    (REPLICA, Column::Optional(|it| it.replica.and_then(|it| i64::try_from(it.get()).ok()))),
];

/// The columns of the file for a report.
fn columns(report: &Parts<'_>) -> impl Iterator<Item = &'static (&'static str, Column)> {
    let several = report.managed_server.is_some_and(|it| it.replicas.len() > 1);
    COLUMNS.iter().filter(move |(name, _)| several || *name != REPLICA)
}

/// Writes the file.
///
/// # Errors
/// An error of the writer.
pub fn write(report: &Parts<'_>, records: &Records, to: &mut (dyn Write + Send)) -> io::Result<()> {
    let names = Names {
        stages: report.workload.stages.iter().map(|it| it.name.clone()).collect(),
        classes: report.workload.classes.classes.iter().map(|it| it.name.clone()).collect(),
    };
    let mut ordered: Vec<&RequestRecord> = records.iter().collect();
    ordered.sort_unstable_by_key(|it| (it.stage, it.number, it.turn));
    write_groups(report, records.left_out(), &names, &ordered, to).map_err(into_io)
}

fn write_groups(
    report: &Parts<'_>,
    left_out: u64,
    names: &Names,
    records: &[&RequestRecord],
    to: &mut (dyn Write + Send),
) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("benchwright {TOOL_VERSION}"))
        .set_key_value_metadata(Some(metadata(report, left_out)))
        .build();
    let mut writer = SerializedFileWriter::new(to, schema(report)?, Arc::new(properties))?;
    for rows in records.chunks(ROWS_PER_GROUP) {
        let mut group = writer.next_row_group()?;
        for (_, column) in columns(report) {
            write_column(&mut group, column, rows, names)?;
        }
        group.close()?;
    }
    writer.close().map(drop)
}

fn metadata(report: &Parts<'_>, left_out: u64) -> Vec<KeyValue> {
    let run = &report.run.run;
    [
        ("benchwright.started", report.analysis.started.to_string()),
        ("benchwright.run", run.title()),
        ("benchwright.uid", run.uid.clone()),
        ("benchwright.attempt", run.attempt.to_string()),
        ("benchwright.model", report.analysis.model.clone()),
        ("benchwright.left_out", left_out.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| KeyValue::new(key.to_owned(), value))
    .collect()
}

fn schema(report: &Parts<'_>) -> Result<TypePtr, ParquetError> {
    let fields = columns(report).map(|(name, column)| {
        let (physical, repetition, logical) = match column {
            Column::Text(_) => (PhysicalType::BYTE_ARRAY, Repetition::REQUIRED, Some(LogicalType::String)),
            Column::OptionalText(_) => (PhysicalType::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String)),
            Column::Number(_) => (PhysicalType::INT64, Repetition::REQUIRED, None),
            Column::Optional(_) => (PhysicalType::INT64, Repetition::OPTIONAL, None),
        };
        let field = Type::primitive_type_builder(name, physical);
        field.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("request").with_fields(fields).build().map(Arc::new)
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[&RequestRecord],
    names: &Names,
) -> Result<(), ParquetError> {
    match column {
        Column::Text(of) => {
            let values: Vec<ByteArray> = rows.iter().map(|it| of(it, names).into_bytes().into()).collect();
            write_values::<ByteArrayType, W>(group, &values, None)
        }
        Column::OptionalText(of) => {
            let all = rows.iter().map(|it| of(it, names));
            let (present, values): (Vec<i16>, Vec<Option<String>>) =
                all.map(|it| (i16::from(it.is_some()), it)).unzip();
            let values: Vec<ByteArray> = values.into_iter().flatten().map(|it| it.into_bytes().into()).collect();
            write_values::<ByteArrayType, W>(group, &values, Some(&present))
        }
        Column::Number(of) => {
            let values: Vec<i64> = rows.iter().map(|it| of(it)).collect();
            write_values::<Int64Type, W>(group, &values, None)
        }
        Column::Optional(of) => {
            let (present, values): (Vec<i16>, Vec<Option<i64>>) =
                rows.iter().map(|it| of(it)).map(|it| (i16::from(it.is_some()), it)).unzip();
            let values: Vec<i64> = values.into_iter().flatten().collect();
            write_values::<Int64Type, W>(group, &values, Some(&present))
        }
    }
}

pub(super) fn write_values<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let mut column =
        column.ok_or_else(|| ParquetError::General("the schema has fewer columns than the table".into()))?;
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}

/// Extracts the I/O error from a Parquet error, so that a full disk is reported as such.
pub(super) fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
