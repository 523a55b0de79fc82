//! Parses the log probabilities of a choice's first token, in the formats of completions and chats. Some servers use the chat format for
//! both.

use serde_json::Value;

/// Returns the most probable tokens at the first position, and the chosen token, each with its log probability. Values that are not numbers
/// are skipped. A token that occurs twice is returned once.
pub(super) fn of_first(logprobs: &Value) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    let mut add = |token: &Value, logprob: &Value| {
        if let (Some(token), Some(logprob)) = (token.as_str(), logprob.as_f64())
            && !all.iter().any(|(other, it)| other == token && *it == logprob)
        {
            all.push((token.to_owned(), logprob));
        }
    };
    let entry = |it: &Value, add: &mut dyn FnMut(&Value, &Value)| add(&it["token"], &it["logprob"]);
    if let Some(first) = logprobs["content"].get(0) {
        first["top_logprobs"].as_array().into_iter().flatten().for_each(|it| entry(it, &mut add));
        entry(first, &mut add);
    } else {
        let top = logprobs["top_logprobs"].get(0).and_then(Value::as_object);
        top.into_iter().flatten().for_each(|(token, it)| add(&Value::String(token.clone()), it));
        add(&logprobs["tokens"][0], &logprobs["token_logprobs"][0]);
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(logprobs: &Value, expected: &[(&str, f64)]) {
        let expected: Vec<_> = expected.iter().map(|(token, it)| ((*token).to_owned(), *it)).collect();
        assert_eq!(of_first(logprobs), expected, "{logprobs}");
    }

    #[test]
    fn completions_have_a_mapping_for_each_token() {
        let logprobs = json!({"tokens": [" A", "."], "token_logprobs": [-0.1, -1.0], "text_offset": [0, 2],
            "top_logprobs": [{" A": -0.1, " B": -3}, {".": -1.0}]});
        check(&logprobs, &[(" A", -0.1), (" B", -3.0)]);
        check(
            &json!({"tokens": ["x"], "token_logprobs": [-7.5], "top_logprobs": [{"A": -1}]}),
            &[("A", -1.0), ("x", -7.5)],
        );
        check(&json!({"tokens": ["x"], "token_logprobs": [-7.5], "top_logprobs": null}), &[("x", -7.5)]);
    }

    #[test]
    fn chats_have_a_list_for_each_token() {
        let top = json!([{"token": "A", "logprob": -0.5, "bytes": [65]}, {"token": "B", "logprob": -1}]);
        check(
            &json!({"content": [{"token": "A", "logprob": -0.5, "top_logprobs": top}, {"token": "."}]}),
            &[("A", -0.5), ("B", -1.0)],
        );
        check(&json!({"content": [{"token": "C", "logprob": -0.5, "top_logprobs": []}]}), &[("C", -0.5)]);
    }

    #[test]
    fn what_is_none_is_left_out() {
        for none in [
            json!(null),
            json!(5),
            json!({}),
            json!({"content": []}),
            json!({"content": null, "refusal": null}),
            json!({"top_logprobs": [{"A": null, "B": "x"}], "tokens": [5], "token_logprobs": [1]}),
            json!({"tokens": []}),
        ] {
            check(&none, &[]);
        }
    }
}
