//! [I/O] The API server: its version, its clock, and the namespace.

use crds::units::Span;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::version::Info};
use kube::{Api, client::Body};

use super::finding::Finding;
use crate::{
    connection::Connection,
    failure::{code_of, unreachable},
};

pub(super) const SUBJECT: &str = "API server";
const CLOCK: &str = "clock";
const NAMESPACE: &str = "namespace";
/// The oldest supported minor version of Kubernetes 1.
const MIN_MINOR: u32 = 33;
/// Maximum difference between the clocks that is not reported. It covers the resolution of the `Date` header, one second, and the time of the
/// response.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(10);
const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";

pub(super) async fn check(connection: &Connection) -> Vec<Finding> {
    let request = http::Request::get("/version").body(Body::empty());
    let Ok(request) = request else { return Vec::new() };
    let before = Timestamp::now();
    let answer = match connection.client.send(request).await {
        Ok(answer) => answer,
        Err(error) => return vec![Finding::failed(SUBJECT, unreachable(&error))],
    };
    let middle = before + (Timestamp::now().duration_since(before) / 2);
    let (head, body) = answer.into_parts();
    if head.status == 401 {
        let text = "it does not know you (401); sign in again, or choose another --context";
        return vec![Finding::failed(SUBJECT, text)];
    }
    let body = body.collect_bytes().await.unwrap_or_default();
    let date = head.headers.get(http::header::DATE).and_then(|it| it.to_str().ok());
    vec![version(head.status.as_u16(), &body), clock(date, middle), namespace(connection).await]
}

fn version(status: u16, body: &[u8]) -> Finding {
    let Ok(info) = serde_json::from_slice::<Info>(body) else {
        return Finding::warning(SUBJECT, format!("it answers {status} without a version; check --context"));
    };
    // Some providers write the minor version as `33+`.
    let digits: String = info.minor.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u32>() {
        Ok(minor) if info.major == "1" && minor < MIN_MINOR => Finding::failed(
            SUBJECT,
            format!("Kubernetes {}, which is older than 1.{MIN_MINOR}; upgrade the cluster", info.git_version),
        ),
        _ => Finding::ok(SUBJECT, format!("Kubernetes {}", info.git_version)),
    }
}

fn clock(date: Option<&str>, now: Timestamp) -> Finding {
    let Some(theirs) = date.and_then(|it| rfc2822::parse(it).ok()) else {
        let text = "not checked, because the API server sends no time";
        return Finding { state: super::State::Unknown, subject: CLOCK, text: text.into() };
    };
    let ahead = now.duration_since(theirs.timestamp());
    // The `Date` header is truncated to whole seconds, so the expected difference is half a second.
    let skew = (ahead - SignedDuration::from_millis(500)).abs();
    if skew <= MAX_SKEW {
        return Finding::ok(CLOCK, "this machine and the API server differ by at most 10 s");
    }
    let direction = if ahead.is_positive() { "ahead of" } else { "behind" };
    let skew = Span(skew.unsigned_abs()).rounded();
    Finding::warning(
        CLOCK,
        format!(
            "this machine is {skew} {direction} the API server: times in logs cannot be compared; synchronize both with NTP"
        ),
    )
}

async fn namespace(connection: &Connection) -> Finding {
    let name = &connection.namespace;
    let namespaces: Api<Namespace> = Api::all(connection.client.clone());
    let found = match namespaces.get(name).await {
        Ok(found) => found,
        Err(error) if code_of(&error) == Some(404) => {
            return Finding::failed(NAMESPACE, format!("{name} does not exist; choose another with -n, or create it"));
        }
        Err(error) => return Finding::not_checked(NAMESPACE, &format!("get namespace {name}"), &error),
    };
    if found.metadata.deletion_timestamp.is_some() {
        return Finding::failed(NAMESPACE, format!("{name} is being deleted; choose another with -n"));
    }
    let level = found.metadata.labels.and_then(|it| it.get(POD_SECURITY).cloned());
    let level = level.unwrap_or_else(|| "as the cluster sets it".into());
    Finding::ok(NAMESPACE, format!("{name}, Pod Security {level}; launchers comply with restricted"))
}

#[cfg(test)]
mod tests {
    use super::{super::State, *};

    fn assert_version(minor: &str, state: State) {
        let body = format!(
            r#"{{"major":"1","minor":"{minor}","gitVersion":"v1.{minor}.2","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":""}}"#
        );
        assert_eq!(version(200, body.as_bytes()).state, state, "{minor}");
    }

    #[test]
    fn a_cluster_older_than_1_33_does_not_do() {
        for (minor, state) in
            [("32", State::Failed), ("9", State::Failed), ("33", State::Ok), ("33+", State::Ok), ("40", State::Ok)]
        {
            assert_version(minor, state);
        }
        assert_eq!(version(403, b"no").state, State::Warning);
    }

    #[test]
    fn a_clock_that_differs_is_named() {
        let date = "Mon, 23 Nov 2026 04:44:03 GMT";
        let at = |text: &str| clock(Some(date), text.parse().unwrap());
        assert_eq!(at("2026-11-23T04:44:03.9Z").state, State::Ok);
        assert_eq!(at("2026-11-23T04:43:54Z").state, State::Ok);
        let ahead = at("2026-11-23T04:46:03.5Z");
        assert!(ahead.state == State::Warning && ahead.text.contains("120s ahead of the API server"), "{ahead:?}");
        let behind = at("2026-11-23T04:43:33.5Z");
        assert!(behind.state == State::Warning && behind.text.contains("30s behind the API server"), "{behind:?}");
        assert_eq!(clock(None, Timestamp::UNIX_EPOCH).state, State::Unknown);
    }
}
