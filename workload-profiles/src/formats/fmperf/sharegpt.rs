//! The scenario sharegpt: conversations from a file, sent at a constant rate.

use crds::units::RequestRate;

use super::{lmbenchmark::NamedRate, users::distinct};
use crate::{
    formats::common::{bounds::MAX_STAGE_SECONDS, files::file_source},
    reader::{Section, ValueType},
    workload::{
        AcrossStages, Arrivals, ConversationUse, DataSet, DataSetFormat, FileSource, LengthFilter, Load, OutputLength,
        Published, Rate, RequestSource, RowContent, RowOrder, Stage, UsedUp,
    },
};

/// Maximum requests per stage. The file has fewer rows, so the last row ends a stage first.
const ROWS: f64 = 100_000.0;

/// Reads the requests and the stages. Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section, rates: Option<&[NamedRate]>) -> Option<(RequestSource, Vec<Stage>)> {
    for key in ["num_users", "num_users_warmup", "num_rounds", "system_prompt", "chat_history", "answer_len"] {
        root.ignored(key, ValueType::Number);
    }
    if root.ignored("test_duration", ValueType::Number) {
        root.notice("test_duration", "is not used, as in the original: sharegpt ends with the last row of the file");
    }
    if root.value("dataset_file").is_none() {
        let Published { file, get } = Published::SHAREGPT;
        let message = format!(
            "is missing, so that {file} beside the profile is read; the original has it in its image; {get}, or set dataset_file to its path or {{url: ...}}"
        );
        root.notice("dataset_file", message);
    }
    let file = root.or_default("dataset_file", FileSource::from(Published::SHAREGPT.file), file_source)?;
    root.notice("scenarios", "is sharegpt: the first turn of each conversation is sent, with the length of its recorded answer. The original writes the rate into each prompt, so that no rate finds the prompts of another in the prefix cache; here all rates send the same prompts, and no warm-up is sent before");
    let stages = rates?.iter().map(|(name, rate)| stage(name, *rate)).collect();
    let format = DataSetFormat::from_path(std::path::Path::new(&file.file_name())).unwrap_or(DataSetFormat::Json);
    let requests = RequestSource::DataSet(DataSet {
        file,
        format,
        row: RowContent::Conversation { column: "conversations".to_owned(), send: ConversationUse::FirstTurn },
        any_column: false,
        chat_template: None,
        output: OutputLength::Answer,
        count: None,
        filter: LengthFilter { min_turns: Some(2), ..LengthFilter::default() },
        order: RowOrder::File,
        used_up: UsedUp::EndStage,
        across_stages: AcrossStages::Restart,
    });
    Some((requests, distinct(stages)))
}

/// A stage in which request i is due at i / rate.
fn stage(name: &str, rate: RequestRate) -> Stage {
    let reached = (rate.per_second() * MAX_STAGE_SECONDS as f64).floor();
    let load = Load::Open {
        arrivals: Arrivals::Constant,
        rate: Rate::Steady(rate),
        duration: None,
        count: Some(reached.clamp(1.0, ROWS) as u64),
        max_concurrency: None,
    };
    Stage::new(format!("r{name}"), load)
}
