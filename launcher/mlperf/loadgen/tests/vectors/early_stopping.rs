//! Compares the tables of early stopping.

use loadgen::results::early_stopping::EarlyStopping;
use serde_json::Value;

/// Compares every row of a table.
pub fn assert_case(table: &Value) {
    let share = |key: &str| table[key].as_f64().unwrap();
    let (p, d, c) = (share("p"), share("d"), share("c"));
    let test = EarlyStopping::new(p, d, c).unwrap();
    let rows = table["rows"].as_array().unwrap();
    assert!(!rows.is_empty(), "p {p} d {d} c {c} has no rows");
    for row in rows {
        let (above, within) = (row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
        assert_eq!(test.within(above), within, "H({above}) at p {p} d {d} c {c}");
    }
}
