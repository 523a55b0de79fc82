//! Interprets an answer: its head, and its bytes with the times at which they arrived. Pure.
//!
//! The first token is the first event with visible output. The response headers and the role chunk do not count. An answer has failed in any of these
//! cases: its status is not 2xx; it holds an error instead of output; a stream ends without `[DONE]` before all of its choices have a finish reason;
//! a finish reason shows that the server gave up.

use std::time::Duration;

use super::{
    api_error::{ApiError, first_line},
    chunk::{Choices, Chunk, Finish, Indices, Usage, WholeChoice, whole_choices},
    failure::Failure,
    output::{FirstOutput, Kept, OutputError},
    pattern::Pattern,
    sse,
};
use measurement::{inter_token_times::InterTokenTimes, output::Output, record::RequestOutcome};

/// Maximum length of an answer in one piece, in bytes.
const MAX_WHOLE: usize = 64 << 20;
/// Maximum events with output per answer: twice the longest answer that a profile may request.
const MAX_EVENTS: u32 = 4_000_000;
/// Maximum number of events per answer from which the parser derives a [`Pattern`]. If later events differ each time, for example by
/// counters, more patterns would only cost time.
const MAX_PATTERNS: u8 = 4;
/// Maximum number of bytes kept from the body of an error. The bound limits memory: some servers quote the prompt in the error, and all requests in
/// flight can fail together.
const MAX_ERROR_BODY: usize = 512 << 10;

/// Numbers of events that hold no text but may represent a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SilentEvents {
    /// All silent events, including `length_ends`.
    pub all: u32,
    /// Silent events that end a choice because of its length limit. Most servers put no token into such an event.
    pub length_ends: u32,
}

/// The part of an answer that has arrived. Times are on the clock of the run.
#[derive(Debug, Default)]
pub struct Answer {
    /// When the first event with output arrived; `None` for an answer in one piece.
    pub first_token: Option<Duration>,
    /// When the last event with output arrived. For an answer in one piece: when its end arrived.
    pub last_token: Option<Duration>,
    /// Times between consecutive events with output.
    pub gaps: InterTokenTimes,
    /// Number of events with output.
    pub content_events: u32,
    /// Number of socket reads that held output.
    pub reads: u64,
    /// Number of socket reads that held more than one event with output.
    pub coalesced_reads: u64,
    /// Token counts from the server.
    pub usage: Usage,
    /// Whether the answer came in one piece although a stream was requested.
    pub in_one_piece: bool,
    /// Silent events before the first event with output, and after the last one.
    silent_outside: (SilentEvents, SilentEvents),
    /// Output tokens up to and including the first event with output, according to the usage in that event.
    first_usage: Option<u32>,
    /// Number of body bytes received.
    received: u64,
    /// Whether an event has arrived, with or without output.
    has_event: bool,
    status: u16,
    /// The content type if it is neither JSON nor an event stream, and the content encoding. Both are quoted in the error if the stream does not end
    /// properly.
    foreign: (Option<String>, Option<String>),
    form: Form,
    first_silent: Option<Duration>,
    last_silent: Option<Duration>,
    has_output: bool,
    finish: Option<Finish>,
    /// Indices of the choices seen so far, and of the choices that have a finish reason.
    choices: (Indices, Indices),
    done: bool,
    error: Option<Failure>,
    pattern: Option<Pattern>,
    patterns_tried: u8,
    /// The output, if it is kept. Boxed, because few answers keep it.
    kept: Option<Box<Kept>>,
    /// Sequence number of the last socket read that held output, and the number of events with output in it.
    last_read: (u64, u32),
    /// The individual choices of an answer in one piece; `None` if they are not kept separately.
    apart: Option<Vec<WholeChoice>>,
}

/// The form of the body.
#[derive(Debug, Default)]
enum Form {
    /// The response headers have not arrived.
    #[default]
    Unknown,
    Events(sse::Parser),
    Whole(Vec<u8>),
    Error {
        status: u16,
        body: Vec<u8>,
    },
}

