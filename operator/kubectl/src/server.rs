//! Describes the server that the operator started for a run.

use std::time::Duration;

use crds::{ServerStatus, units::Span, wording::one_line};
use jiff::Timestamp;

/// One line each: the name, the progress, the start time and the last failure of the server.
pub(crate) fn text(server: &ServerStatus) -> String {
    let ready = format!("{} of {} replicas ready", server.ready_replicas, server.replicas);
    let mut head = format!("server {}: ", one_line(&server.name));
    head += &match (server.gone_time, server.stop_time) {
        (Some(gone), _) => format!("removed at {gone}"),
        (None, Some(stopped)) => format!("{ready}, being removed since {stopped}"),
        (None, None) => ready,
    };
    if server.restarts > 0 {
        head += &format!(", restarted {} times", server.restarts);
    }
    let mut since = format!("started at {}", server.start_time);
    since += &match (server.ready_time, server.gone_time.or(server.stop_time)) {
        (Some(ready), _) => format!(", ready {} after that", time_between(server.start_time, ready)),
        (None, Some(_)) => ", never ready".to_owned(),
        (None, None) => ", not ready yet".to_owned(),
    };
    let mut lines = vec![head, format!("  {since}")];
    if !server.last_failure.is_empty() {
        lines.push(format!("  last failure: {}", one_line(&server.last_failure)));
    }
    lines.join("\n")
}

fn time_between(start: Timestamp, end: Timestamp) -> Span {
    Span(Duration::try_from(end.duration_since(start)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    #[track_caller]
    fn assert_text(change: impl FnOnce(&mut ServerStatus), expected: &str) {
        let mut server = ServerStatus::new("chat-1-server".into(), 2, at(0));
        change(&mut server);
        assert_eq!(text(&server), expected);
    }

    #[test]
    fn a_server_is_told_by_its_state() {
        assert_text(
            |it| it.ready_replicas = 1,
            "server chat-1-server: 1 of 2 replicas ready\n  started at 2026-01-01T00:00:00Z, not ready yet",
        );
        assert_text(
            |it| (it.ready_replicas, it.ready_time, it.restarts) = (2, Some(at(41)), 3),
            "server chat-1-server: 2 of 2 replicas ready, restarted 3 times\n  started at 2026-01-01T00:00:00Z, ready 41s after that",
        );
        assert_text(
            |it| {
                (it.stop_time, it.last_failure) =
                    (Some(at(9)), "ended with exit code 1; its last output:\nboom".into());
            },
            "server chat-1-server: 0 of 2 replicas ready, being removed since 2026-01-01T00:00:09Z\n  \
             started at 2026-01-01T00:00:00Z, never ready\n  last failure: ended with exit code 1; its last output: boom",
        );
        assert_text(
            |it| (it.ready_time, it.stop_time, it.gone_time) = (Some(at(5)), Some(at(9)), Some(at(12))),
            "server chat-1-server: removed at 2026-01-01T00:00:12Z\n  started at 2026-01-01T00:00:00Z, ready 5s after that",
        );
    }
}
