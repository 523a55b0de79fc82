//! Sessions as the standard report has them: `session_performance`, of revision 0.2.1 alone, because the schema that 0.2 was
//! published with has no place for them.

use serde_json::{Map, Value, json};

use super::values::{insert, seconds, statistics};
use analysis::SessionFigures;

/// Durations, turns and tokens are those of complete sessions. Sessions that the end of the stage cut short, and users who began
/// with a later turn, are in the total alone.
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
