//! Compares pickles and arrays value by value.

use std::{fs, path::Path};

use python_data::{
    Cell, Problem, Table,
    cell::List,
    npy::{self, Npy},
    pickle::Pickle,
    zip,
};
use serde_json::{Map, Value, json};

use super::{assert_equal, files, folder, json as json_of, name, say};

/// Converts a value to the form of the fixtures, which can express values that JSON does not have.
fn exact(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Big(digits) => json!({ "$int": digits }),
        Cell::Float(it) if it.is_infinite() => json!({ "$float": if *it > 0.0 { "inf" } else { "-inf" } }),
        Cell::Bytes(bytes) => {
            json!({ "$bytes": bytes.iter().map(|it| format!("{it:02x}")).collect::<String>() })
        }
        Cell::Time(nanoseconds) => json!({ "$datetime_ns": nanoseconds }),
        Cell::List(list) => (0..list.len()).map(|it| exact(&list.get(it).unwrap())).collect(),
        Cell::Map(map) => {
            let pairs = (0..map.len()).map(|it| map.get(it).unwrap().unwrap());
            Value::Object(pairs.map(|(key, value)| (key.to_name(), exact(&value))).collect::<Map<_, _>>())
        }
        other => other.to_json(),
    }
}

fn labels(table: &Table<'_>) -> Value {
    (0..table.rows()).map(|row| exact(&table.label(row))).collect()
}

fn assert_pickle(bytes: &[u8], expected: &Value, what: &str) {
    let pickle = Pickle::read(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let table = || pickle.table().unwrap_or_else(|error| panic!("{what}: {error}"));
    let column =
        |table: &Table<'_>, place| -> Value { (0..table.rows()).map(|row| exact(&table.get(row, place))).collect() };
    let kind = expected["kind"].as_str().unwrap();
    match kind {
        "DataFrame" => {
            let table = table();
            let names: Value = table.name_cells().map(exact).collect();
            assert_equal(&names, &expected["columns"], what);
            assert_equal(&labels(&table), &expected["index"], what);
            assert_equal(&table.index_names().iter().map(exact).collect(), &expected["index_names"], what);
            for (place, name) in table.names().iter().enumerate() {
                assert_equal(&column(&table, place), &expected["data"][name], &format!("{what}, {name}"));
            }
        }
        "Series" => {
            let table = table();
            assert_eq!(Value::from(table.names()), json!([expected["name"]]), "{what}");
            assert_equal(&labels(&table), &expected["index"], what);
            assert_equal(&column(&table, 0), &expected["values"], what);
        }
        "ndarray" => {
            let cell = pickle.value().unwrap();
            assert_equal(&exact(&cell), &expected["values"], what);
            let Cell::List(List::Array(part)) = cell else { panic!("{what}: {cell:?}") };
            assert_eq!(json!(part.array().shape()), expected["shape"], "{what}");
            assert_eq!(json!(part.array().type_name()), expected["dtype"], "{what}");
        }
        "object" => assert_equal(&exact(&pickle.value().unwrap()), &expected["value"], what),
        _ => panic!("{what}: {kind}"),
    }
}

/// Compares the pickles without compression in a subfolder with their expected values.
fn assert_pickles(part: &str) {
    let (mut compared, mut packed) = (0, 0);
    for path in files(part) {
        let what = name(&path);
        if what.ends_with(".pkl") {
            let expected = format!("{}.expected.json", what.split('.').next().unwrap());
            assert_pickle(&fs::read(&path).unwrap(), &json_of(&path.with_file_name(expected)), what);
            compared += 1;
        } else if !what.ends_with(".json") {
            packed += 1;
        }
    }
    say(&format!("{part}: {compared} pickles compared value by value, {packed} compressed ones elsewhere"));
}

#[test]
fn pickles_hold_what_python_reads() {
    assert_pickles("pickle");
}

#[test]
fn optional_pickles_hold_what_python_reads() {
    assert_pickles("pickle-optional");
}

/// Reads a file that may be hostile. Returns the number of rows.
fn read(bytes: &[u8]) -> Result<usize, Problem> {
    Pickle::read(bytes)?.table().map(|it| it.rows())
}

/// The peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    peak.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() << 10
}

#[test]
fn hostile_pickles_are_refused() {
    let mut refused = 0;
    let before = peak_memory();
    for path in files("hostile-pickle") {
        let what = name(&path);
        if !what.ends_with(".pkl") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let error = read(&bytes).expect_err(what).to_string();
        assert!(error.len() < 300, "{what}: {error}");
        refused += 1;
    }
    let more = peak_memory() - before;
    assert!(more < 64 << 20, "{more}");
    say(&format!("hostile-pickle: {refused} files refused, with {more} bytes more of memory"));
}

