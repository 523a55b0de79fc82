//! Sessions: the content of their requests, and what each request waits for. Pure.
//!
//! A session is a chain of turns ([`Chain`]), or a graph of recorded requests ([`RecordedSession`]). The texts of a turn are drawn or read
//! only when the turn is generated, so memory holds only the history of the sessions in flight. The server's answers in this run become
//! part of the next prompt.

mod chain;
mod chain_texts;
mod conversations;
mod prompt;
mod recorded_session;
mod repeated_prompts;
mod turn;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use crds::units::Seed;
use http::HeaderName;
use workload_profiles::{
    Notice, Workload,
    workload::{
        AcrossStages, AfterFailure, ConversationUse, Load, RecordedSessions, RequestSource, RowContent, Sessions,
        Stage, Unit,
    },
};

use crate::{
    recorded,
    requests::{BlockTexts, RequestsError, RowChoice, Seeds, SharedPrefix, Texts},
};
pub(crate) use chain::{Answer, Chain, MAX_HISTORY, NextTurn};
use chain_texts::ChainTexts;
use conversations::Conversations;
use measurement::rows_used::RowsUsed;
pub(crate) use prompt::{PromptStyle, message};
use prompts::Rows;
pub(crate) use recorded_session::RecordedSession;
use repeated_prompts::RepeatedPrompts;

/// The sessions of a workload.
#[derive(Debug)]
pub(crate) struct PlannedSessions {
    source: Source,
    /// The source of random words and prose.
    pub(crate) words: Texts,
    /// How the sessions are sent.
    pub(crate) settings: Sessions,
    /// The header field that contains the session id.
    pub(crate) header: Option<HeaderName>,
    /// Number of distinct sessions; `None` means that every session is new.
    pub(crate) count: Option<u64>,
    /// Number of sessions whose first request was sent, over all stages.
    begun: AtomicU64,
    /// Number of sessions begun before each stage; unset until the stage begins.
    begun_before: Vec<OnceLock<u64>>,
    /// Which recorded conversation each session replays; `None` if the texts do not come from a data set.
    rows: Option<Arc<RowChoice>>,
}

/// The source of sessions.
#[derive(Clone, Debug)]
enum Source {
    Chains(ChainTexts),
    Recorded(Recordings),
}

/// Recorded sessions, and the source of their block texts.
#[derive(Clone, Debug)]
struct Recordings {
    settings: RecordedSessions,
    all: Arc<Vec<recorded::Session>>,
    texts: BlockTexts,
    /// The seed of the marker texts at the beginning of sessions that must not share a prefix.
    markers: Seed,
}

/// A session before its first request.
#[derive(Debug)]
pub(crate) enum NewSession {
    /// A session whose turns follow one another.
    Chain(Box<Chain>),
    /// A recorded session, whose requests form a graph.
    Graph(RecordedSession),
}

