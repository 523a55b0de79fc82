//! What the processes of a managed server left behind when it was stopped.

use serde::{Deserialize, Serialize};

use crate::wording::one_line;

/// What was left behind, and how it was removed. All lists are empty if every process ended on request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leftovers {
    /// Processes that outlived the grace period after SIGTERM and were ended by SIGKILL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// Processes that left their server's process group, and that were killed as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Shared memory files and semaphores that the processes left, and that were deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_shared_memory: Vec<String>,
    /// What could not be removed, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
}

impl Leftovers {
    /// One sentence per unusual event. Empty: all processes ended on request and left nothing.
    pub fn notes(&self) -> Vec<String> {
        let all = |it: &[String]| one_line(&it.join(", "));
        let mut notes = Vec::new();
        if !self.killed.is_empty() {
            notes.push(format!("SIGTERM did not end these processes, and SIGKILL did: {}", all(&self.killed)));
        }
        if !self.left_behind.is_empty() {
            notes.push(format!("it left processes outside of its group, which were ended: {}", all(&self.left_behind)));
        }
        if !self.deleted_shared_memory.is_empty() {
            notes.push(format!("it left shared memory, which was deleted: {}", all(&self.deleted_shared_memory)));
        }
        if !self.remains.is_empty() {
            notes.push(format!("this could not be removed, look after it: {}", all(&self.remains)));
        }
        notes
    }
}
