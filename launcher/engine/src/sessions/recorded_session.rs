//! A recorded session that is replayed. Pure.

use std::sync::Arc;

use workload_profiles::workload::{RecordedAnswers, RecordedSessions};

use crate::recorded::Session;

/// One of the recorded sessions, or a copy of one.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSession {
    all: Arc<Vec<Session>>,
    place: usize,
    empty: Arc<Session>,
    marker: Option<Arc<str>>,
    needs_answers: bool,
}

impl RecordedSession {
    /// `content`: which of the sessions and their copies it is. `number`: that of the session in its stage.
    pub(super) fn new(
        settings: &RecordedSessions,
        all: &Arc<Vec<Session>>,
        content: u64,
        number: u64,
    ) -> RecordedSession {
        let files = all.len().max(1) as u64;
        let is_marked = settings.unique || content >= files;
        RecordedSession {
            all: Arc::clone(all),
            place: usize::try_from(content % files).unwrap_or_default(),
            empty: Arc::default(),
            marker: is_marked.then(|| format!("{number:016x}").into()),
            needs_answers: settings.answers == RecordedAnswers::Server,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        self.all.get(self.place).unwrap_or(&self.empty)
    }

    /// The text before its first message; `None`: it begins as it was recorded.
    pub(crate) fn marker(&self) -> Option<&str> {
        self.marker.as_deref()
    }

    /// Whether later prompts hold the answers of this run.
    pub(crate) fn needs_answers(&self) -> bool {
        self.needs_answers
    }
}
