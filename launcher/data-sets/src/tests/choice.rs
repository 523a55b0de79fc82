//! Tests which part of a conversation is sent, which rows pass a filter, and in which order.

use std::collections::BTreeSet;

use crds::benchmark_run::Api;
use workload_profiles::workload::{Load, PromptColumn, PromptForm, RowOrder, Stage};

use super::super::*;
use prompts::Turn;

const SHAREGPT: &str = r#"[
    {"id":"a","conversations":[{"from":"human","value":"one two"},{"from":"gpt","value":"three"},{"from":"human","value":"four"},{"from":"gpt","value":"five six seven"}]},
    {"id":"b","conversations":[]},
    {"id":"c","conversations":[{"from":"system","value":"be brief"},{"from":"human","value":"eight"},{"from":"gpt","value":"nine ten"}]},
    {"id":"d","conversations":[{"from":"gpt","value":"eleven"}]}]"#;

fn conversations(send: ConversationUse, output: OutputLength) -> DataSet {
    let prompt = PromptColumn { name: String::new(), form: PromptForm::Text };
    let row = RowContent::Conversation { column: "conversations".into(), send };
    DataSet { row, output, count: None, ..DataSet::new("d.json", DataSetFormat::Json, prompt, 9, 1) }
}

fn found(set: &DataSet, text: &str) -> Result<Found, String> {
    let tokens = TokenCount::Words;
    let workload = Workload::new(Api::Chat, RequestSource::DataSet(set.clone()), Vec::new());
    let rules = rules(set, &workload, Seed(1), super::plain(&tokens)).map_err(|error| error.to_string())?;
    read_within(rules, text.as_bytes(), Limits::default()).map_err(|error| error.to_string())
}

fn prompts(set: &DataSet, text: &str) -> Vec<(String, Option<u32>)> {
    let rows = found(set, text).unwrap().rows;
    (0..rows.len() as u64).map(|it| (rows.text(it).to_owned(), rows.output(it))).collect()
}

fn check(send: ConversationUse, output: OutputLength, expected: &[(&str, Option<u32>)]) {
    let expected: Vec<_> = expected.iter().map(|(text, output)| ((*text).to_owned(), *output)).collect();
    assert_eq!(prompts(&conversations(send, output), SHAREGPT), expected);
}

