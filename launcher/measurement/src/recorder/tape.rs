//! Everything that a recorder was given, entry by entry in the original order. Together with the records, it suffices to recompute the
//! figures with other windows. Pure.
//!
//! A request's entry contains what its record lacks, in three to seven bytes for nearly every request. Times between tokens and step times
//! take some bytes per token, and are stored only if the run needs them. An error text is written once per recorder, and later entries
//! refer to it.

use std::{mem, slice, time::Duration};

use super::{
    records::RecordBudget,
    session_tally::SessionEnd,
    wire_tally::{Steps, WireTally},
};
use crate::{
    inter_token_times::InterTokenTimes,
    record::{Cause, Limit, RequestOutcome, RequestRecord},
    window::Opened,
    wire::{Reader, Wire, WireError, Writer, fields},
};

/// Size of a chunk, in bytes. A longer entry gets its own chunk.
const CHUNK: usize = 32 << 10;
/// Maximum number of distinct error texts per recorder. Requests with further texts lose them when figures are recomputed.
const MAX_TEXTS: usize = 64;

/// An entry that is not a request.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Open { stage: usize, opened: Opened },
    StopEarly { stage: usize, now: Duration, later: bool },
    Session { end: SessionEnd, has_all: bool },
    Hold { stage: usize, number: u64, due: Duration, held: Duration },
    Unissued { stage: usize, number: u64, due: Option<Duration>, outcome: RequestOutcome },
}

/// What the record of a request lacks.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    pub(super) wire: WireTally,
    /// Whether the request met all goodput limits.
    pub(super) is_good: bool,
}

/// An entry on the tape. A request's entry belongs to the next record.
#[derive(Debug)]
pub(super) enum Entry {
    Event(Event),
    Request(RequestEntry),
}

/// The entry of a request. `reads` is the difference between its number of reads and the content events in its record.
#[derive(Debug)]
pub(super) struct RequestEntry {
    beside: Beside,
    reads: i64,
}

impl RequestEntry {
    pub(super) fn of(self, record: &RequestRecord) -> Beside {
        let reads = i64::from(record.content_events).saturating_add(self.reads);
        let reads = u64::try_from(reads).unwrap_or_default();
        Beside { wire: WireTally { reads, ..self.beside.wire }, ..self.beside }
    }
}

/// The tapes of all recorders of a load.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    has_token_times: bool,
    /// The chunks of each recorder. No entry spans two chunks.
    recorders: Vec<Vec<Vec<u8>>>,
    /// Whether there was no room for an entry. All entries were then dropped.
    is_lost: bool,
    budget: RecordBudget,
    /// Number of bytes in all chunks except the first one, which needs no budget.
    taken: u64,
    /// Number of bytes that the chunks can have: bytes paid for with the records, and bytes that the budget granted.
    paid: u64,
    /// The part of `paid` that the budget granted. The rest belongs to the price of the records.
    granted: u64,
    /// The error texts of the recorder, in the order of their entries. `None` on a merged tape, which accepts no further texts.
    texts: Option<Vec<String>>,
    /// The buffer of the last entry, reused for the next one.
    scratch: Vec<u8>,
}

impl Tape {
    pub(super) fn new(has_token_times: bool) -> Tape {
        Tape { has_token_times, texts: Some(Vec::new()), ..Tape::default() }
    }

    pub(super) fn with_budget(self, budget: RecordBudget) -> Tape {
        Tape { budget, ..self }
    }

    /// Whether there was room for every entry.
    pub fn is_whole(&self) -> bool {
        !self.is_lost
    }

    /// Whether the times between tokens and the step times of requests are included.
    pub fn has_token_times(&self) -> bool {
        self.has_token_times
    }

    pub(crate) fn lost(mut self) -> Tape {
        self.lose();
        self
    }