/// Converts a value of an array. The fixtures store its bytes as text.
fn of_array(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::List(list) => (0..list.len()).map(|it| of_array(&list.get(it).unwrap())).collect(),
        other => other.to_json(),
    }
}

fn assert_array(array: &Npy<'_>, expected: &Value, what: &str) {
    let array = array.array().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(json!(array.shape()), expected["shape"], "{what}");
    assert_equal(&of_array(&array.cell().unwrap()), &expected["values"], what);
}

#[test]
fn arrays_hold_what_numpy_reads() {
    let expected = folder().join("npy/expected.json");
    let (mut compared, mut refused) = (0, 0);
    for path in files("npy") {
        let what = name(&path);
        let bytes = fs::read(&path).unwrap();
        let expected = || json_of(&expected)[what].clone();
        if what.starts_with("bad_") {
            let read = Npy::read(&bytes).and_then(|it| it.table().map(|it| it.rows()));
            assert!(read.is_err(), "{what}: {read:?}");
            refused += 1;
        } else if what.ends_with(".npy") {
            assert_array(&Npy::read(&bytes).unwrap(), &expected(), what);
            compared += 1;
        } else if what.ends_with(".npz") {
            let files = zip::unpack(&bytes, 1 << 20).unwrap();
            assert_eq!(files.len(), expected().as_object().unwrap().len(), "{what}");
            for (member, bytes) in &files {
                let key = member.strip_suffix(".npy").unwrap();
                assert_array(&Npy::read(bytes).unwrap(), &expected()[key], &format!("{what}, {key}"));
            }
            compared += 1;
        }
    }
    say(&format!("npy: {compared} files compared, {refused} damaged ones refused"));
}

fn assert_padded(ids: &Path) {
    let read = |name: &str| fs::read(ids.with_file_name(name)).unwrap();
    let (ids, lengths) = (fs::read(ids).unwrap(), read("input_lens.npy"));
    let mask = read("masked_tokens.npy");
    let expected = json_of(&folder().join("npy/expected.json"));
    let [flat, ends] = ["flat_tokens_u32.npy", "offsets_u64.npy"].map(|it| expected[it]["values"].clone());
    let end = |place: usize| ends[place].as_u64().unwrap() as usize;
    let (ids, lengths, mask) = (Npy::read(&ids).unwrap(), Npy::read(&lengths).unwrap(), Npy::read(&mask).unwrap());
    for mask in [Some(&mask), None] {
        let table = npy::padded(&ids, &lengths, mask).unwrap();
        assert_eq!(table.rows(), 5);
        for row in 0..table.rows() {
            let expected = &flat.as_array().unwrap()[end(row)..end(row + 1)];
            assert_eq!(table.get(row, 0).to_json(), json!(expected));
        }
    }
}

#[test]
fn padded_ids_lose_what_fills_them_up() {
    let path = folder().join("npy/input_ids_padded.npy");
    if path.exists() {
        assert_padded(&path);
    } else {
        say("NOT COMPARED: npy/input_ids_padded.npy");
    }
}

/// An npy file of version 1.
fn npy_file(descr: &str, shape: &str, bytes: Vec<u8>) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".to_vec(), length.to_vec(), header.into_bytes(), bytes].concat()
}

#[test]
fn padding_without_a_mask_is_the_end_with_one_id() {
    let check = |ids: &[[i32; 4]], lengths: &[i32]| {
        let bytes = |it: Vec<i32>| it.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
        let (rows, count) = (ids.len(), lengths.len());
        let ids = npy_file("<i4", &format!("({rows}, 4)"), bytes(ids.concat()));
        let lengths = npy_file("<i4", &format!("({count},)"), bytes(lengths.to_vec()));
        let (ids, lengths) = (Npy::read(&ids).unwrap(), Npy::read(&lengths).unwrap());
        let table = npy::padded(&ids, &lengths, None).map_err(|it| it.what)?;
        Ok::<_, String>((0..table.rows()).map(|row| table.get(row, 0).to_json()).collect::<Vec<_>>())
    };
    assert_eq!(check(&[[1, 2, 0, 0], [3, 4, 5, 0]], &[2, 3]), Ok(vec![json!([1, 2]), json!([3, 4, 5])]));
    assert_eq!(check(&[[0, 0, 1, 2], [0, 3, 4, 5]], &[2, 3]), Ok(vec![json!([1, 2]), json!([3, 4, 5])]));
    assert_eq!(check(&[[1, 2, 3, 4]], &[4]), Ok(vec![json!([1, 2, 3, 4])]));
    let refused = check(&[[1, 2, 3, 4], [5, 6, 7, 8]], &[2, 2]).unwrap_err();
    assert!(refused.contains("add masked_tokens.npy"), "{refused}");
}
