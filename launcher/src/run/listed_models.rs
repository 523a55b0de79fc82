//! Messages about the models that a server lists. Pure.

use crds::wording::one_line;

/// Maximum number of models in a message.
const MAX_LISTED: usize = 10;
/// Maximum number of characters in a model id that are shown and compared. The server chooses the id, so it can be long.
const MAX_CHARS: usize = 80;

/// The message for a server that does not list the wanted model.
pub(super) fn unknown(model: &str, served: &[String]) -> String {
    let near = near(model, served).map(|it| format!("; did you mean {}?", shown(it))).unwrap_or_default();
    format!("target.model is {}, but the server lists {}{near}", shown(model), listed(served))
}

/// The message for the status about a server that does not list the wanted model. It contains no text from the server.
pub(super) fn unknown_in_status(model: &str, served: usize) -> String {
    let models = if served == 1 { "another model" } else { "other models" };
    format!("target.model is {}, but the server lists {models}: the launcher's log names them", shown(model))
}

/// Lists the models: `a, b, c and 4 more`.
pub(super) fn listed(served: &[String]) -> String {
    let names: Vec<String> = served.iter().take(MAX_LISTED).map(|it| shown(it)).collect();
    let more = match served.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}

fn shown(id: &str) -> String {
    one_line(id).chars().take(MAX_CHARS).collect()
}

/// The model that the user probably meant: its name differs in a few letters, or has a prefix or suffix.
fn near<'a>(model: &str, served: &'a [String]) -> Option<&'a str> {
    let wanted = shown(model).to_lowercase();
    let distances = served.iter().filter(|id| !id.is_empty()).map(|id| {
        let found = shown(id).to_lowercase();
        let within = found.contains(&wanted) || wanted.contains(&found);
        let distance = strsim::osa_distance(last(&wanted), last(&found));
        (if within { 0 } else { distance }, id.as_str())
    });
    // At most a third of the characters can differ.
    let allowed = last(&wanted).chars().count() / 3;
    distances.filter(|(distance, _)| *distance <= allowed).min().map(|(_, id)| id)
}

/// The part of a name after the organisation.
fn last(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, served: &[&str], expected: &str) {
        let served: Vec<String> = served.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(unknown(model, &served), expected);
    }

    #[test]
    fn a_model_that_is_not_served_gets_the_list_and_the_near_name() {
        check(
            "Llama-3.1-8B-Instruct",
            &["org/other", "meta-llama/Llama-3.1-8B-Instruct"],
            "target.model is Llama-3.1-8B-Instruct, but the server lists org/other, meta-llama/Llama-3.1-8B-Instruct; did \
             you mean meta-llama/Llama-3.1-8B-Instruct?",
        );
        check("sim-8c", &["sim-8b"], "target.model is sim-8c, but the server lists sim-8b; did you mean sim-8b?");
        check(
            "x/modle-8b",
            &["org/model-8b"],
            "target.model is x/modle-8b, but the server lists org/model-8b; did you mean org/model-8b?",
        );
        check("gpt", &["sim-8b"], "target.model is gpt, but the server lists sim-8b");
        check("x", &["a\u{1b}[1mb", ""], "target.model is x, but the server lists a [1mb, ");
    }

    #[test]
    fn a_long_list_is_cut() {
        let served: Vec<String> = (0..12).map(|it| format!("m{it}")).collect();
        assert!(listed(&served).ends_with("m8, m9 and 2 more"));
    }
}
