//! Data sets that inference-perf downloads from Hugging Face, or reads from `data.path`.

use std::path::Path;

use crds::benchmark_run::Api;
use serde_json::Value;

use crate::{
    formats::common::{bounds::MAX_TOKENS, files::from_text},
    problem::quoted,
    reader::{Section, ValueType},
    workload::{
        AcrossStages, ConversationUse, DataSet, DataSetFormat, FileSource, LengthFilter, OutputLength, PromptColumn,
        PromptForm, Published, RequestSource, RowContent, RowOrder, UsedUp,
    },
};

/// Maximum tokens of each answer in a chat.
const CHAT_TOKENS: u32 = 30;
/// inference-perf's defaults: min and max.
const DEFAULT: (u32, u32) = (10, 1024);

/// The remedy in messages about shipped profiles, which take the path from a variable.
const VARIABLE: &str = "or set profile.variables.dataset_file for a profile that ships";

/// A data set that the format supports by name.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Known {
    ShareGpt,
    CnnDailyMail,
    InfinityInstruct,
    Billsum,
}

impl Known {
    /// Returns where the file can be downloaded.
    fn source(self) -> &'static str {
        match self {
            Known::ShareGpt => Published::SHAREGPT.get,
            Known::CnnDailyMail => Published::CNN_DAILYMAIL.get,
            Known::InfinityInstruct => {
                "download BAAI/Infinity-Instruct from Hugging Face, and save its rows as .json or .jsonl"
            }
            Known::Billsum => {
                "download FiscalNote/billsum from Hugging Face, and save each row as conversations of a text and its summary"
            }
        }
    }

    /// The default file name. Only two data sets have one.
    fn default_file(self) -> Option<&'static str> {
        match self {
            Known::ShareGpt => Some(Published::SHAREGPT.file),
            Known::CnnDailyMail => Some(Published::CNN_DAILYMAIL.file),
            Known::InfinityInstruct | Known::Billsum => None,
        }
    }

    fn row(self, api: Api) -> RowContent {
        let conversation = |send| RowContent::Conversation { column: "conversations".into(), send };
        match self {
            Known::CnnDailyMail => RowContent::Prompt(PromptColumn { name: "article".into(), form: PromptForm::Text }),
            _ if api.has_messages() => conversation(ConversationUse::All),
            Known::ShareGpt | Known::Billsum => conversation(ConversationUse::FirstTurn),
            Known::InfinityInstruct => conversation(ConversationUse::JoinedText),
        }
    }

    fn output(self, api: Api) -> OutputLength {
        match self {
            Known::CnnDailyMail => OutputLength::TextOf("highlights".into()),
            _ if api.has_messages() => OutputLength::Fixed(CHAT_TOKENS),
            Known::ShareGpt | Known::Billsum | Known::InfinityInstruct => OutputLength::Answer,
        }
    }

    /// What happens after the last row. inference-perf starts again with the first row, except for one data set.
    fn used_up(self) -> UsedUp {
        match self {
            Known::InfinityInstruct => UsedUp::Refuse,
            Known::ShareGpt | Known::CnnDailyMail | Known::Billsum => UsedUp::Repeat,
        }
    }

    /// Whether inference-perf reads the first row before the first request and does not send it. It then sends this row only when it starts the file
    /// again.
    fn skips_first_row(self) -> bool {
        match self {
            Known::ShareGpt | Known::CnnDailyMail | Known::InfinityInstruct => true,
            Known::Billsum => false,
        }
    }

    /// Minimum number of turns per conversation. Shorter conversations are not sent.
    fn min_turns(self) -> Option<u32> {
        match self {
            Known::ShareGpt | Known::Billsum => Some(2),
            Known::CnnDailyMail | Known::InfinityInstruct => None,
        }
    }
}

/// Reads the keys of a data set.
pub(super) fn read(section: &Section, known: Known, api: Api) -> Option<RequestSource> {
    let file = file(section, known);
    if known.skips_first_row() {
        section.notice("type", "is sent from the first row of the file on; inference-perf skips that row");
    }
    let filter = LengthFilter { min_turns: known.min_turns(), ..lengths(section, known, api) };
    let (file, format) = file?;
    Some(RequestSource::DataSet(DataSet {
        file,
        format,
        row: known.row(api),
        any_column: false,
        chat_template: None,
        output: known.output(api),
        count: None,
        filter,
        order: RowOrder::File,
        used_up: known.used_up(),
        across_stages: AcrossStages::Continue,
    }))
}

fn file(section: &Section, known: Known) -> Option<(FileSource, DataSetFormat)> {
    let name = section.text("type").unwrap_or_default();
    let path = section.text("path").map(str::trim).filter(|it| !it.is_empty());
    let Some(path) = path else {
        let found = match section.value("path") {
            None => "is missing",
            Some(Value::String(_)) => "is empty",
            Some(_) => return None,
        };
        let source = known.source();
        if let Some(file) = known.default_file() {
            let here = format!(
                "{found}: inference-perf downloads {name}, and here the file {file} beside the profile is read"
            );
            section.notice("path", format!("{here}; {source}, or write another path here, {VARIABLE}"));
            return Some((FileSource::from(file), DataSetFormat::from_path(Path::new(file))?));
        }
        section.problem("path", format!("{found}, and {name} is a file that the launcher does not have; {source}, and write the path of the file here, {VARIABLE}"));
        return None;
    };
    let file = from_text(section, "path", path)?;
    let Some(format) = DataSetFormat::from_path(Path::new(&file.file_name())) else {
        let advice = "write the path of one file whose name ends with .json, .jsonl, .csv or .parquet, or with .gz or .zst after that";
        section.problem("path", format!("is {}; {advice}", quoted(path)));
        return None;
    };
    Some((file, format))
}

/// Reads the bounds of both distributions. As in inference-perf, no other value of the distributions has an effect.
fn lengths(section: &Section, known: Known, api: Api) -> LengthFilter {
    let input = bounds(section, "input_distribution");
    let output = bounds(section, "output_distribution");
    let filtered = known == Known::CnnDailyMail || !api.has_messages();
    if !filtered && (input.is_some() || output.is_some()) {
        let key = if input.is_some() { "input_distribution" } else { "output_distribution" };
        section.notice(key, "is not used: as in inference-perf, chats of a data set are not chosen by their lengths");
        return LengthFilter::default();
    }
    LengthFilter {
        min_input: input.map(|it| it.0),
        max_input: input.map(|it| it.1),
        min_output: output.map(|it| it.0),
        max_output: output.map(|it| it.1),
        ..LengthFilter::default()
    }
}

fn bounds(parent: &Section, key: &'static str) -> Option<(u32, u32)> {
    let section = parent.section(key)?;
    let min = section.count_u32("min", 0..=MAX_TOKENS).unwrap_or(DEFAULT.0);
    let max = section.count_u32("max", 1..=MAX_TOKENS).unwrap_or(DEFAULT.1);
    if min > max {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
    }
    section.all_ignored(&[
        ("type", ValueType::Text),
        ("mean", ValueType::Number),
        ("std_dev", ValueType::Number),
        ("std", ValueType::Number),
        ("variance", ValueType::Number),
        ("skew", ValueType::Number),
        ("total_count", ValueType::Number),
    ]);
    section.finish();
    Some((min, max))
}