    /// Drops all entries, because one of them is missing, and returns their memory to the budget.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
        self.recorders = Vec::new();
        self.budget.give_back(mem::take(&mut self.granted));
    }

    /// Adds bytes that are already paid for: the price of a block of records includes the memory for their entries.
    pub(super) fn pay(&mut self, bytes: u64) {
        self.paid = self.paid.saturating_add(bytes);
    }

    pub(super) fn note(&mut self, event: &Event) {
        self.push(|to| event.write(to));
    }

    /// Appends the entry of a request whose record was kept.
    pub(super) fn note_request(&mut self, record: &RequestRecord, wire: &WireTally, is_good: bool) {
        let has_token_times = self.has_token_times;
        let text = wire.error.as_deref().map_or(Text::None, |it| self.text(it));
        self.push(|to| write_request(to, record, wire, text, is_good, has_token_times));
    }

    /// Returns how an entry refers to an error text.
    fn text(&mut self, error: &str) -> Text {
        let Some(texts) = &mut self.texts else { return Text::None };
        match texts.iter().position(|it| it == error) {
            Some(index) => Text::Known(index as u32),
            None if texts.len() == MAX_TEXTS => Text::None,
            None => {
                texts.push(error.to_owned());
                Text::New(error.to_owned())
            }
        }
    }

    fn push(&mut self, entry: impl FnOnce(&mut Writer)) {
        if self.is_lost {
            return;
        }
        let mut to = Writer::reusing(mem::take(&mut self.scratch));
        entry(&mut to);
        let bytes = to.into_bytes();
        if !self.add(&bytes) {
            self.lose();
        }
        self.scratch = bytes;
    }

    /// Appends the bytes of an entry. Returns `false` if there is no room.
    fn add(&mut self, bytes: &[u8]) -> bool {
        if self.recorders.is_empty() {
            self.recorders.push(Vec::new());
        }
        let has_room = |it: &Vec<u8>| it.capacity() - it.len() >= bytes.len();
        let Some(chunks) = self.recorders.last_mut() else { return false };
        if !chunks.last().is_some_and(has_room) {
            let size = CHUNK.max(bytes.len());
            let mut chunk = Vec::new();
            // The first chunk is free, because it is needed before there are records that pay for entries.
            let taken = if chunks.is_empty() { 0 } else { self.taken + size as u64 };
            let has_room = taken <= self.paid || self.budget.take(size as u64);
            if !has_room || chunk.try_reserve_exact(size).is_err() {
                return false;
            }
            if taken > self.paid {
                self.paid += size as u64;
                self.granted += size as u64;
            }
            self.taken = taken;
            chunks.push(chunk);
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.extend_from_slice(bytes);
        }
        true
    }

    /// Appends the entries of another recorder.
    pub(super) fn append(&mut self, other: Tape) {
        self.recorders.extend(other.recorders);
        self.texts = None;
        self.granted += other.granted;
        if self.is_lost || other.is_lost {
            self.lose();
        }
    }

    /// Returns the entries of each recorder.
    pub(super) fn recorders(&self) -> impl Iterator<Item = impl Iterator<Item = Result<Entry, WireError>> + '_> + '_ {
        self.recorders.iter().map(|it| Entries::new(it, self.has_token_times))
    }

    /// Returns the chunks of each recorder.
    pub(crate) fn chunks(&self) -> &[Vec<Vec<u8>>] {
        &self.recorders
    }

    /// Creates a tape from chunks that were read.
    pub(crate) fn from_chunks(has_token_times: bool, recorders: Vec<Vec<Vec<u8>>>) -> Tape {
        Tape { has_token_times, recorders, ..Tape::default() }
    }
}

/// Iterates over the entries of one recorder.
struct Entries<'a> {
    chunks: slice::Iter<'a, Vec<u8>>,
    reader: Reader<'a>,
    has_token_times: bool,
    texts: Vec<String>,
    has_failed: bool,
}

