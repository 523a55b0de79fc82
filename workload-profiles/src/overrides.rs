//! Applies overrides such as `load.stages.0.rate=5` to the rendered profile.
//!
//! A path begins at the root, and dots separate its segments. A list element is addressed by its index, as a segment or in brackets:
//! `load.stages.0.rate` and `load.stages[0].rate` are the same, and `-1` is the last element. A key of one segment that is neither at the root nor
//! one of the format's root keys is set wherever the profile contains a key with exactly this name, as in older versions of llm-d-benchmark. (Those
//! versions also changed every key that only ends with the name.) A key can be written with hyphens or with underscores, unless the profile contains
//! both forms. If the profile is a command line, an override sets an option.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    formats::with_option,
    problem::{Findings, listed, named, quoted, suggestion},
    reader::described,
    yaml::{child, typed},
};

/// Maximum overrides per run; the CRD has the same bound.
const MAX_COUNT: usize = 64;
/// The longest value of an override, in bytes.
const MAX_VALUE_BYTES: usize = 8 * 1024;

/// A value that an override changed. Messages about the value then name the override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// The key as the user wrote it.
    pub key: String,
    /// The path of the changed value, such as `load.stages[0].rate`.
    pub path: String,
}

/// Applies all overrides, sorted by key. A wrong override adds a problem and changes nothing. `keys` are the root keys of the format, which an
/// override can add.
pub(crate) fn apply(
    root: &mut Value,
    overrides: &BTreeMap<String, String>,
    keys: &[&str],
    findings: &Findings,
) -> Vec<Applied> {
    let mut applied = Vec::new();
    if overrides.len() > MAX_COUNT {
        findings.problem(
            "profile.overrides",
            format!(
                "holds {} overrides; at most {MAX_COUNT} are allowed, write the profile inline instead",
                overrides.len()
            ),
        );
        return applied;
    }
    for (key, text) in overrides {
        if text.len() > MAX_VALUE_BYTES {
            let message = format!(
                "is {}, of {} bytes; at most {MAX_VALUE_BYTES} are allowed, shorten it",
                quoted(text),
                text.len()
            );
            findings.problem(format!("profile.overrides.{}", named(key)), message);
            continue;
        }
        // llm-d-benchmark separates overrides by commas, so its users write this word for a comma inside a value.
        let text = text.replace("REPLACE_COMMA", ",");
        let changed = match (&mut *root, typed(&text)) {
            (Value::String(line), _) => with_option(line, key, &text, keys).map(|changed| {
                *line = changed;
                vec![key.trim_start_matches('-').replace('_', "-")]
            }),
            (_, Ok(value)) => set(root, key, value, keys, findings),
            (_, Err(message)) => Err(format!("cannot be read: {message}")),
        };
        match changed {
            Ok(paths) => applied.extend(paths.into_iter().map(|path| Applied { key: key.clone(), path })),
            Err(message) => findings.problem(format!("profile.overrides.{}", named(key)), message),
        }
    }
    applied
}

/// Sets one value. Returns the paths of the changed values.
fn set(root: &mut Value, key: &str, value: Value, keys: &[&str], findings: &Findings) -> Result<Vec<String>, String> {
    let written = segments(key)?;
    let segments = as_in_profile(root, &written, keys);
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let (Some(entries), Some(first)) = (root.as_object_mut(), segments.first())
        && keys.contains(first)
        && !entries.contains_key(*first)
    {
        // Add an empty section. The override replaces it or sets a key in it.
        entries.insert((*first).to_owned(), Value::Object(Default::default()));
    }
    match (segments.as_slice(), root.as_object()) {
        ([only], Some(entries)) if !entries.contains_key(*only) => set_everywhere(root, only, &value, findings),
        _ => set_at(root, &segments, value).map(|path| vec![path]),
    }
}

/// Returns the segments with hyphens or underscores as the profile spells them. A key that the profile lacks is spelled as in `keys`.
fn as_in_profile(root: &Value, segments: &[&str], keys: &[&str]) -> Vec<String> {
    let plain = |name: &str| name.replace('-', "_");
    let mut at = Some(root);
    let mut names = Vec::with_capacity(segments.len());
    for (index, segment) in segments.iter().enumerate() {
        let name = match at {
            Some(Value::Object(entries)) if !entries.contains_key(*segment) => {
                let mut alike = entries.keys().filter(|it| plain(it) == plain(segment));
                let known =
                    || keys.iter().find(|it| index == 0 && plain(it) == plain(segment)).map(|it| (*it).to_owned());
                match (alike.next(), alike.next()) {
                    (Some(one), None) => one.clone(),
                    _ => known().unwrap_or_else(|| (*segment).to_owned()),
                }
            }
            _ => (*segment).to_owned(),
        };
        at = match at {
            Some(Value::Object(entries)) => entries.get(&name),
            Some(Value::Array(items)) => position(&name, items.len()).ok().and_then(|it| items.get(it)),
            _ => None,
        };
        names.push(name);
    }
    names
}

