//! How often requests may be sent again before the report mentions it. Pure.

/// How many of a stage's requests may be sent again: three, or one in a hundred if that is more. The race between a request and a closing
/// keep-alive connection cannot explain more resends.
pub fn explained_resends(requests: u64) -> u64 {
    (requests / 100).max(3)
}
