//! Leftovers of a managed server: processes and files that remained when the server was stopped.

use serde::{Deserialize, Serialize};

use crate::wording::one_line;

/// What remained after the stop, and how it was removed. All lists are empty if every process ended on request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leftovers {
    /// Processes that still ran when the grace period after SIGTERM had passed, and that SIGKILL ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// Processes that had left their server's process group, and that were killed as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Shared memory files and semaphores that the processes did not remove, and that were deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_shared_memory: Vec<String>,
    /// Descriptions of what could not be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
}

impl Leftovers {
    /// One sentence per unusual event. Empty: all processes ended on request and left nothing.
    pub fn notes(&self) -> Vec<String> {
        let all = |it: &[String]| one_line(&it.join(", "));
        let mut notes = Vec::new();
        if !self.killed.is_empty() {
            notes.push(format!("these processes ignored SIGTERM, so SIGKILL ended them: {}", all(&self.killed)));
        }
        if !self.left_behind.is_empty() {
            notes.push(format!(
                "the server left processes outside its process group, which were ended: {}",
                all(&self.left_behind)
            ));
        }
        if !self.deleted_shared_memory.is_empty() {
            notes.push(format!(
                "the server left shared memory, which was deleted: {}",
                all(&self.deleted_shared_memory)
            ));
        }
        if !self.remains.is_empty() {
            notes.push(format!("these could not be removed; remove them yourself: {}", all(&self.remains)));
        }
        notes
    }
}
