//! Tests of reading a data set: rows, limits and messages.

mod chats;
mod choice;
mod format;

use std::io;

use crds::benchmark_run::Api;
use proptest::prelude::*;
use workload_profiles::workload::{PromptColumn, PromptForm};

use super::*;

const IDS: PromptForm = PromptForm::TokenIds;

fn set(format: DataSetFormat, form: PromptForm, count: u64) -> DataSet {
    DataSet::new("d", format, PromptColumn::from_form(form), 9, count)
}

fn workload_of(set: &DataSet) -> Workload {
    Workload::new(Api::Completions, RequestSource::DataSet(set.clone()), Vec::new())
}

/// Tools for rows that are sent unchanged.
fn plain(tokens: &TokenCount) -> Reading<'_> {
    Reading { tokens, chats: None }
}

fn read_limited(set: &DataSet, bytes: &[u8], limits: Limits) -> Result<Found, String> {
    let tokens = TokenCount::Words;
    let rules = rules(set, &workload_of(set), Seed(1), plain(&tokens)).map_err(|error| error.to_string())?;
    read_within(rules, bytes, limits).map_err(|error| error.to_string())
}

fn rows(set: &DataSet, text: impl AsRef<[u8]>) -> Result<Rows, String> {
    read_limited(set, text.as_ref(), Limits::default()).map(|it| it.rows)
}

