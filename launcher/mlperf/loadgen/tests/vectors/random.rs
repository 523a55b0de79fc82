//! Compares the random generator and the values drawn from it.

use loadgen::queries::random::Mt19937;
use serde_json::Value;

use crate::{digest, integers};

/// Compares all draws of a seed.
pub fn assert_case(case: &Value) {
    let seed = case["seed"].as_u64().unwrap();
    let fresh = || Mt19937::new(seed);
    let mut random = fresh();
    for expected in integers(&case["mt19937_u32"]) {
        assert_eq!(u64::from(random.next_u32()), expected, "seed {seed}");
    }
    random = fresh();
    for expected in case["canonical_f64"].as_array().unwrap() {
        assert_eq!(random.canonical(), expected.as_f64().unwrap(), "seed {seed}");
    }
    for (rate, gaps) in each(&case["exponential_ns"]) {
        let mut random = fresh();
        let gap = || random.exponential(rate.parse().unwrap()).as_nanos() as u64;
        let drawn: Vec<u64> = std::iter::repeat_with(gap).take(integers(gaps).len()).collect();
        assert_eq!(drawn, integers(gaps), "seed {seed}, rate {rate}");
    }
    for (count, numbers) in each(&case["uniform_int_0_to_n_minus_1"]) {
        let mut random = fresh();
        let most = count.parse::<u64>().unwrap() - 1;
        let drawn: Vec<u64> = integers(numbers).iter().map(|_| random.uniform(most)).collect();
        assert_eq!(drawn, integers(numbers), "seed {seed}, below {count}");
    }
    for (count, shuffled) in each(&case["shuffle_iota"]) {
        let mut numbers: Vec<u64> = (0..count.parse().unwrap()).collect();
        fresh().shuffle(&mut numbers);
        assert_eq!(numbers, integers(shuffled), "seed {seed}, {count} shuffled");
    }
    for (count, expected) in each(&case["shuffle_iota_big"]) {
        let mut numbers: Vec<u64> = (0..count.parse().unwrap()).collect();
        let mut random = fresh();
        random.shuffle(&mut numbers);
        let name = format!("seed {seed}, {count} shuffled");
        let (first, last) = (integers(&expected["first"]), integers(&expected["last"]));
        assert!(numbers.starts_with(&first) && numbers.ends_with(&last), "{name}");
        assert_eq!(digest(numbers), expected["fnv"], "{name}");
        assert_eq!(random.next_u32(), expected["next_u32"], "{name}: the output after it");
    }
}

/// Returns the entries of an object, and checks that it is not empty.
fn each(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let object = object.as_object().unwrap();
    assert!(!object.is_empty());
    object.iter()
}
