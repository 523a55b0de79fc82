//! [I/O] One recorded session: sends each request when its predecessors have ended.

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use crds::benchmark_run::Api;
use futures::{StreamExt as _, stream::FuturesUnordered};

use super::{
    kept_answers::KeptAnswers,
    stage::{SessionStage, Unsent, lock},
};
use crate::{
    client::{
        SessionLink,
        body::{BodyTemplate, Content, Prompt},
    },
    issue::{
        context::RequestContext,
        in_flight::{TurnEnd, run_turn},
        prepare::Prepared,
    },
    recorded::{self, CallPrompt},
    requests::RequestedLengths,
    sessions::{RecordedSession, message},
};
use measurement::{record::Turn, recorder::SessionEnd};

/// A recorded session in flight. When dropped, it leaves one record if it has sent any request.
pub(super) struct GraphSession {
    context: Arc<RequestContext>,
    recorded: RecordedSession,
    link: Option<Arc<SessionLink>>,
    /// The server's answers that unsent requests will contain.
    answers: KeptAnswers,
    ended: usize,
    /// Index of the session's stage, and the session's number in that stage.
    place: (usize, u64),
    /// The session's results so far. Shared, because each request records its beginning in its own future.
    end: Arc<Mutex<SessionEnd>>,
}

/// A generated request that waits for its time.
struct Planned {
    due: Duration,
    place: Turn,
    prepared: Prepared,
    link: Option<Arc<SessionLink>>,
    /// Whether a predecessor got no response from the target, so that this request first waits for the end of the outage.
    backs_off: bool,
}

impl GraphSession {
    pub(super) fn new(
        context: &Arc<RequestContext>,
        recorded: RecordedSession,
        link: Option<Arc<SessionLink>>,
        end: SessionEnd,
    ) -> GraphSession {
        let answers = KeptAnswers::new(&recorded.session().answer_uses);
        let (place, end) = ((end.stage, end.number), Arc::new(Mutex::new(end)));
        GraphSession { context: Arc::clone(context), recorded, link, answers, ended: 0, place, end }
    }

    /// Sends all requests, the first ones at `due` or later. Returns whether the target did not answer the request that ended last; `None`
    /// if the stage ended before all requests were sent.
    pub(super) async fn run(
        mut self,
        stage: &SessionStage,
        number: u64,
        due: Duration,
        unsent: Unsent<'_>,
    ) -> Option<bool> {
        let (recorded, end_of_all) = (self.recorded.clone(), Arc::clone(&self.end));
        let calls = &recorded.session().calls;
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
        for (index, call) in calls.iter().enumerate() {
            for before in &call.after {
                followers[*before as usize].push(index);
            }
        }
        let mut missing: Vec<usize> = calls.iter().map(|it| it.after.len()).collect();
        let mut after = vec![due; calls.len()];
        let mut follows_missed = vec![false; calls.len()];
        let mut in_flight = FuturesUnordered::new();
        for index in (0..calls.len()).filter(|it| calls[*it].after.is_empty()) {
            in_flight.push(send(stage, (&unsent, &end_of_all), index, self.plan(stage, number, index, due)));
        }
        let (mut was_missed, mut is_given_up, mut is_over) = (false, false, false);
        let ends_after_failure = stage.sessions().is_some_and(|it| it.ends_after_failure());
        while let Some((index, sent)) = in_flight.next().await {
            let Some(end) = sent else {
                is_over = true;
                continue;
            };
            was_missed = end.was_missed;
            is_given_up |= ends_after_failure && end.outcome.is_decided() && !end.outcome.is_complete();
            let ended = end.ended;
            self.take_end(index, end);
            for follower in mem::take(&mut followers[index]) {
                after[follower] = after[follower].max(ended);
                follows_missed[follower] |= was_missed;
                missing[follower] -= 1;
                if missing[follower] == 0 && !is_given_up && !is_over {
                    let mut planned = self.plan(stage, number, follower, after[follower]);
                    planned.backs_off = follows_missed[follower];
                    in_flight.push(send(stage, (&unsent, &end_of_all), follower, planned));
                }
            }
        }
        if is_given_up && !is_over {
            let rest = calls.len() - self.ended;
            stage.skip_rest(number, due, u32::try_from(rest).unwrap_or(u32::MAX));
        }
        (!is_over).then_some(was_missed)
    }

