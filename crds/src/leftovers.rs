//! What processes of a managed server left when it was ended.

use serde::{Deserialize, Serialize};

use crate::wording::one_line;

/// What was left, and what became of it. All lists are empty where every process ended as it was asked to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leftovers {
    /// Processes that outlived the grace period after SIGTERM and were ended by SIGKILL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// Processes outside of the servers' process groups that they left behind, and that were ended too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Files of shared memory and semaphores that they left, and that were deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_shared_memory: Vec<String>,
    /// What is still there, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
}

impl Leftovers {
    /// What happened beyond the usual, in sentences. Empty: all ended as asked, and nothing was left.
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