impl<'a> Entries<'a> {
    fn new(chunks: &'a [Vec<u8>], has_token_times: bool) -> Entries<'a> {
        let (chunks, reader) = (chunks.iter(), Reader::new(&[], 0));
        Entries { chunks, reader, has_token_times, texts: Vec::new(), has_failed: false }
    }

    fn read(&mut self) -> Result<Entry, WireError> {
        read_entry(&mut self.reader, &mut self.texts, self.has_token_times)
    }
}

/// The iteration ends after the first error.
impl Iterator for Entries<'_> {
    type Item = Result<Entry, WireError>;

    fn next(&mut self) -> Option<Result<Entry, WireError>> {
        while !self.has_failed && self.reader.is_at_end() {
            // No memory limit is needed here, because a decoded chunk only takes a small multiple of its length.
            self.reader = Reader::new(self.chunks.next()?, usize::MAX);
        }
        if self.has_failed {
            return None;
        }
        let entry = self.read();
        self.has_failed = entry.is_err();
        Some(entry)
    }
}

/// The first byte of a request's entry has this bit set. Its other seven bits are flags.
const REQUEST: u8 = 0x80;

fn write_request(
    to: &mut Writer,
    record: &RequestRecord,
    wire: &WireTally,
    text: Text,
    is_good: bool,
    has_token_times: bool,
) {
    let silent = Silent::of(wire);
    let rare = Rare::of(wire, text);
    let bits = [
        is_good,
        wire.has_exact_prompt,
        wire.in_one_piece,
        wire.retried,
        wire.own_connection,
        silent != Silent::default(),
        rare != Rare::default(),
    ];
    (REQUEST | bits.iter().rev().fold(0, |bits, it| bits << 1 | u8::from(*it))).write(to);
    let reads = i64::try_from(wire.reads).unwrap_or(i64::MAX) - i64::from(record.content_events);
    (reads, wire.coalesced_reads).write(to);
    if bits[5] {
        silent.write(to);
    }
    if bits[6] {
        rare.write(to);
    }
    if has_token_times {
        wire.steps.write(to);
        wire.gaps.write(to);
    }
}

fn read_entry(from: &mut Reader<'_>, texts: &mut Vec<String>, has_token_times: bool) -> Result<Entry, WireError> {
    let first = from.byte()?;
    if first & REQUEST == 0 {
        return Event::read(first, from).map(Entry::Event);
    }
    let [is_good, has_exact_prompt, in_one_piece, retried, own_connection, has_silent, has_rare] =
        [0, 1, 2, 3, 4, 5, 6].map(|it| first >> it & 1 == 1);
    let (reads, coalesced_reads) = Wire::read(from)?;
    let silent = if has_silent { Silent::read(from)? } else { Silent::default() };
    let rare = if has_rare { Rare::read(from)? } else { Rare::default() };
    let (steps, gaps) = match has_token_times {
        true => (Wire::read(from)?, Wire::read(from)?),
        false => (Steps::default(), InterTokenTimes::default()),
    };
    let wire = WireTally {
        gaps,
        reads: 0,
        coalesced_reads,
        late_reads: rare.late_reads,
        error: rare.text.read(texts)?,
        timeout: rare.timeout,
        cause: rare.cause,
        retried,
        own_connection,
        has_exact_prompt,
        silent_events: silent.events,
        silent_length_ends: silent.length_ends,
        first_event_tokens: silent.first_event_tokens,
        set_aside: rare.set_aside,
        in_one_piece,
        steps,
    };
    Ok(Entry::Request(RequestEntry { beside: Beside { wire, is_good }, reads }))
}

/// Tokens without text, and the tokens of the first event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Silent {
    events: u32,
    length_ends: u32,
    first_event_tokens: Option<u32>,
}

impl Silent {
    fn of(wire: &WireTally) -> Silent {
        Silent {
            events: wire.silent_events,
            length_ends: wire.silent_length_ends,
            first_event_tokens: wire.first_event_tokens,
        }
    }
}