impl Answer {
    /// Keeps the output. Call it before the first byte of the body.
    pub fn keep_output(&mut self) {
        // Turns patterns off, so that every event is parsed as JSON. A pattern would skip the token ids.
        self.patterns_tried = MAX_PATTERNS;
        self.kept = Some(Box::default());
    }

    /// Keeps each choice of an answer in one piece separately. Call it before the first byte of the body.
    pub fn keep_choices(&mut self) {
        self.apart = Some(Vec::new());
    }

    /// Splits the answer to a request with `prompts` prompts and `each` choices per prompt. Returns the first choice of each prompt. Call it once,
    /// after the answer has ended without an error. A prompt without a choice, or with a choice that the server gave up, is a failure.
    ///
    /// The usage covers the whole request. If the server sends no token ids, the length of each answer is unknown. The tokens of the usage
    /// are then divided evenly: their sum is right, but the count of a single answer is an estimate.
    pub fn take_answers(&mut self, prompts: u32, each: u32) -> Vec<Result<Answer, Failure>> {
        let mut choices = self.apart.take().unwrap_or_default();
        let answer = |prompt: u32| {
            let index = prompt.saturating_mul(each.max(1));
            let broken = |message: String| Failure::new(RequestOutcome::BrokenStream, message);
            let place = choices.iter().position(|it| it.index == index);
            let choice = place.map(|it| choices.swap_remove(it)).ok_or_else(|| {
                broken(format!("the answer has no choice {index}, although the request had {prompts} prompts"))
            })?;
            if choice.finish == Some(Finish::Failed) {
                return Err(broken("the server aborted the answer".to_owned()));
            }
            let share = |all: Option<u32>| all.map(|it| it / prompts + u32::from(prompt < it % prompts));
            let tokens = choice.token_ids.as_ref().map(|it| u32::try_from(it.len()).unwrap_or(u32::MAX));
            let usage = Usage {
                prompt_tokens: choice.prompt_tokens.or_else(|| share(self.usage.prompt_tokens)),
                completion_tokens: tokens.or_else(|| share(self.usage.completion_tokens)),
                cached_tokens: share(self.usage.cached_tokens),
            };
            Ok(Answer {
                last_token: self.last_token,
                has_output: !choice.text.is_empty() || tokens.is_some_and(|it| it > 0),
                usage,
                received: self.received,
                status: self.status,
                done: true,
                kept: Some(Box::new(Kept::of_choice(choice.token_ids.unwrap_or_default(), choice.text))),
                ..Answer::default()
            })
        };
        (0..prompts).map(answer).collect()
    }

    /// Registers `first`, which is called with the first output. Call it after [`Answer::keep_output`].
    pub fn tell_first(&mut self, first: FirstOutput) {
        if let Some(kept) = &mut self.kept {
            kept.first = Some(first);
        }
    }

    /// Returns the output received so far; `None` if it is not kept.
    pub fn take_output(&mut self) -> Option<Output> {
        self.kept.take().map(|it| it.into_output())
    }

    /// Handles status and content type of the response. `streaming` states whether a stream was requested. An answer in one piece is accepted even
    /// then.
    pub fn head(&mut self, status: u16, content_type: Option<&str>, streaming: bool) {
        let json = content_type.is_some_and(|it| it.contains("json"));
        let events = content_type.is_some_and(|it| it.starts_with("text/event-stream"));
        self.status = status;
        self.foreign.0 = content_type.filter(|_| !events && !json).map(first_line);
        self.in_one_piece = streaming && !events && json && (200..300).contains(&status);
        self.form = match status {
            200..300 if events || (streaming && !json) => Form::Events(sse::Parser::default()),
            200..300 => Form::Whole(Vec::new()),
            _ => Form::Error { status, body: Vec::new() },
        };
    }

    /// Handles the response header `content-encoding`.
    pub fn coded(&mut self, content_encoding: &str) {
        self.foreign.1 = Some(first_line(content_encoding)).filter(|it| !it.eq_ignore_ascii_case("identity"));
    }

