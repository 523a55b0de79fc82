//! Replays a recorded session. Pure.

use std::sync::Arc;

use crds::units::Seed;
use workload_profiles::workload::{RecordedAnswers, RecordedFormat, RecordedSessions};

use crate::{
    recorded::Session,
    requests::{BlockTexts, Texts},
};

/// A recorded session, or a copy of one.
#[derive(Clone, Debug)]
pub(crate) struct RecordedSession {
    all: Arc<Vec<Session>>,
    place: usize,
    empty: Arc<Session>,
    marker: Option<Arc<str>>,
    needs_answers: bool,
    block_texts: BlockTexts,
}

impl RecordedSession {
    /// `content` is the index among the sessions and their copies. `marker` is a seed that is unique to this session, even among other runs.
    pub(super) fn new(
        settings: &RecordedSessions,
        (all, block_texts): (&Arc<Vec<Session>>, BlockTexts),
        content: u64,
        marker: Seed,
    ) -> RecordedSession {
        let files = all.len().max(1) as u64;
        let is_marked = settings.unique || content >= files;
        RecordedSession {
            all: Arc::clone(all),
            place: usize::try_from(content % files).unwrap_or_default(),
            empty: Arc::default(),
            marker: is_marked.then(|| format!("{:016x}", marker.0).into()),
            // With a trace of blocks, the prompts already include the recorded answers.
            needs_answers: settings.answers == RecordedAnswers::Server
                && settings.format == RecordedFormat::OpenTelemetry,
            block_texts,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        self.all.get(self.place).unwrap_or(&self.empty)
    }

    /// Returns the text of a prompt that consists of these blocks. `number` is the number of the request in its session.
    pub(crate) fn block_text(
        &self,
        texts: &Texts,
        (stage, number): (usize, u64),
        hashes: &[u64],
        tokens: u32,
    ) -> String {
        let blocks = &self.session().blocks;
        let mut text = String::new();
        let writer = self.block_texts.of_recording(blocks.size, &blocks.scope);
        writer.write(texts, (stage, number), hashes, tokens, &mut text);
        text
    }

    /// Returns the text to put before the first message; `None` if the first message is sent as recorded.
    pub(crate) fn marker(&self) -> Option<&str> {
        self.marker.as_deref()
    }

    /// Whether later prompts contain the server's answers of this run.
    pub(crate) fn needs_answers(&self) -> bool {
        self.needs_answers
    }
}
