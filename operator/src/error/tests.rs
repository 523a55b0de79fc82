use kube::core::Status;
use serde_json::json;

use super::*;

fn refused(code: u16, message: &str) -> Option<Refused> {
    Error::Refused { kind: "Job".into(), name: "chat-a1".into(), code, message: message.into() }.refusal()
}

#[test]
fn an_object_is_wrong_for_good_unless_a_webhook_a_policy_or_a_quota_denies_it() {
    let invalid = "Job.batch \"chat-a1\" is invalid: spec.template.labels: Invalid value";
    let cases = [
        (422, invalid, true),
        (400, "strict decoding error: unknown field \"spec.x\"", true),
        (403, "exceeded quota: pods, requested: pods=1, used: pods=0, limited: pods=0", false),
        (400, "admission webhook \"a.example.com\" denied the request: no", false),
        (403, "admission webhook \"a.example.com\" denied the request: no", false),
        (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no", false),
    ];
    for (code, message, for_good) in cases {
        let refused = refused(code, message).unwrap();
        assert_eq!(refused.for_good, for_good, "{code} {message}");
        assert!(refused.message.ends_with(message), "{}", refused.message);
    }
    assert_eq!(Error::Outdated.refusal(), None);
}

#[test]
fn the_wait_that_the_api_server_asks_for_is_read() {
    let busy = |seconds: u32| {
        let status = json!({
            "status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "too many requests",
            "details": {"retryAfterSeconds": seconds},
        });
        Error::Api(kube::Error::Api(serde_json::from_value::<Status>(status).unwrap().boxed()))
    };
    assert_eq!(busy(7).retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(busy(0).retry_after(), None);
    assert_eq!(Error::Outdated.retry_after(), None);
}
