//! [I/O] One session: sends its turns one after another.

use std::{mem, sync::Arc, time::Duration};

use bytes::Bytes;

use super::stage::{SessionStage, Unsent};
use crate::{
    client::{
        SessionLink,
        body::{Content, Prompt},
    },
    issue::{
        context::RequestContext,
        in_flight::{TurnEnd, run_turn},
        prepare::Prepared,
    },
    sessions::{Chain, NextTurn, PlannedSessions, PromptStyle},
};
use measurement::{record::Turn, recorder::SessionEnd};

/// A session in flight. When dropped, it leaves one record if it has sent any turn.
pub(super) struct Session {
    context: Arc<RequestContext>,
    chain: Chain,
    link: Option<Arc<SessionLink>>,
    ready: Option<Ready>,
    /// Whether no more turns are sent, because one has failed.
    is_given_up: bool,
    /// When the previous turn ended. Before the first turn: when the previous session in the same slot ended.
    last_end: Option<Duration>,
    /// Whether a turn was sent and has not ended.
    is_under_way: bool,
    /// The session's results so far.
    end: SessionEnd,
}

/// A generated turn.
struct Ready {
    turn: NextTurn,
    body: Bytes,
    /// Time spent on building the turn.
    build: Duration,
}

impl Session {
    /// Creates a session of a stage. Its first turn waits for the end of the previous session.
    pub(super) fn new(
        context: &Arc<RequestContext>,
        chain: Chain,
        link: Option<Arc<SessionLink>>,
        stage: usize,
        number: u64,
        last_end: Option<Duration>,
    ) -> Session {
        Session {
            context: Arc::clone(context),
            chain,
            link,
            ready: None,
            is_given_up: false,
            last_end,
            is_under_way: false,
            end: SessionEnd::new(stage, number),
        }
    }

    /// Limits the session to its turns from `first`, and before `end` if it is set, counted from 0.
    pub(super) fn with_turns(mut self, first: u64, end: Option<u64>) -> Session {
        let turn = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
        self.chain.limit(turn(first), end.map(turn));
        self.end.is_partial = first > 0;
        self
    }

    /// Generates the next turn in advance, so that it can be sent immediately when it is due.
    pub(super) fn prepare(&mut self) {
        if self.ready.is_some() {
            return;
        }
        let shared = &self.context.shared;
        let (plan, began) = (&shared.plan, shared.clock.now());
        let Some(words) = plan.sessions.as_ref().map(|it| &it.words) else { return };
        let style = PromptStyle::new(self.context.client.target().api());
        let mut text = String::new();
        let Some(mut turn) = self.chain.next(words, style, &mut text) else { return };
        // The turns of a session belong to the traffic class of the session.
        let class = plan.classes.get(self.end.stage, self.end.number);
        turn.requested.output = plan.output_to_send(class.map(|(_, it)| it), turn.requested.output);
        let prompt = Prompt::new(style.form(), &text);
        let body =
            class.map_or(&plan.template, |(_, it)| &it.template).body(&Content::new(prompt, turn.requested.output));
        let build = shared.clock.now().saturating_sub(began);
        self.ready = Some(Ready { turn, body, build });
    }

    /// Returns the number of turns not sent yet; `None` if the session has no end.
    pub(super) fn turns_left(&self) -> Option<u32> {
        Some(self.chain.turns_left()? + u32::from(self.ready.is_some()))
    }

