//! [I/O] The sleep mode of the simulated server, with vLLM's development endpoints. Each change takes the time that the options set, and frees no
//! memory.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::error::ApiError;
use super::options::SleepMode;
use super::server::Simulator;

/// The parts that are already awake, if a server is woken up part by part.
#[derive(Debug, Default)]
pub(super) struct WokenTags(Mutex<Vec<String>>);

/// The parts that can sleep, as vLLM names them.
const TAGS: [&str; 2] = ["weights", "kv_cache"];

impl Simulator {
    /// Handles `/sleep?level=1`. `query` is the text after the `?`.
    pub(super) async fn fall_asleep(&self, mode: SleepMode, query: &str) -> Result<String, ApiError> {
        let level = match values(query, "level").next() {
            None | Some("1") => 1,
            Some("2") => 2,
            Some(other) => {
                return Err(ApiError::bad(None, format!("level is {other}; the simulated server knows 1 and 2")));
            }
        };
        self.model.sleep(level);
        self.woken.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let took = take(mode.sleep).await;
        if let Some(log) = &self.log {
            log.fell_asleep(took);
        }
        Ok(format!(r#"{{"status":"sleeping","level":{level}}}"#))
    }

    /// Handles `/wake_up`, for all parts or for the parts in `tags`.
    pub(super) async fn wake(&self, mode: SleepMode, query: &str) -> Result<String, ApiError> {
        let tags: Vec<&str> = values(query, "tags").collect();
        if let Some(other) = tags.iter().find(|it| !TAGS.contains(it)) {
            return Err(ApiError::bad(
                None,
                format!("tags has {other}; the simulated server knows {}", TAGS.join(" and ")),
            ));
        }
        let asked: Vec<&str> = if tags.is_empty() { TAGS.to_vec() } else { tags.clone() };
        // Only waking up the weights takes time.
        let took = take(if asked.contains(&"weights") { mode.wake_up } else { Duration::ZERO }).await;
        let all = {
            let mut woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
            woken.extend(asked.iter().map(|it| (*it).to_owned()));
            TAGS.iter().all(|tag| woken.iter().any(|it| it == tag))
        };
        if all {
            self.model.wake_up();
        }
        if let Some(log) = &self.log {
            log.woke_up(took, &asked);
        }
        let tags = if tags.is_empty() { Value::Null } else { json!(tags) };
        Ok(format!(r#"{{"status":"awake","tags":{tags}}}"#))
    }

    /// Handles `/is_sleeping`.
    pub(super) fn is_sleeping(&self) -> String {
        json!({"is_sleeping": self.model.sleep_level() > 0}).to_string()
    }

    /// Handles `/collective_rpc`. Only the method that a sleep of level 2 needs is supported.
    pub(super) async fn collective_rpc(&self, mode: SleepMode, body: &Bytes) -> Result<String, ApiError> {
        let method = serde_json::from_slice::<Value>(body).ok().and_then(|it| it["method"].as_str().map(str::to_owned));
        match method.as_deref() {
            Some("reload_weights") => {
                take(mode.reload).await;
                Ok(json!({"results": [null]}).to_string())
            }
            _ => {
                let message = "the simulated server knows only the method reload_weights".to_owned();
                Err(ApiError { status: StatusCode::NOT_IMPLEMENTED, ..ApiError::bad(None, message) })
            }
        }
    }
}

/// Waits for `length`, and returns the measured time.
async fn take(length: Duration) -> Duration {
    let began = clock::monotonic();
    if !length.is_zero() {
        // The future never completes, so only the time limit ends this wait.
        let _ = clock::limit(length, std::future::pending::<()>()).await;
    }
    clock::monotonic().saturating_sub(began)
}

/// Returns the values of a key in a query. The values that are used here need no unescaping.
fn values<'a>(query: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    query.split('&').filter_map(|it| it.split_once('=')).filter(move |(name, _)| *name == key).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_several_values_of_a_key() {
        let found: Vec<&str> = values("tags=weights&level=1&tags=kv_cache&x", "tags").collect();
        assert_eq!(found, ["weights", "kv_cache"]);
        assert_eq!(values("", "level").next(), None);
    }
}
