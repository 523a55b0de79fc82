//! Reads and writes the YAML of a profile, and reads single values as a user types them. All input has bounds.

use serde_json::{Number, Value};

use crate::problem::{Findings, Problem, first_line, quoted};

/// Maximum bytes of a rendered profile. The profile and the run have to fit into one ConfigMap of 1 MiB.
pub(crate) const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Maximum values in a profile, after its aliases are expanded. A short stage already has three values.
const MAX_NODES: usize = 50_000;

/// Reads one YAML or JSON document. The bound on the number of values includes expanded aliases.
pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let (value, problems) = read_all(text)?;
    problems.into_iter().next().map_or(Ok(value), Err)
}

/// Returns the text, or a problem if it is too long.
pub(crate) fn bounded(text: &str) -> Result<&str, Problem> {
    let found = text.len();
    if found > MAX_TEXT_BYTES {
        let message = format!("has {found} bytes; at most {MAX_TEXT_BYTES} are read, shorten it");
        return Err(Problem::new("profile", message));
    }
    Ok(text)
}

/// Reads one document. Unusable values, such as `.nan`, are returned as problems.
pub(crate) fn read_all(text: &str) -> Result<(Value, Vec<Problem>), Problem> {
    let text = bounded(text)?;
    // Two readers parse the text: `crds::yaml` has the better messages, and `serde_saphyr` keeps words such as yes and off as texts.
    let document = crds::yaml::read(text).map_err(from_yaml_problem)?;
    let problems = document.map(|it| it.problems).unwrap_or_default();
    let twice = |it: &&crds::yaml::Problem| it.message.starts_with("is given twice");
    if let Some(problem) = problems.iter().find(twice) {
        return Err(from_yaml_problem(problem.clone()));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MAX_NODES },
        // Accept numbers that are not finite, because `crds::yaml` has already reported them.
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
    };
    let value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place =
            error.location().map(|it| format!(", line {} column {}", it.line(), it.column())).unwrap_or_default();
        let message = first_line(&error.without_snippet().to_string());
        Problem::new(
            format!("profile{place}"),
            format!("is no readable YAML: {message}; check the quotes, brackets and indentation here"),
        )
    })?;
    Ok((value, problems.into_iter().map(from_yaml_problem).collect()))
}

fn from_yaml_problem(problem: crds::yaml::Problem) -> Problem {
    let place = problem.place.map(|it| it.to_string());
    let path = match (problem.path.as_str(), place) {
        ("", None) => "profile".to_owned(),
        ("", Some(place)) => format!("profile, {place}"),
        (path, _) => path.to_owned(),
    };
    Problem::new(path, problem.message)
}

pub(crate) use crds::yaml::write;

/// Reads a value as a user types it on one line. `true`, `yes`, `false` and `no` are booleans. Numbers and null are recognised. Lists `[1, 2]`,
/// mappings `{a: 1}` and quoted texts have YAML syntax. Everything else is text.
///
/// # Errors
/// Returns an error for a list, mapping or quoted text that is not valid YAML.
pub(crate) fn typed(text: &str) -> Result<Value, String> {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" => return Ok(Value::Bool(true)),
        "false" | "no" => return Ok(Value::Bool(false)),
        "null" | "~" => return Ok(Value::Null),
        _ => {}
    }
    if text.starts_with(['[', '{', '"', '\'']) {
        return read(text).map_err(|problem| format!("{} {}", quoted(text), problem.message));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Value::Number(number.into()));
    }
    // A seed can need all 64 bits, so whole numbers are parsed before other numbers.
    if let Ok(number) = text.parse::<u64>() {
        return Ok(Value::Number(number.into()));
    }
    Ok(match decimal(text).and_then(Number::from_f64) {
        Some(number) => Value::Number(number),
        None => Value::String(text.to_owned()),
    })
}

/// Parses a finite number as people write it, such as `1.5` or `1e3`. Returns `None` for `nan`, `inf` and hexadecimal numbers, which are text.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let numeric = text.bytes().all(|it| it.is_ascii_digit() || b"+-.eE".contains(&it));
    text.parse::<f64>().ok().filter(|it| numeric && it.is_finite())
}

