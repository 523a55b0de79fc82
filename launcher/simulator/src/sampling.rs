//! The sampling fields of a request: bounds as in vLLM, stops, log probabilities. Pure.

use serde_json::{Map, Value};

use super::answer::StopRules;
use super::api::Endpoint;
use super::error::ApiError;
use super::text;
use super::validation::{flag, integer, number, python_text};

/// vLLM's default for `--max-logprobs`.
const MAX_LOG_PROBABILITIES: i64 = 20;

/// Maximum number of stop strings, as in vLLM.
const MAX_STOPS: usize = 4;

/// Checks the sampling parameters that have bounds. Their values have no effect on the answer.
pub fn check(body: &Map<String, Value>) -> Result<(), ApiError> {
    for name in ["presence_penalty", "frequency_penalty"] {
        if let Some(penalty) = number(body, name)?.filter(|it| !(-2.0..=2.0).contains(it)) {
            return Err(ApiError::bad(None, format!("{name} must be in [-2, 2], got {penalty:?}.")));
        }
    }
    if let Some(penalty) = number(body, "repetition_penalty")?.filter(|it| *it <= 0.0) {
        return Err(ApiError::bad(None, format!("repetition_penalty must be greater than zero, got {penalty:?}.")));
    }
    if let Some(temperature) = number(body, "temperature")?.filter(|it| !(0.0..=2.0).contains(it)) {
        let wanted = if temperature < 0.0 { "non-negative" } else { "in [0, 2]" };
        let text = format!("temperature must be {wanted}, got {temperature:?}.");
        return Err(ApiError::value("temperature", format!("{temperature:?}"), text));
    }
    if let Some(top_p) = number(body, "top_p")?.filter(|it| !(*it > 0.0 && *it <= 1.0)) {
        let text = format!("top_p must be in (0, 1], got {top_p:?}.");
        return Err(ApiError::value("top_p", format!("{top_p:?}"), text));
    }
    if let Some(top_k) = integer(body, "top_k")?.filter(|it| *it < -1) {
        return Err(ApiError::bad(None, format!("top_k must be 0 (disable), or at least 1, got {top_k}.")));
    }
    if let Some(min_p) = number(body, "min_p")?.filter(|it| !(0.0..=1.0).contains(it)) {
        return Err(ApiError::bad(None, format!("min_p must be in [0, 1], got {min_p:?}.")));
    }
    Ok(())
}

/// Reads what ends an answer before its maximum length.
pub fn stops(body: &Map<String, Value>) -> Result<StopRules, ApiError> {
    let wrong = |loc: &str, kind, text, value: &Value| ApiError::schema(kind, loc, text, &python_text(value));
    let mut rules = StopRules {
        include: flag(body, "body", "include_stop_str_in_output")?.unwrap_or(false),
        ..StopRules::default()
    };
    match body.get("stop") {
        None | Some(Value::Null) => {}
        Some(Value::String(stop)) => rules.strings.push(stop.clone()),
        Some(Value::Array(stops)) if stops.len() > MAX_STOPS => {
            let text = format!("List should have at most {MAX_STOPS} items after validation, not {}", stops.len());
            return Err(ApiError::schema("too_long", "body.stop", &text, &python_text(&body["stop"])));
        }
        Some(Value::Array(stops)) => {
            for (index, stop) in stops.iter().enumerate() {
                let Some(stop) = stop.as_str() else {
                    let loc = format!("body.stop.{index}");
                    return Err(wrong(&loc, "string_type", "Input should be a valid string", stop));
                };
                rules.strings.push(stop.to_owned());
            }
        }
        Some(other) => return Err(wrong("body.stop", "string_type", "Input should be a valid string", other)),
    }
    if rules.strings.iter().any(String::is_empty) {
        return Err(ApiError::bad(None, "stop cannot contain an empty string."));
    }
    match body.get("stop_token_ids") {
        None | Some(Value::Null) => {}
        Some(Value::Array(ids)) => {
            for (index, id) in ids.iter().enumerate() {
                let Some(id) = id.as_u64() else {
                    let loc = format!("body.stop_token_ids.{index}");
                    return Err(wrong(&loc, "int_type", "Input should be a valid integer", id));
                };
                // A token id that does not exist never occurs, so it is ignored.
                rules.token_ids.extend(u32::try_from(id));
            }
        }
        Some(other) => return Err(wrong("body.stop_token_ids", "list_type", "Input should be a valid list", other)),
    }
    Ok(rules)
}

