//! Sessions: what their requests hold, and what each of them waits for. Pure.
//!
//! A session is a chain of turns ([`Chain`]). The texts of a turn are drawn, or read, when it is made, so that memory holds only what
//! the sessions under way have said. Answers of the server in this run are part of the next prompt.

mod chain;
mod conversations;
mod prompt;
mod repeated_prompts;

use std::{sync::Arc, time::Duration};

use http::HeaderName;
use workload_profiles::{
    Workload,
    workload::{AfterFailure, ConversationUse, Load, RequestSource, RowContent, Sessions, Stage, Unit},
};

use crate::requests::{RequestsError, Seeds, SharedPrefix, Texts};
pub(crate) use chain::{Answer, Chain, NextTurn};
use conversations::Conversations;
pub(crate) use prompt::PromptStyle;
use repeated_prompts::RepeatedPrompts;

/// The sessions of a workload.
#[derive(Debug)]
pub(crate) struct PlannedSessions {
    texts: ChainTexts,
    /// What makes words.
    pub(crate) words: Texts,
    /// How they are sent.
    pub(crate) settings: Sessions,
    /// The field of each request with the id of its session.
    pub(crate) header: Option<HeaderName>,
    /// Distinct sessions; `None`: every session is a new one.
    pub(crate) count: Option<u64>,
}

/// The texts and lengths of chains.
#[derive(Clone, Debug)]
enum ChainTexts {
    Conversations(Arc<Conversations>),
    Repeated(Arc<RepeatedPrompts>),
}

/// What all turns of a chain begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Opening {
    /// The message of the system; empty: none.
    system: String,
    /// The text before the first message of the user; empty: none.
    prefix: String,
    /// Tokens of both.
    tokens: u32,
}

/// What one turn of a chain adds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewTurn {
    /// The message of the user.
    user: Arc<str>,
    /// Its length in tokens, where it is known.
    input: Option<u32>,
    /// The requested length of the answer; `None`: the server decides.
    output: Option<u32>,
    /// The time between the end of the turn before and this turn.
    think_time: Duration,
}

impl PlannedSessions {
    /// The sessions of a workload; `None` if its requests form none.
    ///
    /// # Errors
    /// The sessions cannot be made, or not be sent in the way that the workload asks for.
    pub(crate) fn new(workload: &Workload, seeds: Seeds<'_>) -> Result<Option<PlannedSessions>, RequestsError> {
        let (texts, count) = match &workload.requests {
            RequestSource::Conversations(it) => {
                let conversations = Conversations::new(it, seeds, workload.prompts)?;
                (ChainTexts::Conversations(Arc::new(conversations)), it.count.map(u64::from))
            }
            source @ RequestSource::SharedPrefix { multi_turn: true, .. } => {
                let prompts = RepeatedPrompts::new(SharedPrefix::from_source(source, seeds, workload.prompts)?);
                if workload.sessions.unit == Unit::Session {
                    return Err(RequestsError::EndlessSessions);
                }
                let count = prompts.count();
                (ChainTexts::Repeated(Arc::new(prompts)), Some(count))
            }
            RequestSource::DataSet(set) => match set.row {
                RowContent::Conversation { send: ConversationUse::Turns, .. } => {
                    return Err(RequestsError::NotYet("conversations of a data set, turn by turn"));
                }
                RowContent::Conversation { .. } | RowContent::Prompt(_) => return Ok(None),
            },
            RequestSource::Recorded(_) => return Err(RequestsError::NotYet("recorded sessions")),
            RequestSource::Mock
            | RequestSource::Random { .. }
            | RequestSource::SharedPrefix { .. }
            | RequestSource::TraceBlocks { .. } => return Ok(None),
        };
        if workload.loadgen.is_some() {
            return Err(RequestsError::SessionsOfLoadGen);
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
        let wrong = |name: &String| RequestsError::SessionHeader { name: name.clone() };
        let header = settings.header.as_ref().map(|it| it.parse().map_err(|_| wrong(it))).transpose()?;
        Ok(Some(PlannedSessions { texts, words: Texts::default(), settings, header, count }))
    }

    /// Sets what makes words.
    pub(crate) fn with_texts(self, words: Texts) -> PlannedSessions {
        PlannedSessions { words, ..self }
    }

    /// Whether the load starts requests, which are dealt to the sessions.
    pub(crate) fn are_dealt_requests(&self) -> bool {
        self.settings.unit == Unit::Request
    }

    /// A session of a stage, before its first turn. Beyond the number of distinct sessions they repeat.
    pub(crate) fn begin(&self, stage: usize, session: u64) -> Chain {
        let content = self.count.map_or(session, |count| session % count.max(1));
        Chain::new(self.texts.clone(), stage, content)
    }

    /// Turns of the first sessions together; `None` where sessions do not end.
    pub(crate) fn turns_of_first(&self, sessions: u64) -> Option<u64> {
        let distinct = self.count.unwrap_or(sessions).max(1);
        let sum = |count: u64| (0..count).map(|it| self.texts.turns(it).map(u64::from)).sum::<Option<u64>>();
        let (rounds, rest) = (sessions / distinct, sessions % distinct);
        let whole = if rounds == 0 { 0 } else { sum(distinct)?.saturating_mul(rounds) };
        Some(whole.saturating_add(sum(rest)?))
    }

    /// Whether a session ends with its first failed turn.
    pub(crate) fn ends_after_failure(&self) -> bool {
        self.settings.after_failure == AfterFailure::End
    }
}

impl ChainTexts {
    fn opening(&self, words: &Texts, stage: usize, content: u64) -> Opening {
        match self {
            ChainTexts::Conversations(it) => it.opening(words, stage, content),
            ChainTexts::Repeated(_) => Opening::default(),
        }
    }

    /// Turns of a session; `None`: it does not end.
    fn turns(&self, content: u64) -> Option<u32> {
        match self {
            ChainTexts::Conversations(it) => Some(it.turns(content)),
            ChainTexts::Repeated(_) => None,
        }
    }

    /// A turn, counted from 0.
    fn turn(&self, words: &Texts, stage: usize, content: u64, turn: u32) -> NewTurn {
        match self {
            ChainTexts::Conversations(it) => it.turn(words, stage, content, turn),
            ChainTexts::Repeated(it) => it.turn(words, stage, content),
        }
    }

    /// Whether a turn carries the turns before it.
    fn has_history(&self) -> bool {
        match self {
            ChainTexts::Conversations(it) => it.has_history(),
            ChainTexts::Repeated(_) => true,
        }
    }

    /// The most tokens of prompt and answer together.
    fn max_context(&self) -> Option<u32> {
        match self {
            ChainTexts::Conversations(it) => it.max_context(),
            ChainTexts::Repeated(_) => None,
        }
    }
}
