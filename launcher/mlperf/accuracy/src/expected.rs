//! Converts the rows of a data set to expected answers. Pure: the caller reads the file in any format, and passes two values per row.

use std::fmt;

use serde_json::Value;

use crate::{benchmark::Benchmark, sample::Expected};

/// The highest label that a row can have. The largest data set has far fewer rows.
const MAX_LABEL: i64 = 10_000_000;

/// The columns of a row that a check needs.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    benchmark: Benchmark,
    expected: Vec<&'a str>,
}

/// The reason why a row cannot be used. The caller adds the row and the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowProblem<'a> {
    /// The row has none of these columns.
    Lacks(Vec<&'a str>),
    /// The column of the row contains neither a text nor a number.
    NoText(&'a str),
}

impl fmt::Display for RowProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowProblem::Lacks(names) => write!(f, "has no column {}", names.join(" or ")),
            RowProblem::NoText(name) => write!(f, "has neither a text nor a number in the column {name}"),
        }
    }
}

impl<'a> Columns<'a> {
    /// Selects the columns. `column` is the column of the expected text. With `None`, it is the first of the benchmark's usual columns that exists.
    pub fn new(benchmark: Benchmark, column: Option<&'a str>) -> Columns<'a> {
        let expected = column.map_or_else(|| benchmark.expected_columns().to_vec(), |it| vec![it]);
        Columns { benchmark, expected }
    }

    /// Returns two lists: the possible columns of the expected text, and the possible columns that determine the check of a row. From each list, the
    /// first column that a row has is used.
    pub fn names(&self) -> [&[&'a str]; 2] {
        [&self.expected, self.benchmark.kind_columns()]
    }

    /// Returns the expected answer of a row. `values` has one entry per list of [`Columns::names`]: the index in that list of the column that the row
    /// has, and the value. `None` if the row has no such column.
    ///
    /// # Errors
    /// The row lacks a column, or the column contains neither a text nor a number.
    pub fn row(&self, values: [Option<(usize, &Value)>; 2]) -> Result<Expected, RowProblem<'a>> {
        let [names, kinds] = self.names();
        let [text, kind] = values;
        let (place, text) = text.ok_or_else(|| RowProblem::Lacks(names.to_vec()))?;
        let text = content(text).ok_or_else(|| RowProblem::NoText(names.get(place).copied().unwrap_or_default()))?;
        let Some((place, kind)) = kind else {
            let is_one = kinds.is_empty();
            return if is_one {
                Ok(Expected { text, ..Expected::default() })
            } else {
                Err(RowProblem::Lacks(kinds.to_vec()))
            };
        };
        let mut kind =
            content(kind).ok_or_else(|| RowProblem::NoText(kinds.get(place).copied().unwrap_or_default()))?;
        if self.benchmark == Benchmark::DeepseekR1 && place > 0 {
            // The reference derives a data set's name from a metric's name in the same way.
            kind = kind.replace("_em", "").replace('_', "");
        }
        Ok(Expected { text, kind, ..Expected::default() })
    }
}

/// Returns a text, or a number as text; empty for null; `None` for any other value.
fn content(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(crate::figures::text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the rows by sample number. This is the position of the row, or its label if the reference finds rows by label and every row has a number
/// as label. If several rows have the same label, the first one is used. A sample without a row is marked as missing.
pub fn by_sample(benchmark: Benchmark, rows: Vec<(Option<i64>, Expected)>) -> Vec<Expected> {
    let has_labels = benchmark.finds_rows_by_label() && rows.iter().all(|it| it.0.is_some());
    if !has_labels {
        return rows.into_iter().map(|it| it.1).collect();
    }
    let missing = || Expected { is_missing: true, ..Expected::default() };
    let mut found = Vec::new();
    for (label, row) in rows {
        let Some(place) = label.filter(|it| *it < MAX_LABEL).and_then(|it| usize::try_from(it).ok()) else { continue };
        if found.len() <= place {
            found.resize_with(place + 1, missing);
        }
        if found[place].is_missing {
            found[place] = row;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(benchmark: Benchmark, values: [Option<(usize, Value)>; 2], expected: Result<(&str, &str), &str>) {
        let values = values.each_ref().map(|it| it.as_ref().map(|(place, value)| (*place, value)));
        let found = Columns::new(benchmark, None).row(values).map_err(|it| it.to_string());
        let found = found.as_ref().map(|it| (it.kind.as_str(), it.text.as_str())).map_err(String::as_str);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_row_is_a_text_and_its_kind() {
        let of = |value: Value| Some((0, value));
        check(Benchmark::Llama3_1_8b, [of(json!("x")), None], Ok(("", "x")));
        check(Benchmark::Llama3_1_8b, [of(json!(5)), None], Ok(("", "5")));
        check(Benchmark::Llama3_1_8b, [of(json!(1.0)), None], Ok(("", "1.0")));
        check(Benchmark::Llama3_1_8b, [of(Value::Null), None], Ok(("", "")));
        check(Benchmark::GptOss120b, [of(json!("A")), of(json!("gpqa"))], Ok(("gpqa", "A")));
        check(Benchmark::DeepseekR1, [of(json!("t")), Some((1, json!("math_em")))], Ok(("math", "t")));
    }

    #[test]
    fn what_is_missing_or_no_text_is_named() {
        let of = |value: Value| Some((0, value));
        check(Benchmark::DeepseekR1, [None, None], Err("has no column gt_output or ground_truth"));
        check(Benchmark::GptOss120b, [of(json!("a")), None], Err("has no column dataset"));
        let what = "has neither a text nor a number in the column output";
        check(Benchmark::Llama3_1_8b, [of(json!([1])), None], Err(what));
    }

    #[test]
    fn rows_are_found_by_position_or_by_label() {
        let row = |text: &str| Expected { text: text.into(), ..Expected::default() };
        let rows = |labels: [Option<i64>; 3]| labels.into_iter().zip(["a", "b", "c"].map(row)).collect::<Vec<_>>();
        let texts = |benchmark, labels| -> Vec<String> {
            let found = by_sample(benchmark, rows(labels));
            found.into_iter().map(|it| if it.is_missing { "-".into() } else { it.text }).collect()
        };
        let labels = [Some(3), Some(0), Some(3)];
        assert_eq!(texts(Benchmark::Llama2_70b, labels), ["b", "-", "-", "a"]);
        assert_eq!(texts(Benchmark::Mixtral8x7b, labels), ["a", "b", "c"]);
        assert_eq!(texts(Benchmark::Llama3_1_405b, [Some(3), None, Some(1)]), ["a", "b", "c"]);
        assert_eq!(texts(Benchmark::Llama2_70b, [Some(-1), Some(i64::MAX), Some(1)]), ["-", "c"]);
    }
}