impl PlannedSessions {
    /// Creates the sessions of a workload; `None` if its requests do not form sessions. `has_phases` states whether a stage is a LoadGen phase, whose
    /// requests are samples.
    ///
    /// # Errors
    /// The sessions cannot be generated, or cannot be sent in the way that the workload specifies.
    pub(crate) fn new(
        workload: &Workload,
        has_phases: bool,
        seeds: Seeds<'_>,
    ) -> Result<Option<PlannedSessions>, RequestsError> {
        let (source, count) = match &workload.requests {
            RequestSource::Conversations(it) => {
                let conversations = Conversations::new(it, seeds, workload.prompts)?;
                (Source::Chains(ChainTexts::Conversations(Arc::new(conversations))), it.count.map(u64::from))
            }
            source @ RequestSource::SharedPrefix { multi_turn: true, .. } => {
                let prompts = RepeatedPrompts::new(SharedPrefix::from_source(source, seeds, workload.prompts)?);
                if workload.sessions.unit == Unit::Session {
                    return Err(RequestsError::EndlessSessions);
                }
                let count = prompts.count();
                (Source::Chains(ChainTexts::Repeated(Arc::new(prompts))), Some(count))
            }
            RequestSource::DataSet(set) => match set.row {
                // The rows are set later, see `with_rows`.
                RowContent::Conversation { send: ConversationUse::Turns, .. } => {
                    (Source::Chains(ChainTexts::Rows(Arc::default())), Some(0))
                }
                RowContent::Conversation { .. } | RowContent::Prompt(_) => return Ok(None),
            },
            RequestSource::Recorded(recorded) => {
                if workload.sessions.unit == Unit::Request {
                    return Err(RequestsError::RequestsOfRecorded);
                }
                let recordings = Recordings {
                    settings: recorded.clone(),
                    all: Arc::default(),
                    texts: BlockTexts::new(1, seeds, workload.prompts),
                    markers: seeds.salted("recorded/marker"),
                };
                (Source::Recorded(recordings), None)
            }
            RequestSource::Mock
            | RequestSource::Random { .. }
            | RequestSource::SharedPrefix { .. }
            | RequestSource::TraceBlocks { .. }
            | RequestSource::Questions(_) => return Ok(None),
        };
        if has_phases {
            return Err(RequestsError::SessionsOfPhase);
        }
        let has_users = workload.stages.iter().any(|it| matches!(it.load, Load::Users { .. }));
        if has_users && workload.sessions.unit == Unit::Session {
            return Err(RequestsError::UsersOfSessions);
        }
        let is_counted = |stage: &Stage| matches!(stage.load, Load::Users { .. }) || count.is_some();
        if workload.sessions.unit == Unit::Request && !workload.stages.iter().all(is_counted) {
            return Err(RequestsError::UncountedSessions);
        }
        let settings = workload.sessions.clone();
        let header = session_header(&settings)?;
        Ok(Some(PlannedSessions {
            source,
            words: Texts::default(),
            settings,
            header,
            count,
            begun: AtomicU64::new(0),
            begun_before: workload.stages.iter().map(|_| OnceLock::new()).collect(),
            rows: None,
        }))
    }

    /// Sets the source of random words and prose.
    pub(crate) fn with_texts(self, words: Texts) -> PlannedSessions {
        PlannedSessions { words, ..self }
    }

    /// Sets the recorded conversations. No effect on other sources.
    pub(crate) fn with_rows(self, rows: &Arc<Rows>, choice: &Arc<RowChoice>) -> PlannedSessions {
        match self.source {
            Source::Chains(ChainTexts::Rows(_)) => PlannedSessions {
                source: Source::Chains(ChainTexts::Rows(Arc::clone(rows))),
                count: Some(rows.len() as u64),
                rows: Some(Arc::clone(choice)),
                ..self
            },
            Source::Chains(_) | Source::Recorded(_) => self,
        }
    }

    /// Whether the load starts requests, which are assigned to the sessions in turn. If not, it starts whole sessions.
    pub(crate) fn are_dealt_requests(&self) -> bool {
        self.settings.unit == Unit::Request
    }

    /// Counts a session when its first request is sent.
    pub(crate) fn count_begun(&self) {
        // Relaxed is enough, because the value is read only after all requests of a stage have ended.
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins a stage. Returns how many sessions the earlier stages began. Call it after the last request of the earlier stages has ended.
    pub(crate) fn begin_stage(&self, stage: usize) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        self.begun_before.get(stage).map_or(begun, |it| *it.get_or_init(|| begun))
    }

    /// Creates a session of a stage. After the last distinct session, sessions repeat.
    pub(crate) fn begin(&self, stage: usize, session: u64) -> NewSession {
        let goes_on =
            matches!(&self.source, Source::Recorded(it) if it.settings.across_stages == AcrossStages::Continue);
        let before = self.begun_before.get(stage).and_then(OnceLock::get).copied().filter(|_| goes_on);
        let place = before.unwrap_or_default().saturating_add(session);
        let content = match &self.rows {
            Some(rows) if !self.are_dealt_requests() => rows.row(stage, session),
            _ => self.count.map_or(place, |count| place % count.max(1)),
        };
        match &self.source {
            Source::Chains(texts) => NewSession::Chain(Box::new(Chain::new(texts.clone(), stage, content))),
            Source::Recorded(it) => {
                let marker = it.markers.derive(&format!("{stage}/{session}"));
                NewSession::Graph(RecordedSession::new(&it.settings, (&it.all, it.texts), content, marker))
            }
        }
    }

