//! The cells of a sweep: all combinations of levels that are not filtered out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    fields,
    spec::{Factor, Selection},
};
use crate::{
    AnyValue,
    resolve::FieldError,
    wording::{cut, suggestion},
};

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The levels, one per factor, in the order of the factors.
    pub levels: Vec<String>,
    /// The name in tables and folders, such as `server=a,rate=10`.
    pub name: String,
    /// The positions of the levels, one per factor.
    pub(super) choice: Vec<usize>,
}

/// A factor whose levels have names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedFactor {
    pub(super) name: String,
    /// The levels: the name, and the fields that it sets.
    pub(super) levels: Vec<(String, BTreeMap<String, AnyValue>)>,
}

impl NamedFactor {
    /// Names the levels of a factor. `path`: the path of the factor.
    pub(super) fn new(factor: &Factor, path: &str, errors: &mut Vec<FieldError>) -> NamedFactor {
        let mut add =
            |field: &str, message: String| errors.push(FieldError { path: format!("{path}{field}"), message });
        let levels: Vec<(String, BTreeMap<String, AnyValue>)> = match &factor.field {
            Some(field) if factor.levels.is_empty() => {
                let named = |it: &AnyValue| (level_name(&it.text()), BTreeMap::from([(field.clone(), it.clone())]));
                factor.values.iter().map(named).collect()
            }
            None if factor.values.is_empty() => {
                factor.levels.iter().map(|it| (it.name.clone(), it.set.clone())).collect()
            }
            _ => {
                let message = "has values without field, or levels beside field; write field and values for a factor that varies one field, or \
                               levels for one that varies several";
                add("", message.to_owned());
                Vec::new()
            }
        };
        for (at, (name, _)) in levels.iter().enumerate() {
            if let Some(first) = levels[..at].iter().position(|it| it.0 == *name) {
                let field = if factor.levels.is_empty() { "values" } else { "levels" };
                let message =
                    format!("is called {name}, like level {first}; take one out, or write levels with different names");
                add(&format!(".{field}[{at}]"), message);
            }
        }
        NamedFactor { name: factor.name.clone(), levels }
    }

    fn has(&self, level: &str) -> bool {
        self.levels.iter().any(|it| it.0 == level)
    }
}

/// The name of a level for a value: the value, with every character that is unsafe in names of folders replaced by a dash.
fn level_name(value: &str) -> String {
    let value = value.trim();
    let safe = |it: char| if it.is_ascii_alphanumeric() || "._+".contains(it) { it } else { '-' };
    let name: String = value.chars().map(safe).take(63).collect();
    let name = name.trim_matches('-');
    let sign = if value.starts_with('-') { "-" } else { "" };
    if name.is_empty() { "empty".to_owned() } else { format!("{sign}{name}") }
}

/// Which levels a selection names, by factor. `path`: the path of the selection.
pub(super) fn selected(
    selection: &Selection,
    factors: &[NamedFactor],
    path: &str,
    errors: &mut Vec<FieldError>,
) -> BTreeMap<usize, String> {
    let mut found = BTreeMap::new();
    for (name, level) in selection {
        let Some(at) = factors.iter().position(|it| it.name == *name) else {
            let message = format!("is no factor; {}", suggestion(name, factors.iter().map(|it| it.name.as_str())));
            errors.push(FieldError { path: format!("{path}.{name}"), message });
            continue;
        };
        let level = level_name(&level.text());
        if factors[at].has(&level) {
            found.insert(at, level);
        } else {
            let known = factors[at].levels.iter().map(|it| it.0.as_str());
            let message = format!("is {level}, which is no level of {name}; {}", suggestion(&level, known));
            errors.push(FieldError { path: format!("{path}.{name}"), message });
        }
    }
    found
}

/// Whether a cell has all these levels.
pub(super) fn matches(levels: &[String], selection: &BTreeMap<usize, String>) -> bool {
    selection.iter().all(|(at, level)| levels[*at] == *level)
}

/// The number of combinations before the filters. Saturates.
pub(super) fn combinations(factors: &[NamedFactor]) -> usize {
    factors.iter().fold(1, |count, it| count.saturating_mul(it.levels.len()))
}

/// All combinations of levels. The last factor varies fastest. Call this only for a small number of [`combinations`].
pub(super) fn all(factors: &[NamedFactor]) -> Vec<Vec<usize>> {
    factors.iter().fold(vec![Vec::new()], |cells, factor| {
        let extended =
            |cell: Vec<usize>| (0..factor.levels.len()).map(move |level| cell.iter().copied().chain([level]).collect());
        cells.into_iter().flat_map(extended).collect()
    })
}

/// Creates the cell of a combination.
pub(super) fn cell(choice: Vec<usize>, factors: &[NamedFactor]) -> Cell {
    let levels: Vec<String> = factors.iter().zip(&choice).map(|(it, level)| it.levels[*level].0.clone()).collect();
    let name =
        factors.iter().zip(&levels).map(|(it, level)| format!("{}={level}", it.name)).collect::<Vec<_>>().join(",");
    Cell { levels, name, choice }
}

/// The fields that a cell sets, in the order of the factors: the position of the factor, the name of the level, and the field with its value.
pub(super) fn changes<'a>(
    cell: &'a Cell,
    factors: &'a [NamedFactor],
) -> impl Iterator<Item = (usize, &'a str, &'a str, &'a AnyValue)> {
    let chosen = factors.iter().zip(&cell.choice).map(|(factor, level)| &factor.levels[*level]).enumerate();
    chosen
        .flat_map(|(at, (name, set))| set.iter().map(move |(field, value)| (at, name.as_str(), field.as_str(), value)))
}

/// Builds the spec of a cell's runs: the template with the fields of the levels. A field that cannot be set is an error of its level. It is added to
/// `errors` once.
pub(super) fn spec(cell: &Cell, factors: &[NamedFactor], template: &Value, errors: &mut Vec<FieldError>) -> Value {
    let mut spec = template.clone();
    for (at, name, field, value) in changes(cell, factors) {
        if let Err(message) = fields::set(&mut spec, field, value.0.clone()) {
            let error = FieldError {
                path: format!("spec.factors[{at}]"),
                message: format!("level {name}: {} {message}", cut(field)),
            };
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    spec
}