/// Splits a path into its segments: `a.b[0]` becomes `a`, `b`, `0`.
fn segments(key: &str) -> Result<Vec<&str>, String> {
    let mut segments = Vec::new();
    for part in key.split('.') {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !name.is_empty() || indices.is_empty() {
            segments.push(name);
        }
        let mut rest = indices;
        while let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after
                .split_once(']')
                .ok_or("has a bracket that is not closed; write a path such as load.stages[0].rate")?;
            segments.push(index);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(format!("has {} after a bracket; write a dot before it", quoted(rest)));
        }
    }
    match segments.iter().any(|it| it.is_empty()) {
        true => Err("has an empty part; write a path such as load.stages[0].rate".to_owned()),
        false => Ok(segments),
    }
}

fn set_at(root: &mut Value, segments: &[&str], value: Value) -> Result<String, String> {
    let mut at = root;
    let mut path = String::new();
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        match at {
            Value::Array(items) => {
                let position =
                    position(segment, items.len()).map_err(|message| format!("{}: {message}", place(&path)))?;
                path.push_str(&format!("[{position}]"));
                at = &mut items[position];
            }
            Value::Object(entries) if last => {
                path = child(&path, segment);
                entries.insert((*segment).to_owned(), value);
                return Ok(path);
            }
            Value::Object(entries) => {
                let known: Vec<String> = entries.keys().cloned().collect();
                at = entries.get_mut(*segment).ok_or_else(|| absent(&path, segment, &known))?;
                path = child(&path, segment);
            }
            other => {
                return Err(format!("{} is {}, which has no {} in it", place(&path), described(other), named(segment)));
            }
        }
    }
    *at = value;
    Ok(path)
}

fn position(segment: &str, length: usize) -> Result<usize, String> {
    let index: i64 = segment.parse().map_err(|_| format!("is a list; write a number for {}", quoted(segment)))?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let position = if index < 0 { index.saturating_add(length) } else { index };
    usize::try_from(position).ok().filter(|_| position < length).ok_or_else(|| match length {
        0 => format!("is an empty list, and has no element {index}; write the whole list, such as [1, 2]"),
        _ => format!("has no element {index}; write one from 0 to {}", length - 1),
    })
}

fn absent(path: &str, segment: &str, known: &[String]) -> String {
    let remedy = suggestion(segment, known.iter().map(String::as_str));
    format!("{} has no {}; {remedy}", place(path), named(segment))
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the profile" } else { path }
}

/// Sets every value with the name `key`, anywhere in the profile.
fn set_everywhere(root: &mut Value, key: &str, value: &Value, findings: &Findings) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    let mut names = Vec::new();
    visit(root, "", &mut |path, name, found| {
        names.push(name.to_owned());
        if name == key && !found.is_array() && !found.is_object() {
            *found = value.clone();
            paths.push(path.to_owned());
        }
    });
    if paths.is_empty() {
        names.sort_unstable();
        names.dedup();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let remedy = suggestion(key, known.iter().copied());
        return Err(format!("is not the name of a value in the profile; {remedy}; to add a key, write its whole path"));
    }
    let places: Vec<&str> = paths.iter().map(String::as_str).collect();
    let message = format!("has no path, and was set at every place of that name: {}", listed(&places));
    findings.notice(format!("profile.overrides.{}", named(key)), message);
    Ok(paths)
}

