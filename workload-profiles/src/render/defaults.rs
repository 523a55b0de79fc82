//! The variables of a template and their defaults, for the list of profiles.

/// A variable that a user can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateVariable {
    /// The name.
    pub name: String,
    /// The default value as written in the template; `None` if the template only tests whether the variable is set, or requires it.
    pub default: Option<String>,
}

/// Returns the variables of a template, without the facts of the run, in the order of the template.
pub fn template_variables(template: &str) -> Vec<TemplateVariable> {
    let mut found: Vec<TemplateVariable> = Vec::new();
    for (start, _) in template.match_indices(['|', 'i']) {
        let (before, after) = template.split_at(start);
        let default = if let Some(filter) = after.strip_prefix('|') {
            let Some(value) = filter.trim_start().strip_prefix("default(value=") else { continue };
            closing(value).map(|end| value[..end].trim().trim_matches('"').to_owned())
        } else if ["is defined", "is undefined"].iter().any(|it| after.starts_with(it)) {
            None
        } else {
            continue;
        };
        let blanks = before.trim_end();
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let name = &blanks[blanks.rfind(|it| !is_name(it)).map_or(0, |at| at + 1)..];
        if name.is_empty() {
            continue;
        }
        match found.iter_mut().find(|it| it.name == name) {
            Some(known) => known.default = known.default.take().or(default),
            None => found.push(TemplateVariable { name: name.to_owned(), default }),
        }
    }
    found
}

/// Returns the position of the closing bracket that matches the opening bracket before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' | '[' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &[(&str, Option<&str>)]) {
        let found = template_variables(template);
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.default.as_deref())).collect();
        assert_eq!(found, expected, "{template}");
    }

    #[test]
    fn a_default_shows_the_variable() {
        check("rate: {{ rate | default(value=1) }}", &[("rate", Some("1"))]);
        check(
            "{{ a|default(value=[1, (2)]) // 2 }} {{ b | default(value=\"x\") }}",
            &[("a", Some("[1, (2)]")), ("b", Some("x"))],
        );
        check(
            "{{ at | default(value=d | default(value=9) | seconds / 3) }}",
            &[("at", Some("d | default(value=9) | seconds / 3")), ("d", Some("9"))],
        );
    }

    #[test]
    fn a_test_shows_the_variable_and_a_fact_is_none() {
        check("{% if file is defined %}{{ file }}{% endif %} {{ model }} this is definite", &[("file", None)]);
        check("{{ file | default(value=1) }}{% if file is undefined %}", &[("file", Some("1"))]);
        check("|", &[]);
    }
}
