//! Tests with every format and compression, and with damaged or hostile files.

use std::{
    fs,
    io::{Seek as _, Write as _},
    sync::Arc,
};

use crds::benchmark_run::Api;
use proptest::prelude::*;
use workload_profiles::workload::{PromptColumn, PromptForm};

use super::super::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/data-sets");

/// A data set with prompts that are texts in the column `name`.
fn texts(file: &str, format: DataSetFormat, name: &str) -> DataSet {
    let prompt = PromptColumn { name: name.into(), form: PromptForm::Text };
    DataSet { count: None, ..DataSet::new(file, format, prompt, 9, 1) }
}

fn read_set(set: &DataSet, bytes: &[u8], limits: Limits) -> Result<Vec<String>, String> {
    let tokens = TokenCount::Words;
    let workload = Workload::new(Api::Completions, RequestSource::DataSet(set.clone()), Vec::new());
    let found = rules(set, &workload, Seed(1), super::plain(&tokens)).and_then(|rules| match set.format {
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
    // If a file is not CSV, its first line may be a secret. So the message must not repeat it.
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
    let rules = rules(&set, &workload, Seed(1), super::plain(&tokens)).unwrap();
    let rows = read_within(rules, b"p,n\na,5\nb,7.0\nc,0\n".as_slice(), Limits::default()).unwrap().rows;
    assert_eq!([rows.output(0), rows.output(1), rows.output(2)], [Some(5), Some(7), Some(1)]);
    let what = "n is no whole number of tokens; name another column, or declare what the column holds";
    check(&set, "p,n\na,many\n", Err(&format!("the data set d.csv, line 2: {what}")));
}

#[test]
fn text_has_a_prompt_on_each_line() {
    let set = texts("d.txt", DataSetFormat::Text, "text");
    check(&set, "\u{feff}first line\r\n\n  \nsecond\n", Ok(&["first line", "second"]));
    check(
        &set,
        b"\n\na\n\n\nb\xffc\n",
        Err("the data set d.txt, line 6: is no UTF-8 from its byte 1 on, counted from 0; save the file as UTF-8 text"),
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
        Err("the data set d.jsonl, line 1: c is no text; name another column, or declare what the column holds"),
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

/// Writes parts of Thrift's compact encoding.
mod thrift {
    pub(super) fn number(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    /// The fields of a structure, each with its header.
    pub(super) fn structure(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let fields = fields.iter().flat_map(|(header, value)| [vec![*header], value.clone()]);
        fields.chain([vec![0]]).flatten().collect()
    }

    /// A signed number.
    pub(super) fn signed(value: u64) -> Vec<u8> {
        number(2 * value)
    }

    pub(super) fn list(kind: u8, values: &[Vec<u8>]) -> Vec<u8> {
        [vec![0xf0 | kind], number(values.len() as u64), values.concat()].concat()
    }

    pub(super) fn text(text: &[u8]) -> Vec<u8> {
        [number(text.len() as u64), text.to_vec()].concat()
    }
}
use thrift::{list, number, signed, structure, text};

/// A group in the schema. The root has no repetition type.
fn group(fields: u64, is_root: bool) -> Vec<u8> {
    let repetition = if is_root { vec![(0x48, text(b"a"))] } else { vec![(0x35, signed(0)), (0x18, text(b"a"))] };
    structure(&[repetition, vec![(0x15, signed(fields))]].concat())
}

/// A text column `t` in the schema. `repetition`: required (0) or repeated (2).
fn column(repetition: u64) -> Vec<u8> {
    structure(&[(0x15, signed(6)), (0x25, signed(repetition)), (0x18, text(b"t")), (0x25, signed(0))])
}

/// A Parquet file with this body, schema and row groups.
fn parquet(body: &[u8], schema: &[Vec<u8>], rows: u64, groups: &[Vec<u8>]) -> Vec<u8> {
    let footer =
        structure(&[(0x15, signed(1)), (0x19, list(12, schema)), (0x16, signed(rows)), (0x19, list(12, groups))]);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", body, footer.as_slice(), &length, b"PAR1"].concat()
}

#[test]
fn a_parquet_file_with_a_hostile_schema_is_refused() {
    let set = texts("d.parquet", DataSetFormat::Parquet, "t");
    let nested = |depth: usize| {
        let groups = (0..depth).map(|place| group(1, place == 0));
        parquet(&[], &groups.chain([column(0)]).collect::<Vec<_>>(), 0, &[])
    };
    let wrong = |what: &str| format!("the data set d.parquet, {what}");
    let deep = wrong("as a Parquet file: has columns that are nested deeper than 64 levels; leave them out");
    check(&set, nested(65), Err(&deep));
    let many = "as a Parquet file: has a schema of 200001 columns and groups; at most 10000 are read";
    check(&set, nested(200_000), Err(&wrong(many)));
    let damaged = wrong(
        "row 0, counted from 0: cannot be read: it is damaged, or no Parquet file; download or write the file again",
    );
    // Without the check, the library would reserve memory for as many fields as the group claims to have.
    check(&set, parquet(&[], &[group(i32::MAX as u64, true), column(0)], 0, &[]), Err(&damaged));
    // The field of the name contains a number, so that a reader without the check would misinterpret the following bytes.
    let shifted = structure(&[(0x15, signed(6)), (0x25, signed(0)), (0x15, signed(9))]);
    check(&set, parquet(&[], &[group(1, true), shifted], 0, &[]), Err(&damaged));
    assert!(read_set(&set, &nested(64), Limits::default()).unwrap_err().contains("has no t; it has a"));
}

#[test]
fn a_parquet_file_that_states_a_billion_rows_is_refused_or_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.parquet");
    fs::write(&path, parquet(&[], &[group(1, true), column(0)], 1_000_000_000, &[])).unwrap();
    let error = describe::describe(&path, &TokenCount::Words).unwrap_err().to_string();
    assert!(error.contains("states 1000000000 rows; at most 20000000 are read"), "{error}");
    let error = columns::read_columns(&path, &[&["t"]], |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("states 1000000000 rows"), "{error}");
    let set = texts(path.to_str().unwrap(), DataSetFormat::Parquet, "t");
    let error = read(&super::workload_of(&set), Seed(1)).unwrap_err().to_string();
    assert!(error.contains("has 0 rows"), "{error}");
}

/// A file with one row that refers `times` times to a value of `length` bytes.
fn repeated_value(length: usize, times: u64) -> Vec<u8> {
    let dictionary = [(length as u32).to_le_bytes().to_vec(), vec![b'a'; length]].concat();
    // Levels and indices are written as runs of equal values. The first level begins the row.
    let run = |count: u64, value: u8| [number(2 * count), vec![value]].concat();
    let part = |runs: Vec<u8>| [(runs.len() as u32).to_le_bytes().to_vec(), runs].concat();
    let levels = [part([run(1, 0), run(times - 1, 1)].concat()), part(run(times, 1))].concat();
    let data = [levels, vec![1], run(times, 0)].concat();
    let page = |kind: u64, plain: &[u8], header: (u8, Vec<u8>)| {
        let packed = gzip(plain);
        let lengths = [(0x15, signed(plain.len() as u64)), (0x15, signed(packed.len() as u64))];
        [structure(&[&[(0x15, signed(kind))], &lengths[..], &[header]].concat()), packed].concat()
    };
    let first = page(2, &dictionary, (0x4c, structure(&[(0x15, signed(1)), (0x15, signed(0))])));
    let header = [(0x15, signed(times)), (0x15, signed(8)), (0x15, signed(3)), (0x15, signed(3))];
    let body = [first.clone(), page(0, &data, (0x2c, structure(&header)))].concat();
    let metadata = structure(&[
        (0x15, signed(6)),
        (0x19, list(5, &[signed(0), signed(3), signed(8)])),
        (0x19, list(8, &[text(b"t")])),
        (0x15, signed(2)),
        (0x16, signed(times)),
        (0x16, signed((dictionary.len() + data.len()) as u64)),
        (0x16, signed(body.len() as u64)),
        (0x26, signed(4 + first.len() as u64)),
        (0x26, signed(4)),
    ]);
    let chunk = structure(&[(0x26, signed(4)), (0x1c, metadata)]);
    let rows = structure(&[(0x19, list(12, &[chunk])), (0x16, signed(body.len() as u64)), (0x16, signed(1))]);
    parquet(&body, &[group(1, true), column(2)], 1, &[rows])
}

#[test]
fn a_row_of_a_parquet_file_has_bounded_memory() {
    let row = RowContent::Conversation { column: "t".into(), send: ConversationUse::FirstTurn };
    let set = DataSet { row, ..texts("d.parquet", DataSetFormat::Parquet, "") };
    check(&set, repeated_value(9, 4), Ok(&["aaaaaaaaa"]));
    let bomb = repeated_value(32 << 20, 5_000);
    assert!(bomb.len() < 400_000);
    let what = "a row may need more than 536870912 bytes of memory, by its number of values and the longest of them";
    for bytes in [bomb, repeated_value(1, 5_000_000)] {
        let error = read_set(&set, &bytes, Limits::default()).unwrap_err();
        assert!(error.starts_with("the data set d.parquet, row 0") && error.contains(what), "{error}");
    }
}

/// Asserts that reading a damaged file returns rows or an error message, with limited memory and without a panic.
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

#[test]
fn a_column_that_the_profile_does_not_name_is_found_by_its_usual_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"x\":1,\"input_tokens\":[5,6]}\n").unwrap();
    let set = DataSet::new(path, DataSetFormat::Jsonl, PromptColumn::from_form(PromptForm::TokenIds), 9, 1);
    let error = read(&super::workload_of(&set), Seed(1)).unwrap_err().to_string();
    assert!(error.contains("has no tok_input; it has x, input_tokens"), "{error}");
    let any = super::workload_of(&DataSet { any_column: true, ..set });
    let found = read_with_digest(&any, Seed(1)).unwrap();
    assert_eq!(found.rows.ids(0), [5, 6]);
    assert!(found.notices[0].message.contains("its column input_tokens"), "{:?}", found.notices);
}

#[test]
fn a_folder_is_its_files_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("part-1.jsonl", "{\"tok_input\":[3]}\n{\"tok_input\":[4]}\n");
    write("part-0.jsonl", "{\"tok_input\":[1]}\n");
    write("README.md", "no data");
    let set = |count| {
        DataSet::new(
            folder.path().to_owned(),
            DataSetFormat::Jsonl,
            PromptColumn::from_form(PromptForm::TokenIds),
            9,
            count,
        )
    };
    let found = read_with_digest(&super::workload_of(&set(3)), Seed(1)).unwrap();
    assert_eq!([0, 1, 2].map(|it| found.rows.ids(it)[0]), [1, 3, 4]);
    // The digest covers all files, even if no rows of the last file are needed.
    let first = read_with_digest(&super::workload_of(&set(1)), Seed(1)).unwrap();
    assert_eq!((first.rows.len(), first.files), (1, found.files));
    let described = describe::describe(folder.path(), &TokenCount::Words).unwrap();
    assert_eq!((described.rows, described.columns[0].lengths.unwrap().max), (3, 1));
    write("part-2.jsonl", "oops");
    let error = read(&super::workload_of(&set(4)), Seed(1)).unwrap_err().to_string();
    assert!(error.contains("part-2.jsonl, line 1: is no JSON object"), "{error}");
    write("part-2.csv", "a");
    let error = read(&super::workload_of(&set(4)), Seed(1)).unwrap_err().to_string();
    assert!(
        error.contains("in several formats, JSON Lines and CSV") || error.contains("in several formats, CSV"),
        "{error}"
    );
}

/// Files that Python wrote can contain the prompts of a workload.
#[test]
fn pickles_and_arrays_are_prompts() {
    let fixture = |name: &str| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset-fixtures").join(name)
    };
    let ids = || PromptColumn::from_form(PromptForm::TokenIds);
    let set = DataSet::new(fixture("pickle/filtered.pandas13.p4.pkl"), DataSetFormat::Pickle, ids(), 9, 4);
    let found = read_with_digest(&super::workload_of(&set), Seed(1)).unwrap();
    assert_eq!(found.rows.ids(0), [89218, 101035, 58399, 81086, 3906, 86867, 44943, 107892, 29871]);
    assert_eq!((found.notices.len(), found.files[0].sha256.as_ref().map(String::len)), (0, Some(64)));
    // The file is read in the format of its content. A notice reports that the profile names another format.
    let set = DataSet { format: DataSetFormat::Json, ..set };
    let found = read_with_digest(&super::workload_of(&set), Seed(1)).unwrap();
    assert!(
        found.notices[0].message.contains("it is declared as JSON, but is read as a pickle"),
        "{:?}",
        found.notices
    );
    let set = DataSet { any_column: true, ..DataSet::new(fixture("npy"), DataSetFormat::Npy, ids(), 9, 5) };
    assert_eq!(read(&super::workload_of(&set), Seed(1)).unwrap().ids(1), [45137, 33605, 85299]);
    let set = DataSet::new(fixture("hostile-pickle/os_system_proto0.pkl"), DataSetFormat::Pickle, ids(), 9, 1);
    let error = read(&super::workload_of(&set), Seed(1)).unwrap_err();
    assert!(error.to_string().contains("names os.system"), "{error}");
    assert!(!error.without_words().unwrap().contains("os.system"));
}
