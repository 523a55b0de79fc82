//! Every format and compression, and files that are damaged or hostile.

use std::{
    fs,
    io::{Seek as _, Write as _},
    sync::Arc,
};

use crds::benchmark_run::Api;
use proptest::prelude::*;
use workload_profiles::workload::{PromptColumn, PromptForm};

use super::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/data-sets");

/// A data set whose prompts are texts in the column `name`.
fn texts(file: &str, format: DataSetFormat, name: &str) -> DataSet {
    let prompt = PromptColumn { name: name.into(), form: PromptForm::Text };
    DataSet { count: None, ..DataSet::new(file, format, prompt, 9, 1) }
}

fn read_set(set: &DataSet, bytes: &[u8], limits: Limits) -> Result<Vec<String>, String> {
    let tokens = TokenCount::Words;
    let workload = Workload::new(Api::Completions, RequestSource::DataSet(set.clone()), Vec::new());
    let found = rules(set, &workload, Seed(1), &tokens).and_then(|rules| match set.format {
        DataSetFormat::Parquet => {
            let mut file = tempfile::tempfile().expect("a temporary file");
            file.write_all(bytes).and_then(|()| file.rewind()).expect("a temporary file");
            read_parquet(rules, file, limits)
        }
        _ => read_within(rules, bytes, limits),
    });
    let rows = found.map_err(|error| error.to_string())?.rows;
    let text = |row| {
        if set.form() == PromptForm::TokenIds { format!("{:?}", rows.ids(row)) } else { rows.text(row).to_owned() }
    };
    Ok((0..rows.len() as u64).map(text).collect())
}

fn check(set: &DataSet, bytes: impl AsRef<[u8]>, expected: Result<&[&str], &str>) {
    let found = read_set(set, bytes.as_ref(), Limits::default());
    let expected = expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect()).map_err(str::to_owned);
    assert_eq!(found, expected);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn csv_has_a_header_and_quoted_fields() {
    let set = texts("d.csv", DataSetFormat::Csv, "prompt");
    let text = "\u{feff}id,prompt\r\n1,\"a \"\"b\"\"\"\r\n2,\"two\nlines\",more\r\n\r\n3,\"comma, inside\"\r\n";
    check(&set, text, Ok(&["a \"b\"", "two\nlines", "comma, inside"]));
    check(
        &set,
        "id,text,x\n1,a,b\n",
        Err(
            "the data set d.csv, line 1: has no prompt; it has id, text, x; name the column that holds what is to be sent",
        ),
    );
    // The first line of a file that is no CSV may be a secret.
    check(
        &set,
        "hunter2\n",
        Err("the data set d.csv, line 1: has no prompt; name the column that holds what is to be sent"),
    );
    check(
        &set,
        "id,prompt\n1,a\n2\n",
        Err("the data set d.csv, line 3: has no prompt; name the column that holds what is to be sent"),
    );
    check(
        &set,
        b"id,prompt\n1,a\n2,b\xff\n",
        Err(
            "the data set d.csv, line 3: prompt: is no UTF-8 from its byte 1 on, counted from 0; save the file as UTF-8 text",
        ),
    );
    let ids = DataSet::new("d.csv", DataSetFormat::Csv, PromptColumn::from_form(PromptForm::TokenIds), 9, 2);
    check(&ids, "tok_input\n\"[1, 2]\"\n[3]\n", Ok(&["[1, 2]", "[3]"]));
}

#[test]
fn the_output_length_may_be_a_column_of_a_csv() {
    let set = DataSet { output: OutputLength::Column("n".into()), ..texts("d.csv", DataSetFormat::Csv, "p") };
    let tokens = TokenCount::Words;
    let workload = Workload::new(Api::Completions, RequestSource::DataSet(set.clone()), Vec::new());
    let rules = rules(&set, &workload, Seed(1), &tokens).unwrap();
    let rows = read_within(rules, b"p,n\na,5\nb,7.0\nc,0\n".as_slice(), Limits::default()).unwrap().rows;
    assert_eq!([rows.output(0), rows.output(1), rows.output(2)], [Some(5), Some(7), Some(1)]);
    let what = "n is no whole number of tokens; name another column, or say that it holds something else";
    check(&set, "p,n\na,many\n", Err(&format!("the data set d.csv, line 2: {what}")));
}

