use super::*;
use crate::yaml;

/// Reads the key `a` with a getter. Compares the value, or the problem as one line.
fn check<T: PartialEq + std::fmt::Debug>(text: &str, get: impl Fn(&Section) -> Option<T>, expected: Result<T, &str>) {
    let value = yaml::read(text).unwrap();
    let findings = Findings::default();
    let read = Section::root(&value, &["load", "data"], &findings).and_then(|section| {
        let read = get(&section);
        section.finish();
        read
    });
    let result = findings.into_result().map_err(|it| it.to_string());
    assert_eq!(result.map(|_| read), expected.map(Some).map_err(str::to_owned), "{text}");
}

#[test]
fn a_value_of_the_wrong_kind_is_shown_with_its_path() {
    check("a: 5", |it| it.count("a", 1..=9), Ok(5));
    check("a: '5'", |it| it.count("a", 1..=9), Ok(5));
    check("a: 5.5", |it| it.count("a", 1..=9), Err("a: is 5.5; write a whole number from 1 to 9"));
    check("a: -1", |it| it.count("a", 1..=9), Err("a: is -1; write a whole number from 1 to 9"));
    check(
        "a: {x: 1}",
        |it| it.count("a", 1..=9),
        Err("a: is a mapping with the key x; write a whole number from 1 to 9"),
    );
    check("a: 0", |it| it.positive_number("a", 9.0), Err("a: is 0; write a number above 0 and at most 9"));
    check("a: off", |it| it.bool("a"), Ok(false));
    check("a: 1", |it| it.bool("a"), Err("a: is 1; write true or false"));
    check("a: 1", |it| it.text("a").map(drop), Err("a: is 1; write a text, in quotes if it looks like a number"));
    check(
        "a: [1]",
        |it| it.section("a").map(drop),
        Err("a: is a list of length 1; write a mapping, one line `key: value` per key"),
    );
    check("a: 1.5s", |it| it.positive_span("a", 9).map(|it| it.to_string()), Ok("1.5s".to_owned()));
    let wanted = "write a length of time such as 90s, 1.5s or 250ms, above 0s and at most 9s";
    for (text, found) in [("0s", "\"0s\""), ("10s", "\"10s\""), ("5", "5"), ("soon", "\"soon\"")] {
        check(&format!("a: {text}"), |it| it.positive_span("a", 9), Err(&format!("a: is {found}; {wanted}")));
    }
    check("a: {b: 1}", |it| it.variant("a", &["b", "d"]).map(|it| it.0), Ok("b"));
    check("a: d", |it| it.variant("a", &["b", "d"]).map(|it| it.0), Ok("d"));
    check("a: {b: 1, d: 2}", |it| it.variant("a", &["b", "d"]).map(drop), Err("a: holds b and d; keep one of them"));
    check("a: {}", |it| it.variant("a", &["b", "d"]).map(drop), Err("a: is an empty mapping; write one of b and d"));
    check("a: {bb: 1}", |it| it.variant("a", &["b", "d"]).map(drop), Err("a.bb: is no known key; did you mean b?"));
    check("a: c", |it| it.choice("a", &[("b", 1), ("d", 2)]), Err("a: is \"c\"; choose one of b and d"));
    check("a: 5", |it| it.ignored("a", ValueType::Text).then_some(()), Err("a: is 5; write a text"));
    check("a_key: 5", |it| it.ignored("a_key", ValueType::Text).then_some(()), Err("a_key: is a number; write a text"));
    check("a: -3", |it| it.seed("a"), Err("a: is -3; write a whole number from 0 to 18446744073709551615"));
    check(
        "- a",
        |it| it.text("a").map(drop),
        Err("profile: is a list of length 1; write a mapping, one line `key: value` per key"),
    );
}

#[test]
fn a_key_that_nobody_asked_for_is_reported() {
    let get = |it: &Section| it.count("rate", 1..=9);
    check("rate: 1\nratee: 2", get, Err("ratee: is no known key; did you mean rate?"));
    let value = yaml::read("x: {data: {}}").unwrap();
    let findings = Findings::default();
    Section::root(&value, &["load", "data"], &findings).unwrap().section("x").unwrap().finish();
    assert_eq!(
        findings.into_result().unwrap_err().to_string(),
        "x.data: is not a key of x, but of the root of the profile; remove its indentation"
    );
}
