//! The time series of a run or a stage, in `report.json`: one column per figure, with one entry per bin.

use std::{collections::BTreeMap, time::Duration};

use analysis::{BinFigures, BinTimes, ItlHeat, SeriesFigures};
use measurement::recorder::series::OutcomeGroup;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::value::to_raw_value;

use super::values::{millis, round, significant};

/// Number of significant digits of a time. Further digits would be smaller than the error of the values.
const TIME_DIGITS: i32 = 4;
/// Decimals of a number of requests in flight.
const UNDER_WAY_DIGITS: i32 = 3;

/// A time series. Each column has one entry per bin.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeSeriesDocument {
    pub bin_ms: f64,
    pub start_ms: f64,
    pub first_event_ms: f64,
    pub last_event_ms: f64,
    pub due: Column<u64>,
    pub sent: Column<u64>,
    /// Requests that ended, by outcome. Outcomes that no request had are left out.
    pub ended: BTreeMap<String, Column<u64>>,
    pub under_way: Column<f64>,
    pub input_tokens: Option<Column<u64>>,
    pub output_tokens: Column<u64>,
    pub ttft_ms: Option<TimesDocument>,
    pub itl_ms: Option<TimesDocument>,
    pub latency_ms: Option<TimesDocument>,
    pub send_lag_ms: Option<TimesDocument>,
    pub itl_heat: Option<HeatDocument>,
}

/// How often each ITL occurred over time. Rows have equal height on a logarithmic scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeatDocument {
    /// Number of bins per column. Column i begins at bin i x `bins_per_column`. The last column can have fewer bins.
    pub bins_per_column: u64,
    /// The edges of the rows. Row j contains values from edge j up to edge j + 1, so there is one edge more than rows.
    pub edges_ms: Column<f64>,
    /// The counts, as `counts[column][row]`.
    pub counts: Vec<Column<u64>>,
}

/// Percentiles per bin. A bin without values has count 0 and null for each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimesDocument {
    pub count: Column<u64>,
    pub p50: Column<Option<f64>>,
    pub p90: Column<Option<f64>>,
    pub p99: Column<Option<f64>>,
}

/// A column with one entry per bin. It is written on one line even if the document is indented.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Column<T>(pub Vec<T>);

impl<T: Serialize> Serialize for Column<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        to_raw_value(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl TimeSeriesDocument {
    pub(super) fn new(series: &SeriesFigures) -> TimeSeriesDocument {
        let bins = &series.bins[..];
        let ended =
            OutcomeGroup::ALL.map(|group| (group.name().to_owned(), column(bins, |it| it.ended[group as usize])));
        TimeSeriesDocument {
            bin_ms: millis(series.bin_width),
            start_ms: millis(series.start),
            first_event_ms: millis(series.first_event),
            last_event_ms: millis(series.last_event),
            due: column(bins, |it| it.due),
            sent: column(bins, |it| it.sent),
            ended: ended.into_iter().filter(|(_, counts)| has_counts(counts)).collect(),
            under_way: column(bins, |it| round(it.under_way, UNDER_WAY_DIGITS)),
            input_tokens: Some(column(bins, |it| it.input_tokens)).filter(has_counts),
            output_tokens: column(bins, |it| it.output_tokens),
            ttft_ms: TimesDocument::new(bins, |it| it.ttft),
            itl_ms: TimesDocument::new(bins, |it| it.itl),
            latency_ms: TimesDocument::new(bins, |it| it.latency),
            send_lag_ms: TimesDocument::new(bins, |it| it.send_lag),
            itl_heat: series.itl_heat.as_ref().map(HeatDocument::new),
        }
    }
}

impl HeatDocument {
    fn new(it: &ItlHeat) -> HeatDocument {
        HeatDocument {
            bins_per_column: it.bins_per_column as u64,
            edges_ms: Column(it.edges.iter().map(|it| significant(millis(*it), TIME_DIGITS)).collect()),
            counts: it.counts.iter().cloned().map(Column).collect(),
        }
    }
}

impl TimesDocument {
    /// Collects the percentiles of all bins. `None` if no bin has a value.
    fn new(bins: &[BinFigures], of_bin: impl Fn(&BinFigures) -> Option<BinTimes>) -> Option<TimesDocument> {
        let count = column(bins, |it| of_bin(it).map_or(0, |it| it.count));
        let times = |pick: fn(&BinTimes) -> Duration| {
            column(bins, |it| of_bin(it).map(|it| significant(millis(pick(&it)), TIME_DIGITS)))
        };
        has_counts(&count).then(|| TimesDocument {
            p50: times(|it| it.p50),
            p90: times(|it| it.p90),
            p99: times(|it| it.p99),
            count,
        })
    }
}

fn column<T>(bins: &[BinFigures], of_bin: impl Fn(&BinFigures) -> T) -> Column<T> {
    Column(bins.iter().map(of_bin).collect())
}

fn has_counts(column: &Column<u64>) -> bool {
    column.0.iter().any(|it| *it > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits() {
        for (value, expected) in [
            (0.0, "0.0"),
            (0.000512, "0.000512"),
            (0.0123456, "0.01235"),
            (12.3456, "12.35"),
            (99.999, "100.0"),
            (123456.7, "123500.0"),
        ] {
            assert_eq!(serde_json::to_string(&significant(value, TIME_DIGITS)).unwrap(), expected);
        }
    }

    #[test]
    fn a_column_is_one_line_of_an_indented_document() {
        #[derive(Serialize)]
        struct Document {
            p50: Column<Option<f64>>,
        }
        let document = Document { p50: Column(vec![None, Some(1.5)]) };
        assert_eq!(serde_json::to_string_pretty(&document).unwrap(), "{\n  \"p50\": [null,1.5]\n}");
    }
}
