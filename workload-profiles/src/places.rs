//! Describes where the problems of a profile are, without quoting the profile. The description is for people who may not read the profile, such as
//! readers of a run's status.

use std::collections::HashSet;

use crds::benchmark_run::Harness;

use crate::{
    problem::ProfileError,
    shipped::{shipped, shipped_names},
};

/// Maximum number of positions that are listed.
const MAX_PLACES: usize = 8;
/// Maximum digits of an index or of a line number.
const MAX_DIGITS: usize = 6;
/// Words that appear in positions such as `line 3 column 5`. They are not from the profile.
const POSITION: [&str; 5] = ["profile", "template", "line", "lines", "column"];

impl ProfileError {
    /// Returns the number of problems and their paths or positions, such as `2 problems, at load.stages[0].rate and line 3 column 5`. Words that do
    /// not occur in the shipped profiles are the author's own. They are shown as three dots.
    pub fn places(&self) -> String {
        let known = known_words();
        let mut places: Vec<String> = Vec::new();
        for problem in &self.problems {
            let place = shown(&problem.path, &known);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let count = match self.problems.len() {
            1 => "1 problem".to_owned(),
            count => format!("{count} problems"),
        };
        let more = places.len().saturating_sub(MAX_PLACES);
        places.truncate(MAX_PLACES);
        let more = if more > 0 { format!(", and {more} more places") } else { String::new() };
        format!("{count}, at {}{more}", places.join(", "))
    }
}

/// Returns the words of the shipped profiles, which everybody can read.
fn known_words() -> HashSet<&'static str> {
    let harnesses = Harness::ALL.into_iter();
    let texts = harnesses.flat_map(|it| shipped_names(it).into_iter().filter_map(move |name| shipped(it, name).ok()));
    texts.flat_map(|it| it.split(|it| !is_word(it))).chain(POSITION).collect()
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Returns a path with its known words, indexes and punctuation. Each other word becomes three dots.
fn shown(path: &str, known: &HashSet<&'static str>) -> String {
    const HIDDEN: &str = "...";
    let mut text = String::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|it| is_word(it) != is_word(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(length);
        let is_number = part.len() <= MAX_DIGITS && part.bytes().all(|it| it.is_ascii_digit());
        let is_position = is_number && text.ends_with(['[', ' ']);
        let is_punctuation = part.chars().all(|it| ".,[] ".contains(it));
        let is_known = is_position || is_punctuation || (known.contains(part) && !is_number);
        match is_known {
            true => text.push_str(part),
            false if text.ends_with(HIDDEN) => {}
            false => text.push_str(HIDDEN),
        }
        rest = after;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::{prepare, variables, variables::tests::run};

    fn places(template: &str) -> String {
        let run = run("m");
        let variables = variables(&run, &BTreeMap::new()).unwrap();
        prepare(&run, template, &variables, &BTreeMap::new()).unwrap_err().places()
    }

    #[test]
    fn a_path_is_shown_and_no_text_of_the_author() {
        for (template, wanted) in [
            ("load: {type: constant, stages: [{rate: hunter2, duration: 1}]}", "load.stages[0].rate"),
            ("load:\n  type: a: b hunter2\n", "profile, line 2 column"),
            ("{% for %}\nhunter2", "template, line"),
        ] {
            let text = places(template);
            assert!(text.contains(wanted) && !text.contains("hunter2"), "{template}: {text}");
        }
    }

    #[test]
    fn a_secret_in_any_place_of_a_text_is_not_shown() {
        const SECRET: &str = "hunter2-s3cr3t";
        for template in [
            "SECRET",
            "password: SECRET",
            "SECRET: 1",
            "\"SECRET\": 1",
            "load: {SECRET: 1}",
            "load: {type: SECRET}",
            "load: {stages: [{rate: SECRET}]}",
            "data: SECRET",
            "data: {type: random, SECRET: {SECRET: .nan}}",
            "SECRET: 1\nSECRET: 2",
            "load: {SECRET: 010}",
            "- SECRET",
            "a: b: SECRET",
            "{{ SECRET }}",
            "{{ model | SECRET }}",
            "{% if SECRET %}",
            "{% SECRET %}",
            "key: REPLACE_ENV_SECRET",
            "key: ${SECRET}",
            "user:SECRET@host\n\tx: 1",
            "[SECRET",
            "python -m SECRET --password SECRET",
        ] {
            let text = places(&template.replace("SECRET", SECRET)).to_lowercase();
            assert!(!text.contains("hunter2") && !text.contains("s3cr3t"), "{template}: {text}");
        }
        let numbers = places("12345678: 1\n4711: {987654321: 2}");
        assert!(!numbers.contains("4711") && !numbers.contains("1234") && !numbers.contains("9876"), "{numbers}");
    }
}