    /// Generates a request. `after` is when its last predecessor ended.
    fn plan(&mut self, stage: &SessionStage, number: u64, index: usize, after: Duration) -> Planned {
        let shared = &self.context.shared;
        let began = shared.clock.now();
        let call = &self.recorded.session().calls[index];
        let turn =
            u32::try_from(index + 1).ok().and_then(std::num::NonZeroU32::new).unwrap_or(std::num::NonZeroU32::MIN);
        // The requests of a session belong to the traffic class of the session.
        let class = shared.plan.classes.get(self.place.0, self.place.1);
        let most = shared.plan.output_to_send(class.map(|(_, it)| it), Some(call.output));
        let template = class.map_or(&shared.plan.template, |(_, it)| &it.template);
        let body = self.body(stage, index, template, most);
        let planned = Planned {
            due: after.saturating_add(call.wait),
            place: Turn { session: u32::try_from(self.place.1).unwrap_or(u32::MAX), number: turn },
            prepared: Prepared {
                number,
                class: class.map(|(index, _)| index),
                headers: class.and_then(|(_, it)| it.headers.clone()),
                body,
                id: shared.run_id.header(format_args!("{}-{number}-{turn}", stage.stage)),
                requested: RequestedLengths {
                    input: call.prompt.tokens(),
                    is_exact: false,
                    output: shared.plan.output_of_choices(most).filter(|_| !call.may_end),
                },
                leaves: shared.plan.stages[stage.stage].clients.and_then(|it| it.leaves((number << 16) + index as u64)),
                keep_output: self.recorded.needs_answers() && self.answers.is_needed(index),
                build: shared.clock.now().saturating_sub(began),
            },
            link: self.link.clone(),
            backs_off: false,
        };
        let session = self.recorded.session();
        session.answers_in(call).for_each(|it| self.answers.used(it));
        planned
    }

    fn body(&self, stage: &SessionStage, index: usize, template: &BodyTemplate, most: Option<u32>) -> Bytes {
        let session = self.recorded.session();
        let call = &session.calls[index];
        let mut text = String::from("[");
        match &call.prompt {
            CallPrompt::Messages(places) => {
                places.iter().for_each(|it| self.write_message(session, *it as usize, &mut text));
            }
            CallPrompt::Blocks { hashes, tokens } => {
                let place = (stage.stage, index as u64);
                let words = stage.sessions().map(|it| self.recorded.block_text(&it.words, place, hashes, *tokens));
                let marker = self.recorded.marker().unwrap_or_default();
                message("user", [marker, &words.unwrap_or_default()], &mut text);
            }
        }
        text.push(']');
        let api = self.context.client.target().api();
        let fields = if api == Api::Chat { call.fields.as_str() } else { "" };
        let content = Content { fields, may_end: call.may_end, ..Content::new(Prompt::Messages(&text), most) };
        template.body(&content)
    }

    /// Appends a message: the server's answer in this run, or the recorded message.
    fn write_message(&self, session: &recorded::Session, place: usize, text: &mut String) {
        let Some(it) = session.messages.get(place) else { return };
        match it.answer_of.and_then(|it| self.answers.get(it as usize)) {
            Some(answer) => message("assistant", ["", answer], text),
            // The recorded message is also sent if the request that it answers failed in this run. Without any answer, the rest of the conversation
            // would make no sense.
            None => {
                let marker = self.recorded.marker().filter(|_| text == "[");
                if text != "[" {
                    text.push(',');
                }
                text.push_str(&it.marked(marker));
            }
        }
    }

    fn take_end(&mut self, index: usize, end: TurnEnd) {
        self.ended += 1;
        lock(&self.end).end_turn(end.outcome, end.ended, end.input_tokens, end.output_tokens);
        if let Some(answer) = end.answer {
            self.answers.keep(index, answer.text);
        }
    }
}

/// Sends a request when it is due. The result is `None` if the stage ends before.
async fn send(
    stage: &SessionStage,
    (unsent, session): (&Unsent<'_>, &Mutex<SessionEnd>),
    index: usize,
    planned: Planned,
) -> (usize, Option<TurnEnd>) {
    let Planned { mut due, place, prepared, link, backs_off } = planned;
    if backs_off {
        due = due.max(stage.back_off().await);
    }
    let Some(due) = stage.wait_to_send(due).await else { return (index, None) };
    unsent.sent();
    lock(session).begin_turn(due.at, false);
    let context = Arc::clone(&stage.context);
    (index, Some(run_turn(context, stage.stage, prepared, due, place, link).await))
}

impl Drop for GraphSession {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            self.context.client.release(link);
        }
        let has_all = self.ended == self.recorded.session().calls.len();
        let mut end = mem::take(&mut *lock(&self.end));
        let under_way = end.turns - u32::try_from(self.ended).unwrap_or(end.turns).min(end.turns);
        end.cut_turns(under_way, self.context.shared.clock.now());
        self.context.recorder().record_session(&end, has_all);
    }
}
