//! Checks settings that require another setting.

use crate::{
    reader::Section,
    workload::{Accuracy, DataSet, FileSource, Images, Load, RequestSource, RowContent, RowOrder, Stage, Trace},
};

/// Adds a problem for each setting that has no effect because another setting is missing.
pub(super) fn check(root: &Section, requests: &RequestSource, stages: &[Stage], images: Option<&Images>) {
    if matches!(requests, RequestSource::TraceBlocks { .. }) {
        check_hashes(root, stages);
    }
    if images.is_some_and(|it| it.shared_by_group) && !has_groups(requests) {
        let message = "is on, but the requests have no shared prefixes; take it out, or write sharedPrefix or prefixes";
        root.problem("images.sharedByGroup", message);
    }
}

/// Adds a problem if answers cannot be scored. Scoring compares each answer with the row of the data set that was sent, so it requires a data set
/// with prompts, in the order of the file.
pub(super) fn check_accuracy(root: &Section, requests: &RequestSource, accuracy: Option<&Accuracy>) {
    if accuracy.is_none() {
        return;
    }
    let message = match requests {
        RequestSource::DataSet(set) if !matches!(set.row, RowContent::Prompt(_)) => {
            "scores answers to prompts, but the data set has conversations; send a column of prompts"
        }
        RequestSource::DataSet(set) if !set.filter.is_empty() || set.order != RowOrder::File => {
            "needs the rows in the order of the file, but the data set is filtered or shuffled; take filter and order out"
        }
        RequestSource::DataSet(_) => return,
        _ => "needs expected answers, but the requests are no data set; send one, or take accuracy out",
    };
    root.problem("accuracy", message);
}

/// Adds a problem if a data set has a chat template but there is no folder with a tokenizer.
pub(super) fn check_template(root: &Section, requests: &RequestSource, tokenizer: Option<&FileSource>) {
    let RequestSource::DataSet(DataSet { chat_template: Some(_), .. }) = requests else { return };
    let what = match tokenizer {
        Some(FileSource::Path(_)) => return,
        Some(FileSource::Url(_)) => "tokenizer is a URL, which gives only one file",
        None => "no tokenizer is named",
    };
    let remedy = "write in tokenizer the path of the folder with the model's tokenizer.json, tokenizer_config.json and chat_template.jinja, if they exist";
    root.problem(
        "requests.dataSet.chatTemplate",
        format!("renders prompts with the files of a model, and {what}; {remedy}"),
    );
}

/// Adds a problem for each stage that has no trace with block hashes. Prompts made of blocks require such a trace in every stage.
fn check_hashes(root: &Section, stages: &[Stage]) {
    for (index, stage) in stages.iter().enumerate() {
        let message = match &stage.load {
            Load::Trace { trace: Trace::File(file), .. } if file.hashes_column.is_some() => continue,
            Load::Trace { trace: Trace::File(_), .. } => {
                "has no hashesColumn, but requests is traceBlocks; write the column that holds the hashes of blocks"
            }
            Load::Trace { trace: Trace::Inline(_), .. } => {
                "is an inline trace, which holds no hashes of blocks, but requests is traceBlocks; write a file"
            }
            Load::Open { .. }
            | Load::Burst { .. }
            | Load::Closed { .. }
            | Load::Users { .. }
            | Load::LoadGen { .. } => {
                "is no trace, but requests is traceBlocks, whose prompts a trace names; write a trace, or other requests"
            }
        };
        root.problem(&format!("stages[{index}].load"), message);
    }
}

fn has_groups(requests: &RequestSource) -> bool {
    match requests {
        RequestSource::SharedPrefix { .. } => true,
        RequestSource::Random { prefixes, .. } => !prefixes.is_empty(),
        RequestSource::Conversations(conversations) => !conversations.prefixes.is_empty(),
        RequestSource::Mock
        | RequestSource::TraceBlocks { .. }
        | RequestSource::DataSet(_)
        | RequestSource::Recorded(_)
        | RequestSource::Questions(_) => false,
    }
}