    /// Handles bytes of the body that arrived at `at` in the socket's read number `read`. Bytes after `[DONE]` are ignored.
    pub fn bytes(&mut self, bytes: &[u8], at: Duration, read: u64) {
        if self.done {
            return;
        }
        self.received += bytes.len() as u64;
        match std::mem::take(&mut self.form) {
            Form::Events(mut parser) => {
                if let Err(error) = parser.push(bytes, |data| self.event(data, at, read))
                    && !self.done
                {
                    self.fail(Failure::new(RequestOutcome::BrokenStream, error.to_string()));
                }
                self.form = Form::Events(parser);
            }
            Form::Whole(mut body) => {
                if body.len() + bytes.len() > MAX_WHOLE {
                    let message = format!("the answer is longer than {MAX_WHOLE} bytes");
                    self.fail(Failure::new(RequestOutcome::BrokenStream, message));
                } else {
                    body.extend_from_slice(bytes);
                    self.last_token = Some(at);
                }
                self.form = Form::Whole(body);
            }
            Form::Error { status, mut body } => {
                let room = MAX_ERROR_BODY - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() > room {
                    // A body that exceeds the limit is cut, so it is not JSON. Only the status is reported.
                    self.fail(http_error(status, &[]));
                }
                self.form = Form::Error { status, body };
            }
            Form::Unknown => {}
        }
    }

    /// Whether the answer has failed, so that the rest need not be read.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Whether all relevant data has arrived. The body itself may not have ended yet.
    pub fn is_complete(&self) -> bool {
        self.done && self.error.is_none()
    }

    /// Whether all output has arrived: the answer is complete, or every choice has a finish reason.
    pub fn has_finished(&self) -> bool {
        self.is_complete() || (self.choices.0.are_all_in(self.choices.1) && self.error.is_none())
    }

    /// When the last event arrived that held output or may represent a token without text. `None` for an answer in one piece.
    pub fn last_event(&self) -> Option<Duration> {
        match self.form {
            Form::Events(_) => self.last_token.max(self.last_silent),
            _ => None,
        }
    }

    /// Handles the end of the HTTP body.
    pub fn end(&mut self, at: Duration, read: u64) {
        if self.done {
            return;
        }
        match std::mem::take(&mut self.form) {
            Form::Events(mut parser) => {
                if let Err(error) = parser.finish(|data| self.event(data, at, read)) {
                    self.fail(Failure::new(RequestOutcome::BrokenStream, error.to_string()));
                }
            }
            Form::Whole(body) => self.whole(&body),
            Form::Error { status, body } => self.fail(http_error(status, &body)),
            Form::Unknown => {}
        }
    }