#[test]
fn a_conversation_is_sent_as_the_profile_says() {
    use ConversationUse::{All, AllButLast, FirstTurn, JoinedText};
    let answer = || OutputLength::Answer;
    check(FirstTurn, answer(), &[("one two", Some(1)), ("eight", Some(2))]);
    check(FirstTurn, OutputLength::Fixed(7), &[("one two", Some(7)), ("eight", Some(7)), ("eleven", Some(7))]);
    check(JoinedText, answer(), &[("one two\nthree\nfour", Some(3)), ("be brief\neight", Some(2))]);
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let assistant = |text: &str| format!(r#"{{"role":"assistant","content":"{text}"}}"#);
    let system = r#"{"role":"system","content":"be brief"}"#;
    let first = format!("[{},{},{}]", user("one two"), assistant("three"), user("four"));
    check(AllButLast, answer(), &[(&first, Some(3)), (&format!("[{system},{}]", user("eight")), Some(2))]);
    let all = conversations(All, OutputLength::Unbounded);
    let found = prompts(&all, SHAREGPT);
    assert_eq!(found.len(), 3);
    assert_eq!(found[1], (format!("[{system},{},{}]", user("eight"), assistant("nine ten")), None));
}

#[test]
fn the_turns_of_a_session_have_the_recorded_lengths() {
    let read = found(&conversations(ConversationUse::Turns, OutputLength::Answer), SHAREGPT).unwrap();
    let rows = read.rows;
    let turn = |text, output| Turn { text, output: Some(output) };
    assert_eq!(rows.len(), 2);
    assert_eq!(rows.turns(0).collect::<Vec<_>>(), [turn("one two", 1), turn("four", 3)]);
    assert_eq!((rows.system(1), rows.turns(1).collect::<Vec<_>>()), ("be brief", vec![turn("eight", 2)]));
    let left_out = "2 of 4 rows of d.json hold no conversation that can be sent, and are left out";
    assert_eq!(read.left_out.as_deref(), Some(left_out));
}

#[test]
fn an_answer_is_needed_where_its_length_is_asked_for() {
    let set = conversations(ConversationUse::All, OutputLength::Answer);
    let error = found(&set, SHAREGPT).err().unwrap();
    assert!(
        error.contains("a whole conversation in the data set d.json has no recorded answer; request a fixed length"),
        "{error}"
    );
}

#[test]
fn messages_stay_as_they_are() {
    let row = RowContent::Prompt(PromptColumn { name: "messages".into(), form: PromptForm::Messages });
    let set = DataSet { row, ..conversations(ConversationUse::All, OutputLength::Unbounded) };
    let messages =
        r#"[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"u"}}]}]"#;
    let text = format!(r#"[{{"messages":{messages}}}]"#);
    assert_eq!(prompts(&set, &text), [(messages.to_owned(), None)]);
}

#[test]
fn rows_outside_of_the_filter_are_left_out() {
    let check = |filter: LengthFilter, expected: &[&str]| {
        let set = DataSet { filter, ..conversations(ConversationUse::FirstTurn, OutputLength::Answer) };
        match found(&set, SHAREGPT) {
            Ok(Found { rows, .. }) => {
                assert_eq!((0..rows.len() as u64).map(|it| rows.text(it)).collect::<Vec<_>>(), expected);
            }
            Err(error) => {
                assert!(
                    expected.is_empty() && error.contains("0 rows that pass the filter, and 1 are needed"),
                    "{error}"
                );
            }
        }
    };
    let filter = LengthFilter::default;
    check(filter(), &["one two", "eight"]);
    check(LengthFilter { min_input: Some(2), ..filter() }, &["one two"]);
    check(LengthFilter { max_input: Some(1), ..filter() }, &["eight"]);
    check(LengthFilter { min_output: Some(2), ..filter() }, &["eight"]);
    check(LengthFilter { max_output: Some(1), ..filter() }, &["one two"]);
    check(LengthFilter { max_total: Some(2), ..filter() }, &[]);
    check(LengthFilter { min_turns: Some(3), ..filter() }, &["one two"]);
}

fn numbered(rows: u64) -> String {
    (0..rows).map(|it| format!("{{\"p\":\"{it}\"}}\n")).collect()
}

fn shuffled(count: Option<u64>, seed: u64, stages: &[Stage]) -> Vec<u64> {
    let prompt = PromptColumn { name: "p".into(), form: PromptForm::Text };
    let set = DataSet { count, order: RowOrder::Shuffled, ..DataSet::new("d", DataSetFormat::Jsonl, prompt, 9, 1) };
    let tokens = TokenCount::Words;
    let workload = Workload::new(Api::Completions, RequestSource::DataSet(set.clone()), stages.to_vec());
    let rules = rules(&set, &workload, Seed(seed), super::plain(&tokens)).unwrap();
    let rows = read_within(rules, numbered(500).as_bytes(), Limits::default()).unwrap().rows;
    (0..rows.len() as u64).map(|it| rows.text(it).parse().unwrap()).collect()
}

#[test]
fn a_shuffled_order_depends_on_the_seed_alone_and_a_count_takes_its_first_rows() {
    let all = shuffled(None, 1, &[]);
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len(), all.is_sorted()), (500, 500, false));
    assert_eq!(shuffled(None, 1, &[]), all);
    assert_ne!(shuffled(None, 2, &[]), all);
    assert_eq!(shuffled(Some(20), 1, &[]), all[..20]);
    // A load of 30 requests needs no more rows.
    let stage = |count| Stage::new("s", Load::closed(1, count));
    assert_eq!(shuffled(None, 1, &[stage(30), stage(7)]), all[..30]);
}