/// Properties that few requests have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    text: Text,
    timeout: Option<Limit>,
    cause: Option<Cause>,
    set_aside: Option<u32>,
    late_reads: u64,
}

impl Rare {
    fn of(wire: &WireTally, text: Text) -> Rare {
        Rare { text, timeout: wire.timeout, cause: wire.cause, set_aside: wire.set_aside, late_reads: wire.late_reads }
    }
}

/// The error text in a request's entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Text {
    /// The request has no error text, or the recorder had too many different ones.
    #[default]
    None,
    New(String),
    /// Index of a text in an earlier entry.
    Known(u32),
}

impl Text {
    /// Returns the text. `texts` contains the texts of earlier entries.
    fn read(self, texts: &mut Vec<String>) -> Result<Option<String>, WireError> {
        let unknown = WireError::Value { what: "error text" };
        match self {
            Text::None => Ok(None),
            Text::New(_) if texts.len() == MAX_TEXTS => Err(unknown),
            Text::New(text) => {
                texts.push(text.clone());
                Ok(Some(text))
            }
            Text::Known(index) => texts.get(index as usize).cloned().map(Some).ok_or(unknown),
        }
    }
}

impl Wire for Text {
    fn write(&self, to: &mut Writer) {
        match self {
            Text::None => 0_u8.write(to),
            Text::New(text) => {
                1_u8.write(to);
                text.write(to);
            }
            Text::Known(index) => {
                2_u8.write(to);
                index.write(to);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Text, WireError> {
        Ok(match u8::read(from)? {
            0 => Text::None,
            1 => Text::New(Wire::read(from)?),
            2 => Text::Known(Wire::read(from)?),
            _ => return Err(WireError::Value { what: "error text" }),
        })
    }
}

fields!(Silent { events, length_ends, first_event_tokens });
fields!(Rare { text, timeout, cause, set_aside, late_reads });

impl Event {
    fn write(&self, to: &mut Writer) {
        match self {
            Event::Open { stage, opened } => {
                (0_u8, *stage).write(to);
                opened.write(to);
            }
            Event::StopEarly { stage, now, later } => {
                (1_u8, *stage).write(to);
                (*now, *later).write(to);
            }
            Event::Session { end, has_all } => {
                (2_u8, *has_all).write(to);
                end.write(to);
            }
            Event::Hold { stage, number, due, held } => {
                (3_u8, *stage).write(to);
                (*number, (*due, *held)).write(to);
            }
            Event::Unissued { stage, number, due, outcome } => {
                (4_u8, *stage).write(to);
                (*number, (*due, *outcome)).write(to);
            }
        }
    }

    fn read(kind: u8, from: &mut Reader<'_>) -> Result<Event, WireError> {
        Ok(match kind {
            0 => Event::Open { stage: Wire::read(from)?, opened: Wire::read(from)? },
            1 => Event::StopEarly { stage: Wire::read(from)?, now: Wire::read(from)?, later: Wire::read(from)? },
            2 => Event::Session { has_all: Wire::read(from)?, end: Wire::read(from)? },
            3 => Event::Hold {
                stage: Wire::read(from)?,
                number: Wire::read(from)?,
                due: Wire::read(from)?,
                held: Wire::read(from)?,
            },
            4 => Event::Unissued {
                stage: Wire::read(from)?,
                number: Wire::read(from)?,
                due: Wire::read(from)?,
                outcome: Wire::read(from)?,
            },
            _ => return Err(WireError::Value { what: "entry" }),
        })
    }
}

/// Written without the budget, which belongs to the recorders of one process.
impl Wire for Tape {
    fn write(&self, to: &mut Writer) {
        let Tape { has_token_times, recorders, is_lost, .. } = self;
        (*has_token_times, *is_lost).write(to);
        recorders.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Tape, WireError> {
        let (has_token_times, is_lost) = Wire::read(from)?;
        Ok(Tape { is_lost, ..Tape::from_chunks(has_token_times, Wire::read(from)?) })
    }
}