#[test]
fn text_has_a_prompt_on_each_line() {
    let set = texts("d.txt", DataSetFormat::Text, "text");
    check(&set, "\u{feff}first line\r\n\n  \nsecond\n", Ok(&["first line", "second"]));
    check(
        &set,
        b"a\nb\xffc\n",
        Err("the data set d.txt, line 2: is no UTF-8 from its byte 1 on, counted from 0; save the file as UTF-8 text"),
    );
    check(
        &set,
        b"\xff\xfea\x00",
        Err("the data set d.txt, byte 0: is the mark of UTF-16; save the file as UTF-8 text"),
    );
    check(
        &texts("d.txt", DataSetFormat::Text, "prompt"),
        "a\n",
        Err("the data set d.txt, line 1: has no prompt; a file with a prompt on each line has only the column text"),
    );
}

#[test]
fn a_dot_separates_the_keys_of_nested_objects() {
    let set =
        DataSet { output: OutputLength::TextOf("a.out".into()), ..texts("d.jsonl", DataSetFormat::Jsonl, "a.b.c") };
    check(&set, r#"{"x":1,"a":{"b":{"c":"deep"},"out":"two words"}}"#, Ok(&["deep"]));
    check(&set, r#"{"a.b.c":"flat","a":{"out":"x"}}"#, Ok(&["flat"]));
    check(
        &set,
        r#"{"a":{"out":"x","b":5}}"#,
        Err("the data set d.jsonl, line 1: has no a.b.c; it has a, b; name the column that holds what is to be sent"),
    );
    check(
        &set,
        r#"{"a":{"b":{"c":5}}}"#,
        Err("the data set d.jsonl, line 1: c is no text; name another column, or say that it holds something else"),
    );
}

#[test]
fn a_compressed_file_is_read_like_a_plain_one() {
    let lines = "{\"p\":\"a\"}\n{\"p\":\"b\"}\n";
    for (name, bytes) in [("d.jsonl.gz", gzip(lines.as_bytes())), ("d.jsonl.zst", zstd(lines.as_bytes()))] {
        let set = texts(name, DataSetFormat::Jsonl, "p");
        check(&set, &bytes, Ok(&["a", "b"]));
        let error = read_set(&set, lines.as_bytes(), Limits::default()).unwrap_err();
        assert!(error.starts_with(&format!("cannot decompress the data set {name}: it is no ")), "{error}");
        let error = read_set(&set, &bytes[..bytes.len() - 3], Limits::default()).unwrap_err();
        assert!(error.ends_with("a part of it is missing or damaged; download or write the file again"), "{error}");
    }
}

#[test]
fn a_compressed_bomb_ends_with_a_message() {
    let zeros = vec![b'\n'; 8 << 20];
    let small = Limits { file: 1 << 20, ..Limits::default() };
    for (name, bytes) in [("d.jsonl.gz", gzip(&zeros)), ("d.jsonl.zst", zstd(&zeros))] {
        assert!(bytes.len() < zeros.len() / 100);
        let error = read_set(&texts(name, DataSetFormat::Jsonl, "p"), &bytes, small).unwrap_err();
        let what = "has more than 1048576 bytes, the most that is read, after decompression; leave out the columns that are not sent";
        assert_eq!(error, format!("the data set {name} {what}"));
    }
    let line = gzip(&vec![b'x'; 8 << 20]);
    for (name, format) in
        [("d.txt.gz", DataSetFormat::Text), ("d.csv.gz", DataSetFormat::Csv), ("d.jsonl.gz", DataSetFormat::Jsonl)]
    {
        let row = Limits { row: 1 << 20, ..Limits::default() };
        let error = read_set(&texts(name, format, "text"), &line, row).unwrap_err();
        let what = "line 1: has 1048576 bytes or more; leave out the columns that are not sent";
        assert_eq!(error, format!("the data set {name}, {what}"));
    }
}

#[test]
fn parquet_is_read_with_every_codec() {
    let first = ["Basin zephyr zephyr gravel cedar.", "Zephyr meadow zephyr saddle gravel.", "Ünïcödé — “text” 😀"];
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4", "large_types_rowgroups2"] {
        let name = format!("small_{codec}.parquet");
        let bytes = fs::read(format!("{FIXTURES}/{name}")).unwrap();
        let found = read_set(&texts(&name, DataSetFormat::Parquet, "output"), &bytes, Limits::default()).unwrap();
        assert_eq!(found[..3], first, "{codec}");
        let ids = PromptColumn { name: "tok_input".into(), form: PromptForm::TokenIds };
        let set = DataSet { row: RowContent::Prompt(ids), ..texts(&name, DataSetFormat::Parquet, "") };
        let error = read_set(&set, &bytes, Limits::default()).unwrap_err();
        assert_eq!(error, format!("the data set {name}, row 0, counted from 0: tok_input is empty; leave the row out"));
        let set = texts(&name, DataSetFormat::Parquet, "prompt");
        let error = read_set(&set, &bytes, Limits::default()).unwrap_err();
        let what = "has no prompt; it has input, tok_input, output";
        assert!(error.starts_with(&format!("the data set {name}, as a Parquet file: {what}")), "{error}");
    }
}

/// Writes a Parquet file with conversations.
fn conversations() -> Vec<u8> {
    use ::parquet::{
        data_type::{ByteArray, ByteArrayType},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };
    let schema = "message schema { optional group conversations (LIST) { repeated group list { optional group element {
        optional binary from (UTF8); optional binary value (UTF8); } } } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in [["human", "gpt", "human"], ["first", "answer", "second"]] {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&[4, 4, 4]), Some(&[0, 1, 0])).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn conversations_of_a_parquet_file_are_lists_of_structs() {
    let row = RowContent::Conversation { column: "conversations".into(), send: ConversationUse::FirstTurn };
    let set = DataSet { row, ..texts("d.parquet", DataSetFormat::Parquet, "") };
    check(&set, conversations(), Ok(&["first", "second"]));
}