/// Reports each `REPLACE_ENV_NAME` and `${NAME}` in a rendered profile, because no variable has replaced it.
pub(crate) fn report_unfilled(value: &Value, path: &str, findings: &Findings) {
    match value {
        Value::String(text) => {
            for name in unfilled(text, "REPLACE_ENV_", "") {
                findings.problem(
                    path,
                    format!("holds REPLACE_ENV_{name}, which has no value; set profile.variables.{name}"),
                );
            }
            for name in unfilled(text, "${", "}") {
                let advice =
                    format!("write the value, or {{{{ {} }}}} and set it in profile.variables", name.to_lowercase());
                findings
                    .problem(path, format!("holds ${{{name}}}, a shell variable, which is not filled in; {advice}"));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                report_unfilled(item, &format!("{path}[{index}]"), findings);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                report_unfilled(&Value::String(key.clone()), &child(path, "<key>"), findings);
                report_unfilled(item, &child(path, key), findings);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the path of an entry of a mapping.
pub(crate) fn child(path: &str, key: &str) -> String {
    let key = crate::problem::named(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

fn unfilled<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let word = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
    text.split(open)
        .skip(1)
        .filter_map(|rest| {
            let name = &rest[..rest.chars().take_while(word).count()];
            (!name.is_empty() && rest[name.len()..].starts_with(close)).then_some(name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_the_type_that_it_looks_like() {
        for (text, expected) in [
            ("yes", json!(true)),
            ("False", json!(false)),
            ("-3", json!(-3)),
            ("12.5", json!(12.5)),
            ("1e3", json!(1000.0)),
            ("nan", json!("nan")),
            ("inf", json!("inf")),
            ("0x10", json!("0x10")),
            ("~", json!(null)),
            ("", json!("")),
            ("[1, 2.5, x]", json!([1, 2.5, "x"])),
            ("{rate: 1}", json!({"rate": 1})),
            ("\"5\"", json!("5")),
            ("gpt-4 turbo", json!("gpt-4 turbo")),
        ] {
            assert_eq!(typed(text), Ok(expected), "{text}");
        }
        assert!(typed("[1, 2").unwrap_err().contains("close every bracket"));
    }

    fn check_error(text: &str, expected: &[&str]) {
        let problem = read(text).unwrap_err().to_string();
        for part in expected {
            assert!(problem.contains(part), "{problem} lacks {part}");
        }
    }

    #[test]
    fn a_syntax_error_has_its_line_and_its_text() {
        check_error("load:\n  type: a: b\n", &["line 2 column", "mapping values are not allowed", "\"type: a: b\""]);
        check_error("a: 1\na: 2\n", &["a: is given twice", "keep one"]);
        check_error("a: 1\n---\nb: 2\n", &["holds several documents"]);
        check_error("a: .nan", &["a: is .nan", "write a finite number"]);
        check_error("a: 010", &["a: is 010", "write 8"]);
    }

    #[test]
    fn a_syntax_error_does_not_repeat_a_credential() {
        let problem = read("server:\n  api_key: sk-123: x\n").unwrap_err().to_string();
        assert!(problem.contains("line 2") && !problem.contains("sk-123"), "{problem}");
    }

    #[test]
    fn aliases_cannot_make_a_profile_too_large() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..12 {
            let alias = format!("*a{},", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
        }
        check_error(&bomb, &["more than 50000 values", "write fewer values"]);
        check_error(&"[".repeat(100_000), &["at most 64 levels"]);
        check_error(&"a".repeat(MAX_TEXT_BYTES + 1), &["at most 262144 are read"]);
    }

    #[test]
    fn a_name_that_was_not_filled_is_a_problem() {
        let findings = Findings::default();
        let value = read("a: {b: [x/REPLACE_ENV_DIR/REPLACE_ENV_FILE]}\nc: ${N}\nd: $x ${} REPLACE_ENV_").unwrap();
        report_unfilled(&value, "", &findings);
        let lines: Vec<String> = findings.into_result().unwrap_err().problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "a.b[0]: holds REPLACE_ENV_DIR, which has no value; set profile.variables.DIR",
                "a.b[0]: holds REPLACE_ENV_FILE, which has no value; set profile.variables.FILE",
                "c: holds ${N}, a shell variable, which is not filled in; write the value, or {{ n }} and set it in profile.variables",
            ]
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "(yes|no|null|~|1e3|0x1|012|- a|a: b|# c|1:30|\\+1|on)".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z_~. ]{1,6}", inner, 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in value()) {
            let text = write(&value);
            prop_assert_eq!(read(&text).unwrap(), value, "{}", text);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}|[-a:\\[\\]{}&*!|> \n'\"#%@,?]{0,60}") {
            let _ = read(&text);
            let _ = typed(&text);
        }
    }
}
