//! Sessions in the standard report: `session_performance`. Only revision 0.2.1 has it, because the published schema of 0.2 has no place for sessions.

use serde_json::{Map, Value, json};

use super::values::{insert, seconds, statistics};
use analysis::SessionFigures;

/// Durations, turns and tokens cover only complete sessions. The total also counts sessions that the end of the stage cut short, and users who began
/// with a later turn.
pub(super) fn performance(of: &SessionFigures) -> Value {
    let mut sessions = Map::new();
    sessions.insert("total".into(), json!(of.sessions));
    sessions.insert("succeeded".into(), json!(of.complete));
    sessions.insert("failed".into(), json!(of.failed));
    insert(&mut sessions, "session_rate", of.per_second.map(|it| json!({"units": "queries/s", "mean": it})));
    insert(&mut sessions, "session_duration", of.duration.map(|it| statistics("s", &it.map(seconds))));
    insert(&mut sessions, "events_per_session", of.turns.map(|it| statistics("count", &it)));
    insert(&mut sessions, "input_tokens_per_session", of.input_tokens.map(|it| statistics("count", &it)));
    insert(&mut sessions, "output_tokens_per_session", of.output_tokens.map(|it| statistics("count", &it)));
    json!({"sessions": sessions})
}