    /// Returns when its last turn ended.
    pub(super) fn last_end(&self) -> Option<Duration> {
        self.last_end
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// Whether the session needs no more requests. A session without an end has ended when it is given up.
    pub(super) fn has_ended(&self) -> bool {
        self.turns_left().map_or(self.is_given_up, |it| it == 0)
    }

    /// Skips the next turn.
    pub(super) fn skip(&mut self) {
        if self.ready.take().is_none() {
            self.chain.skip();
        }
    }

    /// Sends all turns, the first one at `due` or later. Returns whether the target did not answer the last turn; `None` if the stage ended
    /// before all turns were sent.
    pub(super) async fn run(
        mut self,
        stage: &SessionStage,
        number: u64,
        mut due: Duration,
        unsent: Unsent<'_>,
    ) -> Option<bool> {
        let mut unsent = Some(unsent);
        let (mut was_missed, first_due) = (false, due);
        while !self.is_given_up && self.turns_left() != Some(0) {
            if was_missed {
                due = stage.back_off().await;
            }
            was_missed = self.turn(stage, number, due, &mut unsent).await?;
        }
        if self.is_given_up {
            stage.skip_rest(number, first_due, self.turns_left().unwrap_or_default());
        }
        Some(was_missed)
    }

    /// Sends the next turn, at `earliest` or later. Returns whether the target did not answer it; `None` if the stage ended before the turn
    /// was sent.
    pub(super) async fn turn(
        &mut self,
        stage: &SessionStage,
        number: u64,
        earliest: Duration,
        unsent: &mut Option<Unsent<'_>>,
    ) -> Option<bool> {
        self.prepare();
        let turn = self.ready.as_ref()?.turn;
        let shared = Arc::clone(&self.context.shared);
        let after = self.last_end.map_or(Duration::ZERO, |ended| ended.saturating_add(turn.think_time));
        let due = stage.wait_to_send(earliest.max(after)).await?;
        if shared.plan.sessions.as_ref().is_some_and(PlannedSessions::are_dealt_requests) {
            self.context.recorder().record_hold(stage.stage, number, due.at, after.saturating_sub(earliest));
        }
        let ready = self.ready.take()?;
        if let Some(unsent) = unsent.take() {
            unsent.sent();
        }
        self.is_under_way = true;
        self.end.begin_turn(due.at, turn.is_shortened);
        let place = Turn { session: u32::try_from(self.end.number).unwrap_or(u32::MAX), number: turn.number };
        let prepared = self.prepared(stage.stage, number, ready);
        let end = run_turn(Arc::clone(&self.context), stage.stage, prepared, due, place, self.link.clone()).await;
        Some(self.take_end(end))
    }

    fn prepared(&self, stage: usize, number: u64, ready: Ready) -> Prepared {
        let Ready { turn, body, build } = ready;
        let shared = &self.context.shared;
        let mut requested = turn.requested;
        let class = shared.plan.classes.get(self.end.stage, self.end.number);
        let (class, headers) = class.map_or((None, None), |(index, it)| (Some(index), it.headers.clone()));
        requested.output = shared.plan.output_of_choices(requested.output);
        let in_session = turn.number;
        let of_client = (number << 16).wrapping_add(u64::from(in_session.get()));
        Prepared {
            number,
            class,
            headers,
            body,
            id: shared.run_id.header(format_args!("{stage}-{number}-{in_session}")),
            requested,
            leaves: shared.plan.stages[stage].clients.and_then(|it| it.leaves(of_client)),
            keep_output: self.chain.needs_answers(),
            build,
        }
    }

    /// Records how a turn ended. Returns whether the target did not answer it.
    fn take_end(&mut self, end: TurnEnd) -> bool {
        let has_failed = end.outcome.is_decided() && !end.outcome.is_complete();
        self.end.end_turn(end.outcome, end.ended, end.input_tokens, end.output_tokens);
        self.is_under_way = false;
        self.last_end = Some(end.ended);
        if let Some(answer) = end.answer {
            self.chain.answered(answer);
        }
        let ends_after_failure = self.context.shared.plan.sessions.as_ref().is_some_and(|it| it.ends_after_failure());
        self.is_given_up = has_failed && ends_after_failure;
        end.was_missed
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            self.context.client.release(link);
        }
        let has_all = self.turns_left() == Some(0) && !self.is_under_way;
        let mut end = mem::take(&mut self.end);
        if self.is_under_way {
            end.cut_turns(1, self.context.shared.clock.now());
        }
        self.context.recorder().record_session(&end, has_all);
    }
}