    /// Sets the recorded sessions. No effect on other sources.
    pub(crate) fn with_recordings(mut self, recordings: Arc<Vec<recorded::Session>>) -> PlannedSessions {
        if let Source::Recorded(it) = &mut self.source {
            let files = recordings.len() as u64;
            self.count = Some(it.settings.duplicate_to.map_or(files, |copies| files.max(u64::from(copies))));
            it.all = recordings;
        }
        self
    }

    /// Returns the total number of turns in the first `sessions` sessions; `None` if sessions have no end.
    pub(crate) fn turns_of_first(&self, sessions: u64) -> Option<u64> {
        let distinct = self.count.unwrap_or(sessions).max(1);
        let sum = |count: u64| (0..count).map(|it| self.turns(it)).sum::<Option<u64>>();
        let (rounds, rest) = (sessions / distinct, sessions % distinct);
        let whole = if rounds == 0 { 0 } else { sum(distinct)?.saturating_mul(rounds) };
        Some(whole.saturating_add(sum(rest)?))
    }

    /// Returns the number of requests in a session; `None` if it has no end.
    fn turns(&self, content: u64) -> Option<u64> {
        match &self.source {
            Source::Chains(texts) => texts.turns(content).map(u64::from),
            Source::Recorded(it) => {
                let files = it.all.len().max(1) as u64;
                let session = usize::try_from(content % files).ok().and_then(|place| it.all.get(place));
                Some(session.map_or(0, |it| it.calls.len() as u64))
            }
        }
    }

    /// Returns how the recorded conversations were used; `None` for other sources. `begun` is the number of sessions that each stage sent.
    pub(crate) fn rows_used(&self, begun: &[u64]) -> Option<RowsUsed> {
        let Source::Chains(ChainTexts::Rows(_)) = &self.source else { return None };
        let rows = self.count.filter(|it| *it > 0)?;
        let choice = self.rows.as_ref().filter(|_| !self.are_dealt_requests());
        let most = begun.iter().copied().max().unwrap_or_default();
        let distinct = choice.map_or(most.min(rows), |it| it.distinct_of(begun));
        Some(RowsUsed { rows, begun: begun.iter().sum(), distinct })
    }

    /// Returns a notice for the report about sessions that were sent more than once; `None` if there were none, or if the repetition is intended.
    /// `begun` is the number of sessions that each stage sent.
    pub(crate) fn repeats(&self, begun: &[u64]) -> Option<Notice> {
        let count = self.count.filter(|it| *it > 0)?;
        let total: u64 = begun.iter().sum();
        let most = begun.iter().copied().max().unwrap_or_default();
        let (sent, distinct) = match &self.source {
            Source::Chains(ChainTexts::Repeated(_)) => return None,
            Source::Chains(ChainTexts::Conversations(it)) if it.differ_between_stages() => {
                (total, begun.iter().map(|it| (*it).min(count)).sum())
            }
            Source::Chains(ChainTexts::Conversations(_)) => (total, most.min(count)),
            Source::Chains(ChainTexts::Rows(_)) => (total, self.rows_used(begun)?.distinct),
            Source::Recorded(it) if it.settings.unique => return None,
            Source::Recorded(it) => {
                // Copies are not repetitions, because they have their own texts.
                let files = it.all.len() as u64;
                let originals = |sent: u64| sent / count * files.min(count) + (sent % count).min(files);
                match it.settings.across_stages {
                    AcrossStages::Restart => (begun.iter().map(|it| originals(*it)).sum(), originals(most).min(files)),
                    AcrossStages::Continue => (originals(total), originals(total).min(files)),
                }
            }
        };
        let again = sent.checked_sub(distinct).filter(|it| *it > 0)?;
        let message = format!(
            "{total} sessions were sent, {again} of them with the texts of one that was sent before, whose prompts a server may have in its prefix cache; there are {count} distinct ones"
        );
        Some(Notice { path: "sessions".into(), message })
    }

    /// Whether a session ends after its first failed turn.
    pub(crate) fn ends_after_failure(&self) -> bool {
        self.settings.after_failure == AfterFailure::End
    }
}

/// Returns the header field for the session id; `None` if none is set.
///
/// # Errors
/// The name is not a valid header name.
pub(crate) fn session_header(settings: &Sessions) -> Result<Option<HeaderName>, RequestsError> {
    let wrong = |name: &String| RequestsError::SessionHeader { name: name.clone() };
    settings.header.as_ref().map(|it| it.parse().map_err(|_| wrong(it))).transpose()
}