/// A damaged file gives rows or a message, in bounded memory, and never a panic.
fn survives(set: &DataSet, bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits { file: 1 << 20, row: 1 << 16, kept: 1 << 20 };
    if let Err(error) = read_set(set, bytes, limits) {
        prop_assert!(error.contains(&set.file.shown()) && error.len() < 1_000, "{}", error);
    }
    Ok(())
}

fn mutated(mut bytes: Vec<u8>, cut: prop::sample::Index, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    if !changes.is_empty() {
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
    } else {
        bytes.truncate(cut.index(bytes.len()));
    }
    bytes
}

proptest! {
    #[test]
    fn a_damaged_file_of_any_format_is_no_accident(
        format in 0..7_usize,
        cut: prop::sample::Index,
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4),
    ) {
        let json = r#"[{"p":"a","c":[{"from":"human","value":"x"},{"from":"gpt","value":"y"}]},{"p":"b","c":["x","y"]}]"#;
        let lines = "{\"p\":\"a\"}\n{\"p\":\"b\"}\n";
        let conversation = |it: DataSet| DataSet {
            row: RowContent::Conversation { column: "c".into(), send: ConversationUse::AllButLast },
            output: OutputLength::Answer,
            ..it
        };
        let (set, bytes) = match format {
            0 => (texts("d.json", DataSetFormat::Json, "p"), json.into()),
            1 => (conversation(texts("d.json", DataSetFormat::Json, "")), json.into()),
            2 => (texts("d.jsonl.gz", DataSetFormat::Jsonl, "p"), gzip(lines.as_bytes())),
            3 => (texts("d.jsonl.zst", DataSetFormat::Jsonl, "p"), zstd(lines.as_bytes())),
            4 => (texts("d.csv", DataSetFormat::Csv, "p"), b"p,q\n\"a\",1\n\"b,\n\",2\n".to_vec()),
            5 => (texts("d.txt", DataSetFormat::Text, "text"), b"a\nb\n".to_vec()),
            _ => (texts("d.jsonl", DataSetFormat::Jsonl, "p"), lines.into()),
        };
        survives(&set, &mutated(bytes, cut, &changes))?;
    }

    #[test]
    fn a_damaged_parquet_file_is_no_accident(
        codec in prop::sample::select(vec!["snappy", "gzip", "zstd", "lz4", "brotli"]),
        cut: prop::sample::Index,
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4),
    ) {
        let name = format!("small_{codec}.parquet");
        let bytes = fs::read(format!("{FIXTURES}/{name}")).unwrap();
        survives(&texts(&name, DataSetFormat::Parquet, "output"), &mutated(bytes, cut, &changes))?;
    }
}
