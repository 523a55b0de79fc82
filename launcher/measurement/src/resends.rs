//! How many requests can be sent again before the report mentions it. Pure.

/// Returns how many requests of a stage can be sent again: three, or one in a hundred if that is more. More resends cannot be explained by the race
/// between a request and a closing keep-alive connection.
pub fn explained_resends(requests: u64) -> u64 {
    (requests / 100).max(3)
}