/// Checks a data set with two rows in both JSON formats.
fn check(form: PromptForm, values: [&str; 2], expected: &Rows) {
    let [first, second] = values
        .map(|it| format!(r#"{{"other":[{{"input":5}}],"{}":{it},"x":null}}"#, PromptColumn::from_form(form).name));
    for (format, text) in [
        (DataSetFormat::Json, format!("\u{feff} [{first},\r\n {second}] ")),
        (DataSetFormat::Jsonl, format!("\u{feff}{first}\r\n\n{second}")),
    ] {
        assert_eq!(rows(&set(format, form, 2), &text), Ok(expected.clone()), "{text}");
    }
}

#[test]
fn a_row_is_its_prompt() {
    let mut ids = Rows::default();
    ids.push_ids([1, u32::MAX], Some(9));
    ids.push_ids([0], Some(9));
    check(IDS, ["[1, 4294967295]", "[\n0\n]".replace('\n', "").as_str()], &ids);
    let mut texts = Rows::default();
    texts.push_text("é \"a\"\n", Some(9));
    texts.push_text("b", Some(9));
    check(PromptForm::Text, [r#""\u00e9 \"a\"\n""#, r#""b""#], &texts);
}

#[test]
fn rows_behind_the_last_that_is_used_are_not_read() {
    let mut one = Rows::default();
    one.push_ids([5], Some(9));
    for (format, text) in [
        (DataSetFormat::Json, r#"[{"tok_input":[5]},{"tok_input":"oops"}"#),
        (DataSetFormat::Jsonl, "{\"tok_input\":[5]}\noops"),
    ] {
        assert_eq!(rows(&set(format, IDS, 1), text), Ok(one.clone()));
    }
}

#[test]
fn a_row_that_is_no_prompt_is_named_and_not_repeated() {
    for (row, what) in [
        (
            r#"{"tok_input":"secret"}"#,
            "tok_input is no list of token ids; name another column, or declare what the column holds",
        ),
        (
            r#"{"tok_input":null}"#,
            "tok_input is no list of token ids; name another column, or declare what the column holds",
        ),
        (r#"{"tok_input":[1,"secret"]}"#, "tok_input[1] is no token id; write a whole number below 2^32"),
        (r#"{"tok_input":[1,2,-3]}"#, "tok_input[2] is no token id; write a whole number below 2^32"),
        (r#"{"tok_input":[4294967296]}"#, "tok_input[0] is no token id; write a whole number below 2^32"),
        (r#"{"tok_input":[1.5]}"#, "tok_input[0] is no token id; write a whole number below 2^32"),
        (r#"{"tok_input":[[1]]}"#, "tok_input[0] is no token id; write a whole number below 2^32"),
        (r#"{"tok_input":[]}"#, "tok_input is empty; leave the row out"),
        (r#"{"tok_input":[1],"tok_input":[2]}"#, "has tok_input more than once; leave one"),
        (r#"{"secret":[1]}"#, "has no tok_input; it has secret; name the column that holds what is to be sent"),
        (r#"{"input":"secret"}"#, "has no tok_input; it has input; name the column that holds what is to be sent"),
    ] {
        let good = r#"{"tok_input":[7]}"#;
        let json = rows(&set(DataSetFormat::Json, IDS, 3), format!("[{good},{row}]"));
        assert_eq!(json, Err(format!("the data set d, row 1, counted from 0: {what}")));
        let jsonl = rows(&set(DataSetFormat::Jsonl, IDS, 3), format!("{good}\n\n{row}\n"));
        assert_eq!(jsonl, Err(format!("the data set d, line 3: {what}")));
    }
    let text = rows(&set(DataSetFormat::Jsonl, PromptForm::Text, 1), r#"{"input":[1]}"#);
    let what = "input is no text; name another column, or declare what the column holds";
    assert_eq!(text, Err(format!("the data set d, line 1: {what}")));
}

#[test]
fn a_file_of_another_form_is_refused() {
    let array = "is no JSON array of objects; write one, or an object a line into a file named .jsonl";
    for (text, expected) in [
        (
            "{}",
            "the data set d, row 0, counted from 0: has no tok_input; name the column that holds what is to be sent"
                .into(),
        ),
        ("[[1]]", format!("the data set d, row 0, counted from 0: {array}")),
        ("[{\"tok_input\":[1]},5]", format!("the data set d, row 1, counted from 0: {array}")),
        ("[{\"tok_input\":[1,\n2", "the data set d, line 2, column 1: is no JSON in UTF-8 from here on".into()),
        ("[{\"tok_input\":[1]}] x", "the data set d, line 1, column 21: is no JSON in UTF-8 from here on".into()),
        ("", "the data set d, line 1, column 0: is no JSON in UTF-8 from here on".into()),
        (
            "[{\"tok_input\":[1]}]",
            "the data set d has 1 rows, and 2 are needed; lower the count, or give the whole file".into(),
        ),
    ] {
        assert_eq!(rows(&set(DataSetFormat::Json, IDS, 2), text), Err(expected), "{text}");
    }
    let object = "is no JSON object; write one per line";
    for text in ["secret", "[1]", "{\"tok_input\":[1,", "{\"tok_input\":[1]} {}"] {
        assert_eq!(
            rows(&set(DataSetFormat::Jsonl, IDS, 1), text),
            Err(format!("the data set d, line 1: {object}")),
            "{text}"
        );
    }
    let few = "the data set d has 0 rows, and 1 are needed; lower the count, or give the whole file";
    assert_eq!(rows(&set(DataSetFormat::Jsonl, IDS, 1), " \n"), Err(few.into()));
}

#[test]
fn what_is_read_and_kept_has_bounds() {
    let text = "{\"tok_input\":[1,2]}\n{\"tok_input\":[3,4]}\n";
    let set = set(DataSetFormat::Jsonl, IDS, 2);
    let file = |bytes: u64| Limits { file: bytes, ..Limits::default() };
    let error = read_limited(&set, text.as_bytes(), file(text.len() as u64 - 5)).err();
    let expected = "the data set d has more than 35 bytes, the most that is read, after decompression; leave out the columns that are not sent";
    assert_eq!(error.as_deref(), Some(expected));
    let found = read_limited(&set, text.as_bytes(), file(text.len() as u64)).map(|it| it.rows.len());
    assert_eq!(found, Ok(2));
    let one = 2 * size_of::<u32>() + 2 * size_of::<usize>();
    let error = read_limited(&set, text.as_bytes(), Limits { kept: one + 7, ..Limits::default() }).err().unwrap();
    let what = format!("with this row the prompts take more than {} bytes; lower the count", one + 7);
    assert_eq!(error, format!("the data set d, line 2: {what}"));
}

#[test]
fn a_row_has_a_bound_wherever_it_is_long() {
    let long = "x".repeat(90);
    for (format, at) in [(DataSetFormat::Json, "row 1, counted from 0"), (DataSetFormat::Jsonl, "line 2")] {
        for row in [
            format!("{{\"input\":\"{long}\"}}"),
            format!("{{\"input\":\"a\",\"other\":\"{long}\"}}"),
            format!("{{\"{long}\":1,\"input\":\"a\"}}"),
            format!("{{\"input\":\"a\"{}}}", " ".repeat(90)),
        ] {
            let short = r#"{"input":"a"}"#;
            let text = match format {
                DataSetFormat::Json => format!("[{short},{row},{short}]"),
                _ => format!("{short}\n{row}\n{short}\n"),
            };
            let set = set(format, PromptForm::Text, 3);
            let row = |bytes: usize| Limits { row: bytes, ..Limits::default() };
            let error = read_limited(&set, text.as_bytes(), row(90)).err().unwrap();
            let what = "has 90 bytes or more; leave out the columns that are not sent";
            assert_eq!(error, format!("the data set d, {at}: {what}"), "{text}");
            assert_eq!(read_limited(&set, text.as_bytes(), row(130)).map(|it| it.rows.len()), Ok(3));
        }
    }
}

#[test]
fn the_digest_fails_without_the_rows() {
    let broken = || {
        let mut reader = DigestReader::new((&b"12345"[..]).chain(Broken));
        reader.read_exact(&mut [0; 3]).unwrap();
        reader
    };
    let path = Path::new("d");
    let (file, reason) = digest(broken(), path, 9);
    assert_eq!(file, FileDigest::unknown(path));
    assert_eq!(reason.unwrap(), "the rest of the file, which no row needs, cannot be read: broken");
    let (file, reason) = digest(broken(), path, 4);
    assert_eq!((file, reason.as_deref()), (FileDigest::unknown(path), Some("it has more than 4 bytes")));
}

/// A disk that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

#[test]
fn a_pipe_is_not_read_behind_the_last_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    // The pipe is opened for both reading and writing. So opening does not block, and the pipe has a writer until the test ends.
    let mut writer = File::options().read(true).write(true).open(&path).unwrap();
    io::Write::write_all(&mut writer, format!("{{\"{}\": [1]}}\n", PromptColumn::from_form(IDS).name).as_bytes())
        .unwrap();
    let set = DataSet { file: path.clone().into(), ..set(DataSetFormat::Jsonl, IDS, 1) };
    let read = read_with_digest(&workload_of(&set), Seed(1)).unwrap();
    assert_eq!((read.rows.len(), read.files), (1, vec![FileDigest::unknown(&path)]));
    assert!(read.notices[0].message.ends_with("has no digest in the report: it is a pipe"));
}

#[test]
fn a_published_file_that_is_not_there_says_where_to_get_it() {
    let file = "/nowhere/ShareGPT_V3_unfiltered_cleaned_split.json";
    let set = DataSet { file: file.into(), ..set(DataSetFormat::Json, PromptForm::Text, 1) };
    let error = read(&workload_of(&set), Seed(1)).unwrap_err().to_string();
    assert!(error.contains("; download it by `hf download anon8231489123/ShareGPT_Vicuna_unfiltered"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let set = DataSet { file: "/nowhere/d.json".into(), ..set(DataSetFormat::Json, IDS, 1) };
    let error = read(&workload_of(&set), Seed(1)).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read the data set /nowhere/d.json: ") && error.ends_with("spec.profile.files"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn every_list_of_ids_is_read_as_it_was_written(
        lists in prop::collection::vec(prop::collection::vec(any::<u32>(), 1..9), 1..9),
        pretty: bool,
    ) {
        let objects: Vec<_> = lists.iter().map(|it| serde_json::json!({"input": "a", "tok_input": it})).collect();
        let text = if pretty { serde_json::to_string_pretty(&objects) } else { serde_json::to_string(&objects) };
        let lines: String = objects.iter().map(|it| format!("{it}\n")).collect();
        let mut expected = Rows::default();
        lists.into_iter().for_each(|it| expected.push_ids(it, Some(9)));
        let count = objects.len() as u64;
        prop_assert_eq!(rows(&set(DataSetFormat::Json, IDS, count), text.unwrap()), Ok(expected.clone()));
        prop_assert_eq!(rows(&set(DataSetFormat::Jsonl, IDS, count), &lines), Ok(expected));
    }

    #[test]
    fn no_file_makes_it_panic(text in "[\\[\\]{}:,\"a-z0-9_ \\\\\n.-]{0,60}|\\PC{0,30}", json: bool, ids: bool) {
        let format = if json { DataSetFormat::Json } else { DataSetFormat::Jsonl };
        let form = if ids { IDS } else { PromptForm::Text };
        let error = rows(&set(format, form, 2), &text).unwrap_err();
        prop_assert!(error.starts_with("the data set d"), "{}", error);
    }
}
