//! The samples of the tests, and the lengths of their answers.

use std::path::PathBuf;

use crds::benchmark_run::Api;

use super::benchmark;
use crate::{
    formats::common::{
        bounds::MAX_TOKENS,
        prompts::{NormalMean, required_length, text},
    },
    loadgen::Qsl,
    problem::quoted,
    reader::Section,
    workload::{
        DataSet, DataSetFormat, LengthDistribution, MAX_REQUESTS, PromptColumn, PromptForm, PromptText, RequestSource,
    },
};

/// The name of the sample library for synthetic samples.
const SYNTHETIC: &str = "synthetic";

/// The minimum and maximum tokens per answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    pub max: u32,
    pub min: u32,
}

/// The samples of the tests.
pub(super) struct Data {
    pub qsl: Qsl,
    pub requests: RequestSource,
}

/// Reads `tokens`. Absent values come from the benchmark.
pub(super) fn tokens(root: &Section, benchmark: Option<&str>) -> Option<Tokens> {
    let known = benchmark.and_then(benchmark::find).and_then(|it| it.max_tokens);
    let section = root.section("tokens");
    let count = |key| section.as_ref()?.count_u32(key, 1..=MAX_TOKENS);
    let (max, min) = (count("max"), count("min").unwrap_or(1));
    let is_written = section.as_ref().is_some_and(|it| it.value("max").is_some());
    if known.is_none() && !is_written && benchmark.is_some() {
        let what = "is missing, and the limit of this benchmark is not built in";
        root.problem("tokens.max", format!("{what}; write the most tokens of an answer, such as 128"));
    }
    let max = if is_written { max } else { known };
    if let (Some(max), Some(section)) = (max, &section)
        && min > max
    {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it"));
    }
    if let Some(section) = section {
        section.finish();
    }
    max.map(|max| Tokens { max, min })
}

/// Reads `qsl` and `dataset`.
pub(super) fn read(root: &Section, benchmark: Option<&str>, tokens: Option<Tokens>, api: Option<Api>) -> Option<Data> {
    root.require("dataset", "write what is sent, such as {synthetic: {input: 512}}");
    let mut qsl = qsl(root, benchmark);
    let (name, holder) = root.variant_with_value("dataset", &["synthetic", "file"])?;
    let section = holder.section(name)?;
    let requests = if name == "file" {
        let set = file(&section, tokens, api, qsl.as_ref().map_or(1, |it| it.total_sample_count));
        set.map(RequestSource::DataSet)
    } else {
        synthetic(&section, tokens)
    };
    section.finish();
    let requests = requests?;
    if let Some(qsl) = qsl.as_mut().filter(|it| it.name.is_empty()) {
        qsl.name = match &requests {
            RequestSource::DataSet(set) => set.file.file_name().split('.').next().unwrap_or_default().to_owned(),
            _ => SYNTHETIC.to_owned(),
        };
    }
    Some(Data { qsl: qsl?, requests })
}

fn qsl(root: &Section, benchmark: Option<&str>) -> Option<Qsl> {
    let known = benchmark.and_then(benchmark::find);
    let section = root.section("qsl");
    let count = |key| section.as_ref()?.count(key, 1..=MAX_REQUESTS);
    let is_written = |key| section.as_ref().is_some_and(|it| it.value(key).is_some());
    let total = if is_written("total_sample_count") { count("total_sample_count") } else { known.map(|it| it.samples) };
    if benchmark.is_some() && known.is_none() && !is_written("total_sample_count") {
        let what = "is missing, and the data set of this benchmark is not built in";
        root.problem("qsl.total_sample_count", format!("{what}; write how many samples there are"));
    }
    let most = |total| known.map_or(total, |it| it.samples.min(total));
    let performance =
        if is_written("performance_sample_count") { count("performance_sample_count") } else { total.map(most) };
    let name = section.as_ref().and_then(|it| it.text("name")).unwrap_or_default().to_owned();
    if let Some(section) = section {
        section.finish();
    }
    Some(Qsl { name, total_sample_count: total?, performance_sample_count: performance? })
}

/// Reads the samples from the rows of a file.
fn file(section: &Section, tokens: Option<Tokens>, api: Option<Api>, count: u64) -> Option<DataSet> {
    section.require("path", "write where the launcher finds the samples, such as a .json or a .pkl file");
    let path = section.text("path").map(PathBuf::from);
    let formats = DataSetFormat::ALL.into_iter().filter(|it| *it != DataSetFormat::Text);
    let formats: Vec<(&str, DataSetFormat)> = formats.map(|it| (it.word(), it)).collect();
    let written = section.value("format").is_some();
    let format = section.choice("format", &formats).or_else(|| DataSetFormat::from_path(path.as_deref()?));
    if let (Some(path), None, false) = (&path, format, written) {
        let found = quoted(&path.to_string_lossy());
        let remedy = "set format to json, jsonl, csv, parquet, pickle or npy";
        section.problem("path", format!("is {found}, whose name does not show the format; {remedy}"));
    }
    let prompt = prompt_column(section, api);
    let any_column = section.value("column").is_none();
    Some(DataSet { any_column, ..DataSet::new(path?, format?, prompt?, tokens?.max, count) })
}

/// Reads the column of the prompts. The default is a column of MLPerf's data sets: the one with text for chats, which cannot contain token ids, and
/// the one with token ids otherwise.
fn prompt_column(section: &Section, api: Option<Api>) -> Option<PromptColumn> {
    let column = section.text("column");
    let ids = PromptColumn::from_form(PromptForm::TokenIds);
    let likely = match column {
        Some(column) if column != ids.name => PromptForm::Text,
        None if api == Some(Api::Chat) => PromptForm::Text,
        _ => PromptForm::TokenIds,
    };
    let forms = [("text", PromptForm::Text), ("tokenIds", PromptForm::TokenIds)];
    let prompt = PromptColumn::from_form(section.or_default("form", likely, |it, key| it.choice(key, &forms))?);
    Some(match column {
        Some(name) => PromptColumn { name: name.to_owned(), ..prompt },
        None => prompt,
    })
}

/// Reads synthetic samples.
fn synthetic(section: &Section, tokens: Option<Tokens>) -> Option<RequestSource> {
    let input = required_length(section, "input", NormalMean::WithinBounds);
    let output = match section.value("output") {
        None => tokens.map(|it| LengthDistribution::fixed(it.max)),
        Some(_) => required_length(section, "output", NormalMean::WithinBounds)
            .and_then(|it| within_limit(section, it, tokens)),
    };
    let text = section.or_default("text", PromptText::Words, text);
    Some(RequestSource::random(input?, output?, text?))
}

/// Limits the requested output lengths to the benchmark's maximum.
fn within_limit(section: &Section, output: LengthDistribution, tokens: Option<Tokens>) -> Option<LengthDistribution> {
    let most = tokens?.max;
    if output.min > most {
        section.problem("output", format!("is at least {}, above tokens.max, which is {most}; lower it", output.min));
    }
    Some(LengthDistribution { max: output.max.min(most), ..output })
}
