//! Tests opcodes, limits and numbers. Whole files of pandas and numpy are tested in `dataset_fixtures`, a test of the crate `data-sets`.

use proptest::prelude::*;

use super::*;
use crate::Table;

fn value(file: &[u8]) -> Result<String, String> {
    let pickle = Pickle::read(file).map_err(|it| it.to_string())?;
    pickle.value().map(|it| it.to_json().to_string()).map_err(|it| it.to_string())
}

fn assert_value(file: &[u8], expected: &str) {
    assert_eq!(value(file).as_deref(), Ok(expected), "{}", file.escape_ascii());
}

fn assert_refused(file: &[u8], part: &str) {
    let error = value(file).unwrap_err();
    assert!(error.contains(part), "{}: {error}", file.escape_ascii());
}

#[test]
fn values_of_every_protocol_are_read() {
    // pickle.dumps([1, 'ä', {'a': None, 'b': [True, 1.5]}, -2**70], protocol)
    assert_value(
        b"(lp0\nI1\naV\xe4\np1\na(dp2\nVa\np3\nNsVb\np4\n(lp5\nI01\naF1.5\nasaL-1180591620717411303424L\na.",
        r#"[1,"ä",{"a":null,"b":[true,1.5]},"-1180591620717411303424"]"#,
    );
    assert_value(
        b"\x80\x02]q\0(K\x01X\x02\0\0\0\xc3\xa4q\x01}q\x02(X\x01\0\0\0aq\x03NX\x01\0\0\0bq\x04]q\x05(\x88G?\xf8\0\0\0\0\0\0eu\x8a\x09\0\0\0\0\0\0\0\0\xc0e.",
        r#"[1,"ä",{"a":null,"b":[true,1.5]},"-1180591620717411303424"]"#,
    );
    assert_value(
        b"\x80\x04\x952\0\0\0\0\0\0\0]\x94(K\x01\x8c\x02\xc3\xa4\x94}\x94(\x8c\x01a\x94N\x8c\x01b\x94]\x94(\x88G?\xf8\0\0\0\0\0\0eu\x8a\x09\0\0\0\0\0\0\0\0\xc0e.",
        r#"[1,"ä",{"a":null,"b":[true,1.5]},"-1180591620717411303424"]"#,
    );
    assert_value(b"(I1\nI00\nt.", "[1,false]");
    assert_value(b"S'a\\x41\\n'\n.", r#""aA\n""#);
    assert_value(b"V\\u00e4\\U0001f600\n.", "\"ä😀\"");
    assert_value(b"\x80\x02\x8a\x08\0\0\0\0\0\0\0\x80.", "-9223372036854775808");
    assert_value(b"\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0.", "18446744073709551615");
    assert_value(b"\x80\x02ccollections\nOrderedDict\n)R(X\x01\0\0\0aK\x01u.", r#"{"a":1}"#);
}

#[test]
fn lists_of_token_ids_share_one_array() {
    let file = b"\x80\x02](](K\x01J\xff\xff\xff\x7fe](M\x00\x01ee.";
    let pickle = Pickle::read(file).unwrap();
    assert_eq!(pickle.tokens, [1, 0x7fff_ffff, 256]);
    assert_value(file, "[[1,2147483647],[256]]");
    // First, a list grows after another list was started. Then, a list gets an element that is not a token id.
    assert_value(b"\x80\x02](]q\x00K\x01a]K\x02ah\x00K\x03ae.", "[[1,3],[2],[1,3]]");
    assert_value(b"\x80\x02](K\x01J\xff\xff\xff\xffNe.", "[1,-1,null]");
}

#[test]
fn nothing_is_called_or_looked_up() {
    assert_refused(b"cos\nsystem\n(S'true'\ntR.", "byte 0, counted from 0: names os.system");
    assert_refused(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "names builtins.eval");
    assert_refused(b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x03\0\0\0zip\x86R.", "another codec than latin1");
    assert_refused(b"\x80\x02cfunctools\npartial\ncbuiltins\nslice\n\x85R.", "around another function than new_block");
    assert_refused(b"(ios\nsystem\n.", "the opcode 0x69 (INST) is refused");
    assert_refused(b"\x80\x02K\x01)R.", "calls a value that is not a function");
    assert_refused(b"\x80\x02cbuiltins\nslice\n.", "holds Slice where a value belongs");
}

#[test]
fn what_is_damaged_is_an_error_with_its_place() {
    assert_refused(b"", "is empty");
    assert_refused(b"]", "byte 1, counted from 0: ends without STOP");
    assert_refused(b"\x80\x06.", "is of protocol 6");
    assert_refused(b"\x80\x04\x95\xff\0\0\0\0\0\0\0.", "states a length of 255 bytes, and 1 are left");
    assert_refused(b"\x8d\0\0\0\0\0\0\0\x40a.", "states a length of 4611686018427387904 bytes");
    assert_refused(b"\x8b\xff\xff\xff\xff.", "negative length");
    assert_refused(b"h\x05.", "uses the memo 5, which is not set");
    assert_refused(b"]K\x01e.", "needs a MARK");
    assert_refused(b"(K\x01\x86.", "an empty stack");
    assert_refused(b"]}b.", "BUILD sets the state");
    assert_refused(b"}(K\x01u.", "a key has no value");
    assert_refused(b"\x8c\x03\xed\xa0\x80.", "byte 2, counted from 0: is no UTF-8: an unpaired surrogate");
}

#[test]
fn what_holds_itself_or_grows_without_end_is_refused() {
    assert_refused(b"]q\0h\0a.", "or holds itself");
    let mut bomb = b"]q\0K\x01a".to_vec();
    for place in 0..60_u8 {
        bomb.extend([b'0', b']', b'q', place + 1, b'(']);
        bomb.extend([b'h', place, b'h', place, b'h', place, b'h', place, b'e']);
    }
    bomb.push(b'.');
    assert_refused(&bomb, "repeats its values too often");
}

fn assert_table(file: &[u8], names: &[&str], rows: &[&str]) {
    let pickle = Pickle::read(file).unwrap();
    let table: Table<'_> = pickle.table().unwrap();
    assert_eq!(table.names(), names);
    let row = |it| {
        let cells = (0..names.len()).map(|column| table.get(it, column).to_json().to_string());
        cells.collect::<Vec<_>>().join(" ")
    };
    assert_eq!((0..table.rows()).map(row).collect::<Vec<_>>(), rows);
}

#[test]
fn dicts_and_lists_are_tables() {
    // {'a': [1, 2], 'b': ['x', None], 'c': 5}
    let dict = b"}(X\x01\0\0\0a](K\x01K\x02eX\x01\0\0\0b](X\x01\0\0\0xNeX\x01\0\0\0cK\x05u.";
    assert_table(dict, &["a", "b", "c"], &[r#"1 "x" 5"#, "2 null 5"]);
    assert_table(b"](}X\x01\0\0\0aK\x01s}X\x01\0\0\0bK\x02se.", &["a", "b"], &["1 null", "null 2"]);
    assert_table(b"](](K\x01K\x02e]e.", &["values"], &["[1,2]", "[]"]);
    for (file, part) in [
        (&b"}(X\x01\0\0\0a]K\x01aX\x01\0\0\0b]u."[..], "a has 1 values, b has 0"),
        (b"}X\x01\0\0\0aK\x01s.", "a dict without a list"),
        (b"K\x01.", "holds a whole number, and no table"),
        (b"\x8f.", "holds a set, and no table"),
        (b"]\x8fa.", "row 0, counted from 0, the column values: holds a set where a value belongs"),
    ] {
        let pickle = Pickle::read(file).unwrap();
        let error = pickle.table().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_end_the_process(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        match Pickle::read(&bytes).and_then(|it| it.table().map(|it| (it.names().len(), it.name_cells().count()))) {
            Err(problem) => prop_assert!(!problem.what.is_empty()),
            Ok((names, columns)) => prop_assert!(names > 0 && names == columns),
        }
    }

    #[test]
    fn a_number_has_the_digits_of_its_bytes(number in any::<i128>()) {
        prop_assert_eq!(decimal(&number.to_le_bytes()), number.to_string());
    }
}
