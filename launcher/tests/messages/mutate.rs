//! Mutations of a tree of values. Each value is replaced by other values, and each key by misspelt forms.

use serde_json::{Value, json};

/// A tree in which one place was changed.
pub struct Mutation {
    /// The dotted path of the changed place.
    pub path: String,
    /// The new value. If a key was renamed, its new name.
    pub value: Value,
    /// The old path, if the key was renamed.
    pub renamed: Option<String>,
    /// The whole tree after the change.
    pub document: Value,
}

/// Returns every mutation of every place.
pub fn mutations(base: &Value) -> Vec<Mutation> {
    let mut found = Vec::new();
    let mut places = Vec::new();
    visit(base, &mut Vec::new(), &mut places);
    for place in places {
        let old = at(&mut base.clone(), &place).clone();
        for value in others(&old) {
            let mut document = base.clone();
            *at(&mut document, &place) = value.clone();
            found.push(Mutation { path: path(&place), value, renamed: None, document });
        }
        if let Some(Step::Key(key)) = place.last() {
            for name in [format!("{key}{}", &key[key.len() - 1..]), format!("x-{key}"), "Unheard Of".to_owned()] {
                let mut document = base.clone();
                let parent = at(&mut document, &place[..place.len() - 1]).as_object_mut().unwrap();
                let value = parent.shift_remove(key.as_str()).unwrap();
                parent.insert(name.clone(), value);
                let renamed = [&place[..place.len() - 1], &[Step::Key(name.clone())]].concat();
                let old = Some(path(&place));
                found.push(Mutation { path: path(&renamed), value: name.into(), renamed: old, document });
            }
        }
    }
    found
}

/// Returns other values for a place: values of every type, values out of every range, and nonsense.
fn others(old: &Value) -> Vec<Value> {
    let mut others = vec![
        json!("nonsense"),
        json!(""),
        json!("a 'b\" c: {d}\ne"),
        json!("y".repeat(5_000)),
        json!(-1),
        json!(7.25),
        json!(99_999_999_999_999_999_u64),
        json!(true),
        json!([]),
        json!([1, "two"]),
        json!({"foo": 1}),
    ];
    if let Some(entries) = old.as_object() {
        others.push(Value::Array(entries.values().cloned().collect()));
    }
    if old.is_string() {
        others.push(json!([old]));
    }
    others.retain(|it| it != old);
    others
}

#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn visit(value: &Value, place: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    if !place.is_empty() {
        places.push(place.clone());
    }
    let inner: Vec<(Step, &Value)> = match value {
        Value::Object(entries) => entries.iter().map(|(key, it)| (Step::Key(key.clone()), it)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, it)| (Step::Index(index), it)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        place.push(step);
        visit(value, place, places);
        place.pop();
    }
}

fn at<'a>(root: &'a mut Value, place: &[Step]) -> &'a mut Value {
    place.iter().fold(root, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}

fn path(place: &[Step]) -> String {
    place.iter().fold(String::new(), |path, step| match step {
        Step::Index(index) => format!("{path}[{index}]"),
        Step::Key(key) if path.is_empty() => named(key),
        Step::Key(key) => format!("{path}.{}", named(key)),
    })
}

/// A key that contains a blank is quoted.
fn named(key: &str) -> String {
    if key.contains(' ') { format!("{key:?}") } else { key.to_owned() }
}