/// The number of log probabilities that a request requires.
pub struct Logprobs(Option<i64>);

impl Logprobs {
    /// Reads the number from the request.
    pub fn read(endpoint: Endpoint, body: &Map<String, Value>) -> Result<Self, ApiError> {
        let top = integer(body, "top_logprobs")?;
        let wanted = match endpoint {
            Endpoint::Chat => flag(body, "body", "logprobs")?.unwrap_or(false).then(|| top.unwrap_or(0)),
            Endpoint::Completions => integer(body, "logprobs")?,
        };
        if let Some(top) = top.filter(|_| endpoint == Endpoint::Chat) {
            if top < -1 {
                let text = "`top_logprobs` must be a positive value or -1.";
                return Err(ApiError::value("top_logprobs", top, text));
            }
            if top != 0 && wanted.is_none() {
                let text = "when using `top_logprobs`, `logprobs` must be set to true.";
                return Err(ApiError::parameter("top_logprobs", text));
            }
        }
        if let Some(wanted) = wanted.filter(|it| *it < -1) {
            return Err(ApiError::value("logprobs", wanted, "`logprobs` must be a positive value or -1."));
        }
        Ok(Logprobs(wanted))
    }

    /// Returns the number of log probabilities, or an error if it is out of range.
    pub fn checked(self) -> Result<Option<u32>, ApiError> {
        match self.0 {
            // A negative number requests the whole vocabulary, which the simulator does not support.
            Some(count) if !(0..=MAX_LOG_PROBABILITIES).contains(&count) => {
                let asked = if count < 0 { i64::try_from(text::VOCABULARY).unwrap_or(i64::MAX) } else { count };
                let text = format!(
                    "Requested sample logprobs of {asked}, which is greater than max allowed: {MAX_LOG_PROBABILITIES}"
                );
                Err(ApiError::value("logprobs", asked, text))
            }
            count => Ok(count.and_then(|it| u32::try_from(it).ok())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_out_of_its_bounds_is_refused_in_the_words_of_vllm() {
        for (body, expected) in [
            (json!({"presence_penalty": 3}), "presence_penalty must be in [-2, 2], got 3.0."),
            (json!({"frequency_penalty": -2.5}), "frequency_penalty must be in [-2, 2], got -2.5."),
            (json!({"repetition_penalty": 0}), "repetition_penalty must be greater than zero, got 0.0."),
            (json!({"temperature": 2.5}), "temperature must be in [0, 2], got 2.5. (parameter=temperature, value=2.5)"),
            (
                json!({"temperature": -1}),
                "temperature must be non-negative, got -1.0. (parameter=temperature, value=-1.0)",
            ),
            (json!({"top_p": 0}), "top_p must be in (0, 1], got 0.0. (parameter=top_p, value=0.0)"),
            (json!({"top_k": -2}), "top_k must be 0 (disable), or at least 1, got -2."),
            (json!({"min_p": 1.5}), "min_p must be in [0, 1], got 1.5."),
        ] {
            let error = check(body.as_object().unwrap()).unwrap_err();
            assert_eq!((error.status.as_u16(), error.message.as_str()), (400, expected));
        }
        let body = json!({
            "presence_penalty": -2, "frequency_penalty": 2.0, "repetition_penalty": 1.1, "temperature": 2, "top_p": 1,
            "top_k": -1, "min_p": 0, "seed": null,
        });
        check(body.as_object().unwrap()).unwrap();
    }
}