fn visit(value: &mut Value, path: &str, each: &mut impl FnMut(&str, &str, &mut Value)) {
    match value {
        Value::Object(entries) => {
            for (name, found) in entries.iter_mut() {
                let path = child(path, name);
                each(&path, name, found);
                visit(found, &path, each);
            }
        }
        Value::Array(items) => {
            for (index, found) in items.iter_mut().enumerate() {
                visit(found, &format!("{path}[{index}]"), each);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::yaml;

    const PROFILE: &str = "load: {type: constant, stages: [{rate: 1, duration: 30}, {rate: 2, duration: 30}]}\n\
                           data: {input_distribution: {min: 1, mean: 5}, output_distribution: {min: 2}, prompt_min: 7}\n";

    #[test]
    fn hyphens_and_underscores_are_alike() {
        let set = |profile: &str, key: &str| {
            let mut value = yaml::read(profile).unwrap();
            let findings = Findings::default();
            let overrides = [(key.to_owned(), "5".to_owned())].into();
            let applied = apply(&mut value, &overrides, &["num-prompts", "seed"], &findings);
            findings.into_result().unwrap();
            (applied[0].path.clone(), value)
        };
        let expected = ("num-prompts".to_owned(), yaml::read("num-prompts: 5").unwrap());
        assert_eq!(set("num-prompts: 1", "num_prompts"), expected);
        assert_eq!(set("{}", "num_prompts"), expected);
        assert_eq!(set("a: {b_c: 1}", "a.b-c"), ("a.b_c".to_owned(), yaml::read("a: {b_c: 5}").unwrap()));
        let line = set("'vllm bench serve --num-prompts 1'", "num_prompts");
        assert_eq!(line, ("num-prompts".to_owned(), Value::from("vllm bench serve --num-prompts 5")));
    }

    fn applied(overrides: &[&str]) -> (Value, Result<Vec<String>, String>) {
        let mut value = yaml::read(PROFILE).unwrap();
        let findings = Findings::default();
        let overrides = overrides.iter().map(|it| it.split_once('=').unwrap()).map(|(key, it)| (key.into(), it.into()));
        apply(&mut value, &overrides.collect(), &["api", "server"], &findings);
        let notices = findings.into_result().map(|it| it.iter().map(ToString::to_string).collect());
        (value, notices.map_err(|it| it.to_string()))
    }

    #[test]
    fn a_key_that_the_format_knows_at_the_root_may_be_added() {
        check(&["api=chat"], "/api", "chat".into());
        check(&["server.model=m"], "/server/model", "m".into());
    }

    fn check(overrides: &[&str], pointer: &str, expected: Value) {
        let (value, result) = applied(overrides);
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(value.pointer(pointer), Some(&expected), "{overrides:?}");
    }

    fn check_error(overrides: &[&str], expected: &str) {
        assert_eq!(applied(overrides).1, Err(expected.to_owned()));
    }

    #[test]
    fn a_path_leads_to_its_value() {
        check(&["load.stages.0.rate=5"], "/load/stages/0/rate", 5.into());
        check(&["load.stages[1].rate=2.5"], "/load/stages/1/rate", 2.5.into());
        check(&["load.stages.-1.rate=7"], "/load/stages/1/rate", 7.into());
        check(&["load.stages[-2].rate=7"], "/load/stages/0/rate", 7.into());
        check(&["load.type=poisson"], "/load/type", "poisson".into());
        check(&["load.num_workers=1"], "/load/num_workers", 1.into());
        check(&["load.stages=[{rate: 9, duration: 1}]", "load.stages.0.rate=8"], "/load/stages/0/rate", 8.into());
        check(&["load.stages[0]={rate: 9}"], "/load/stages/0", serde_json::json!({"rate": 9}));
        check(&["load.type=aREPLACE_COMMAb"], "/load/type", "a,b".into());
    }

    #[test]
    fn a_bare_key_reaches_every_value_of_that_name_and_no_other() {
        let (value, notices) = applied(&["min=20"]);
        assert_eq!(value["data"]["input_distribution"]["min"], 20);
        assert_eq!(value["data"]["output_distribution"]["min"], 20);
        assert_eq!(value["data"]["prompt_min"], 7);
        assert_eq!(
            notices.unwrap(),
            ["profile.overrides.min: has no path, and was set at every place of that name: \
              data.input_distribution.min and data.output_distribution.min"]
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_names_what_is_there() {
        check_error(
            &["load.stage.0.rate=5"],
            "profile.overrides.load.stage.0.rate: load has no stage; did you mean stages?",
        );
        check_error(&["lod.type=x"], "profile.overrides.lod.type: the profile has no lod; did you mean load?");
        check_error(
            &["load.stages.2.rate=5"],
            "profile.overrides.load.stages.2.rate: load.stages: has no element 2; write one from 0 to 1",
        );
        check_error(
            &["load.stages.-3.rate=5"],
            "profile.overrides.load.stages.-3.rate: load.stages: has no element -3; write one from 0 to 1",
        );
        check_error(
            &["load.stages.rate=5"],
            "profile.overrides.load.stages.rate: load.stages: is a list; write a number for \"rate\"",
        );
        check_error(
            &["load.type.x=5"],
            "profile.overrides.load.type.x: load.type is \"constant\", which has no x in it",
        );
        check_error(
            &["mim=5"],
            "profile.overrides.mim: is not the name of a value in the profile; did you mean min?; to add a key, write its whole path",
        );
        check_error(
            &["load..rate=5"],
            "profile.overrides.load..rate: has an empty part; write a path such as load.stages[0].rate",
        );
        check_error(
            &["load.stages[0=5"],
            "profile.overrides.load.stages[0: has a bracket that is not closed; write a path such as load.stages[0].rate",
        );
        check_error(
            &["load.stages[0]x=5"],
            "profile.overrides.load.stages[0]x: has \"x\" after a bracket; write a dot before it",
        );
    }

    #[test]
    fn every_wrong_override_is_reported() {
        let (_, result) = applied(&["a.b=1", "c.d=1", "load.type=[1"]);
        assert_eq!(result.unwrap_err().lines().count(), 3);
    }

    proptest! {
        #[test]
        fn any_override_is_applied_or_refused(key in "(load|stages|data|min|[-0-9\\.\\[\\]a-c\"ü]){0,8}", value in "\\PC{0,20}") {
            let original = yaml::read(PROFILE).unwrap();
            let (mut profile, findings) = (original.clone(), Findings::default());
            let applied = apply(&mut profile, &BTreeMap::from([(key, value)]), &[], &findings);
            prop_assert_eq!(applied.is_empty(), findings.has_problems());
            prop_assert!(!applied.is_empty() || profile == original, "a refused override changed the profile: {profile}");
        }
    }
}