    /// Ends the answer and returns its outcome. Call it once. If no token had text, the token times are the times of the silent events.
    ///
    /// # Errors
    /// Returns why the response does not count as an answer.
    pub fn conclude(&mut self) -> Result<RequestOutcome, Failure> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let outcome = self.verdict()?;
        if outcome == RequestOutcome::Ok && !self.has_output {
            (self.first_token, self.last_token) = (self.first_silent, self.last_silent);
        }
        Ok(outcome)
    }

    /// Returns the outcome of an answer that has not failed so far.
    fn verdict(&self) -> Result<RequestOutcome, Failure> {
        if self.finish == Some(Finish::Failed) {
            return Err(Failure::new(RequestOutcome::BrokenStream, "the server aborted the answer"));
        }
        if !self.done && !self.choices.0.are_all_in(self.choices.1) {
            return Err(Failure::new(RequestOutcome::BrokenStream, self.without_end()));
        }
        let silent_tokens = self.usage.completion_tokens.is_some_and(|it| it > 0) && self.first_silent.is_some();
        Ok(if self.has_output || silent_tokens { RequestOutcome::Ok } else { RequestOutcome::Empty })
    }

    /// Returns the number of output tokens according to the server's usage; `None` if there is no usage. `requested` is the requested
    /// maximum.
    ///
    /// # Errors
    /// Returns the server's count if it is impossible. The count is impossible if it is 0 for an answer with output, if it exceeds the requested
    /// maximum, or, without a requested maximum, if it exceeds the answer's number of bytes. Servers can count the end token, or overshoot with
    /// speculative decoding. So a count can exceed the requested maximum by an eighth of it plus one token, if the answer has at least as many bytes.
    pub fn told_tokens(&self, requested: Option<u32>) -> Result<Option<u32>, u32> {
        let Some(told) = self.usage.completion_tokens else { return Ok(None) };
        let least = u32::from(self.has_output);
        let received = u32::try_from(self.received).unwrap_or(u32::MAX);
        let most = requested
            .map_or(received, |requested| requested.max(received.min(requested.saturating_add(requested / 8 + 1))));
        if (least..=most).contains(&told) { Ok(Some(told)) } else { Err(told) }
    }

    pub fn silent_outside(&self) -> SilentEvents {
        let (before, after) = self.silent_outside;
        SilentEvents { all: before.all + after.all, length_ends: before.length_ends + after.length_ends }
    }

    /// Returns the number of output tokens so far: the running usage if the server sends it, else one token per event with output.
    pub fn tokens_so_far(&self) -> u32 {
        self.content_events.max(self.usage.completion_tokens.unwrap_or_default())
    }

    /// Returns the number of tokens in the first event with output; `None` if neither token ids nor a usage in that event show it.
    pub fn first_event_tokens(&self) -> Option<u32> {
        let come = self.first_usage.or_else(|| self.kept.as_ref()?.first_ids())?;
        Some(come.saturating_sub(self.silent_outside.0.all).max(1))
    }

    /// Describes why a stream has no proper end, from the response headers and the body.
    fn without_end(&self) -> String {
        const CUT: &str = "the stream ended before its end";
        let (kind, coding) = (&self.foreign.0, &self.foreign.1);
        match (coding, kind) {
            _ if self.has_event => CUT.to_owned(),
            (Some(coding), _) => coded_body(coding),
            _ if self.status == 204 => "status 204: the answer has no body".to_owned(),
            (_, Some(kind)) => first_line(&format!(
                "the body is {kind} and no event stream; check that target.url is the API of the server"
            )),
            _ if self.received > 0 => "the body holds no event of a stream; is it in UTF-8?".to_owned(),
            _ => CUT.to_owned(),
        }
    }

    fn event(&mut self, data: &[u8], at: Duration, read: u64) {
        if self.error.is_some() || self.done {
            return;
        }
        match self.pattern.as_ref().and_then(|it| it.has_text(data)) {
            Some(true) => return self.output(at, read),
            Some(false) => return self.silent_token(at),
            None => {}
        }
        self.has_event = true;
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return;
        }
        let chunk = match Chunk::parse(data) {
            Ok(chunk) => chunk,
            Err(_) => {
                return self.fail(Failure::new(
                    RequestOutcome::BrokenStream,
                    "an event is no JSON, or of another form than OpenAI's",
                ));
            }
        };
        if chunk.is_error() {
            return self.fail(self.api_error(data));
        }
        self.keep_usage(chunk.usage);
        self.finish = Finish::worse(self.finish, chunk.choices.finish);
        self.choices = (self.choices.0.and(chunk.choices.seen), self.choices.1.and(chunk.choices.finished));
        if chunk.choices.output {
            if self.content_events == 0 {
                self.first_usage = chunk.usage.and_then(|it| it.completion_tokens);
            }
            self.output(at, read);
            if self.patterns_tried < MAX_PATTERNS {
                self.patterns_tried += 1;
                self.pattern = Pattern::from_event(data).or(self.pattern.take());
            }
        } else if chunk.choices.silent_token {
            self.silent_token(at);
            self.silent_outside.1.length_ends += u32::from(chunk.choices.finish == Some(Finish::Length));
        }
        self.keep(data, chunk.choices.output);
    }

    /// Adds an event, or a whole answer, to the kept output.
    fn keep(&mut self, data: &[u8], output: bool) {
        if let Some(Err(error)) = self.kept.as_mut().map(|it| it.add(data, output)) {
            self.fail(Failure::new(RequestOutcome::BrokenStream, error.to_string()));
        }
    }

    fn silent_token(&mut self, at: Duration) {
        self.first_silent.get_or_insert(at);
        self.last_silent = Some(at);
        self.silent_outside.1.all += 1;
    }

    fn output(&mut self, at: Duration, read: u64) {
        self.has_output = true;
        // The silent events since the last event with output now lie between two events with output, so they no longer count as outside.
        // Silent events before the first event with output stay outside.
        let silent = std::mem::take(&mut self.silent_outside.1);
        if self.content_events == 0 {
            self.silent_outside.0 = silent;
        }
        self.content_events += 1;
        if self.content_events >= MAX_EVENTS {
            self.fail(Failure::new(
                RequestOutcome::BrokenStream,
                format!("the answer has {MAX_EVENTS} events and no end"),
            ));
        }
        if let Some(last) = self.last_token.replace(at) {
            self.gaps.push(at.saturating_sub(last));
        }
        self.first_token.get_or_insert(at);
        if self.last_read.0 != read || self.reads == 0 {
            self.last_read = (read, 0);
            self.reads += 1;
        }
        self.last_read.1 += 1;
        if self.last_read.1 == 2 {
            self.coalesced_reads += 1;
        }
    }

    fn whole(&mut self, body: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let chunk = match Chunk::parse(body) {
            Ok(chunk) => chunk,
            Err(_) => {
                let message = self.foreign.1.as_deref().map_or_else(|| "the answer is no JSON".to_owned(), coded_body);
                return self.fail(Failure::new(RequestOutcome::BrokenStream, message));
            }
        };
        if chunk.is_error() {
            return self.fail(self.api_error(body));
        }
        let Choices { output, silent_token, finish, .. } = chunk.choices;
        self.keep_usage(chunk.usage);
        // An answer in one piece is complete even without a finish reason.
        self.done = true;
        self.finish = finish;
        self.has_output = output || (silent_token && self.usage.completion_tokens.is_some_and(|it| it > 0));
        if let Some(apart) = &mut self.apart {
            // The choices are judged one by one, each by its own finish reason.
            self.finish = None;
            match whole_choices(body) {
                Ok(choices) => *apart = choices,
                Err(_) => self.fail(Failure::new(RequestOutcome::BrokenStream, OutputError::NoIds.to_string())),
            }
        }
        self.keep(body, output);
    }

    /// Merges the token counts of an event. Later counts replace earlier ones.
    fn keep_usage(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            self.usage.prompt_tokens = usage.prompt_tokens.or(self.usage.prompt_tokens);
            self.usage.completion_tokens = usage.completion_tokens.or(self.usage.completion_tokens);
            self.usage.cached_tokens = usage.cached_tokens.or(self.usage.cached_tokens);
        }
    }

    /// Classifies an error object in an answer with status 200: an HTTP error if there is no output yet, else a broken stream.
    fn api_error(&self, data: &[u8]) -> Failure {
        let error = ApiError::parse(data);
        if self.has_output {
            return Failure::new(
                RequestOutcome::BrokenStream,
                first_line(&format!("an error in the stream: {}", error.text)),
            );
        }
        let code = error.code.unwrap_or(500);
        Failure::new(
            RequestOutcome::HttpError(code),
            first_line(&format!("{code} in an answer with status 200: {}", error.text)),
        )
    }

    /// Records a failure. Only the first one is kept.
    fn fail(&mut self, failure: Failure) {
        self.error.get_or_insert(failure);
    }
}

fn coded_body(coding: &str) -> String {
    first_line(&format!(
        "the body is coded as {coding}, which was not requested; turn compression off at the server, or at the proxy before it"
    ))
}

fn http_error(status: u16, body: &[u8]) -> Failure {
    let text = match status {
        300..400 => "redirects are not followed".to_owned(),
        _ => ApiError::parse(body).text,
    };
    let message = if text.is_empty() { status.to_string() } else { first_line(&format!("{status}: {text}")) };
    Failure::new(RequestOutcome::HttpError(status), message)
}

#[cfg(test)]
mod tests;
