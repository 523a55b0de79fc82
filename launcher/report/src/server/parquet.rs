//! Writes `server_metrics.parquet`: one row per sample of each series, sorted by address, metric and labels.
//!
//! `time_ns` is when the scrape was sent, in nanoseconds from the start of the run. It is negative for scrapes before the start. The launcher adds
//! two metrics with Prometheus' names: `up` is 1 for a successful scrape and 0 for a failed one, and `scrape_duration_seconds` is the duration of the
//! scrape.

use std::{
    io::{self, Write},
    sync::Arc,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};

use server_metrics::{
    scraped::Address,
    series::{Scrape, Series},
};

use crate::requests_parquet::{into_io, write_values};
use analysis::servers::ServerAnalysis;
use document::{Parts, TOOL_VERSION};

/// Rows per row group. The writer holds one group in memory, about 10 MB.
const ROWS_PER_GROUP: usize = 100_000;

/// The rows of a group, column by column.
#[derive(Default)]
struct Rows {
    time: Vec<i64>,
    endpoint: Vec<ByteArray>,
    metric: Vec<ByteArray>,
    labels: Vec<ByteArray>,
    value: Vec<f64>,
}

/// Writes the file.
///
/// # Errors
/// An error of the writer.
pub(crate) fn write(report: &Parts<'_>, server: &ServerAnalysis, to: &mut (dyn Write + Send)) -> io::Result<()> {
    write_groups(report, server, to).map_err(into_io)
}

fn write_groups(report: &Parts<'_>, server: &ServerAnalysis, to: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
    let metadata = vec![
        KeyValue::new("benchwright.started".to_owned(), report.analysis.started.to_string()),
        KeyValue::new("benchwright.run".to_owned(), report.run.run.title()),
    ];
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("benchwright {TOOL_VERSION}"))
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut writer = SerializedFileWriter::new(to, schema()?, Arc::new(properties))?;
    let mut rows = Rows::default();
    for (time, endpoint, metric, labels, value) in all(server) {
        rows.time.push(time);
        rows.endpoint.push(endpoint);
        rows.metric.push(metric);
        rows.labels.push(labels);
        rows.value.push(value);
        if rows.time.len() == ROWS_PER_GROUP {
            write_group(&mut writer, &std::mem::take(&mut rows))?;
        }
    }
    if !rows.time.is_empty() {
        write_group(&mut writer, &rows)?;
    }
    writer.close().map(drop)
}

fn write_group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, rows: &Rows) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    write_values::<Int64Type, W>(&mut group, &rows.time, None)?;
    write_values::<ByteArrayType, W>(&mut group, &rows.endpoint, None)?;
    write_values::<ByteArrayType, W>(&mut group, &rows.metric, None)?;
    write_values::<ByteArrayType, W>(&mut group, &rows.labels, None)?;
    write_values::<DoubleType, W>(&mut group, &rows.value, None)?;
    group.close().map(drop)
}

type Row = (i64, ByteArray, ByteArray, ByteArray, f64);

/// Returns every row. The rows of a series share their texts.
fn all(server: &ServerAnalysis) -> impl Iterator<Item = Row> + '_ {
    server.scraped.addresses.iter().flat_map(move |address| {
        let endpoint: ByteArray = name(address).into_bytes().into();
        let scrapes = server.store().addresses().get(address.index).map_or(&[][..], |it| it.scrapes());
        let mut series: Vec<&Series> =
            server.store().series().iter().filter(|it| it.address == address.index).collect();
        series.sort_by(|one, other| (&one.metric, &one.labels).cmp(&(&other.metric, &other.labels)));
        let own = own_rows(server, endpoint.clone(), scrapes);
        own.chain(series.into_iter().flat_map(move |series| series_rows(server, endpoint.clone(), scrapes, series)))
    })
}

/// The URL of a source, with the resolved IP address.
pub(super) fn name(address: &Address) -> String {
    match address.address {
        Some(it) => format!("{} {it}", address.url),
        None => address.url.clone(),
    }
}

fn own_rows<'a>(
    server: &'a ServerAnalysis,
    endpoint: ByteArray,
    scrapes: &'a [Scrape],
) -> impl Iterator<Item = Row> + 'a {
    type Value = fn(&Scrape) -> f64;
    let metrics: [(&str, Value); 2] =
        [("scrape_duration_seconds", |it| it.took.as_secs_f64()), ("up", |it| f64::from(u8::from(it.ok)))];
    metrics.into_iter().flat_map(move |(metric, value)| {
        let (endpoint, metric) = (endpoint.clone(), ByteArray::from(metric));
        let row =
            move |it: &Scrape| (time(server, it), endpoint.clone(), metric.clone(), ByteArray::from(""), value(it));
        scrapes.iter().map(row)
    })
}

fn series_rows<'a>(
    server: &'a ServerAnalysis,
    endpoint: ByteArray,
    scrapes: &'a [Scrape],
    series: &'a Series,
) -> impl Iterator<Item = Row> + 'a {
    let metric = ByteArray::from(&*series.metric);
    let labels = ByteArray::from(&*series.labels);
    series.samples().filter_map(move |(number, value)| {
        let place = scrapes.binary_search_by_key(&number, |it| it.number).ok()?;
        Some((time(server, &scrapes[place]), endpoint.clone(), metric.clone(), labels.clone(), value))
    })
}

/// The time of a scrape, in nanoseconds from the start of the run.
fn time(server: &ServerAnalysis, scrape: &Scrape) -> i64 {
    let nanos = |it: std::time::Duration| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX);
    nanos(scrape.at) - nanos(server.zero)
}

fn schema() -> Result<TypePtr, ParquetError> {
    let field = |name: &str, physical, logical| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let text = Some(LogicalType::String);
    let fields = vec![
        field("time_ns", PhysicalType::INT64, None)?,
        field("endpoint", PhysicalType::BYTE_ARRAY, text.clone())?,
        field("metric", PhysicalType::BYTE_ARRAY, text.clone())?,
        field("labels", PhysicalType::BYTE_ARRAY, text)?,
        field("value", PhysicalType::DOUBLE, None)?,
    ];
    Type::group_type_builder("sample").with_fields(fields).build().map(Arc::new)
}
