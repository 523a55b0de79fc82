//! Stores a load for later analysis: its measurement, and the launcher's other findings. Pure.
//!
//! A stream contains a sequence of [`crate::wire`] forms: first the head, then the records and the entries of the tape in parts. So writing
//! needs memory only for one part.

use std::io::{self, Read, Write};

use crate::{
    load_result::LoadResult,
    record::RequestRecord,
    recorder::{InFigures, Records, Tape},
    wire::{
        Form, StreamError, WireError, fields,
        stream::{read_form, write_form},
    },
};

/// Number of records per part.
const PART: usize = 4_096;
/// Maximum number of recorders in a load. There is one per load thread.
const MAX_RECORDERS: usize = 4_096;

/// A load with the records of its requests, for later analysis.
#[derive(Debug)]
pub struct KeptRun {
    head: Head,
    records: Records,
    tape: Tape,
}

#[derive(Debug)]
struct Head {
    /// The load without its records and tape.
    load: LoadResult,
    findings: Findings,
    left_out: u64,
    parts: u64,
    has_token_times: bool,
    /// Whether the tape (the data beside the records) had room for every entry.
    is_whole: bool,
    /// Number of tape chunks of each recorder.
    chunks: Vec<u64>,
}

/// Findings of the launcher that are not part of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons to doubt the result, one sentence each.
    pub doubts: Vec<String>,
    /// The reason why the target counts as lost; `None` if it was not lost.
    pub lost_target: Option<String>,
}

#[derive(Debug)]
struct Part {
    requests: Vec<(RequestRecord, InFigures)>,
}

#[derive(Debug)]
struct Chunk {
    entries: Vec<u8>,
}

impl KeptRun {
    /// Keeps a load, without the outputs of its requests. Returns `None` if the load has no records.
    pub fn new(mut load: LoadResult, findings: Findings) -> Option<KeptRun> {
        load.recorder.outputs = Vec::new();
        let records = load.recorder.records.take()?;
        let tape = load.recorder.tape.take().unwrap_or_else(|| Tape::default().lost());
        let head = Head {
            load,
            findings,
            left_out: records.left_out(),
            parts: records.len().div_ceil(PART) as u64,
            has_token_times: tape.has_token_times(),
            is_whole: tape.is_whole(),
            chunks: tape.chunks().iter().map(|it| it.len() as u64).collect(),
        };
        Some(KeptRun { head, records, tape })
    }

    /// Whether all data is present that another analysis needs.
    pub fn is_whole(&self) -> bool {
        self.head.is_whole && self.head.left_out == 0
    }

    /// Whether the times between tokens are present.
    pub fn has_token_times(&self) -> bool {
        self.head.has_token_times
    }

    /// Returns the records of the requests.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Returns the load with its records, and the launcher's other findings.
    pub fn into_load(self) -> (LoadResult, Findings) {
        let Head { mut load, findings, .. } = self.head;
        load.recorder.records = Some(self.records);
        load.recorder.tape = Some(self.tape);
        (load, findings)
    }

    /// Writes the load, in many small parts.
    ///
    /// # Errors
    /// The stream cannot be written.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        write_form(&self.head, to)?;
        let mut all = self.records.with_figures();
        loop {
            let requests: Vec<_> = all.by_ref().take(PART).map(|(it, used)| (it.clone(), used)).collect();
            if requests.is_empty() {
                break;
            }
            write_form(&Part { requests }, to)?;
        }
        for chunk in self.tape.chunks().iter().flatten() {
            write_form(&Chunk { entries: chunk.clone() }, to)?;
        }
        Ok(())
    }

    /// Reads what [`KeptRun::write`] has written. `memory`: approximate maximum memory for the load, in bytes.
    ///
    /// # Errors
    /// The stream cannot be read, contains no such load, was truncated or changed, has another version, or needs more memory.
    pub fn read(from: &mut dyn Read, memory: usize) -> Result<KeptRun, StreamError> {
        let head: Head = read_form(from, memory)?;
        let mut left = memory;
        let mut take = |bytes: usize| {
            left = left.checked_sub(bytes).ok_or(WireError::Memory { memory })?;
            Ok::<usize, WireError>(left)
        };
        if head.chunks.len() > MAX_RECORDERS {
            return Err(WireError::Value { what: "number of recorders" }.into());
        }
        let mut records = Records::with_left_out(head.left_out);
        for _ in 0..head.parts {
            let left = take(PART * size_of::<(RequestRecord, InFigures)>())?;
            let Part { requests } = read_form(from, left)?;
            if requests.len() > PART {
                return Err(WireError::Value { what: "number of records" }.into());
            }
            for (record, used) in requests {
                records.push(record, used);
            }
        }
        let mut recorders = Vec::new();
        for chunks in &head.chunks {
            let mut of_one = Vec::new();
            for _ in 0..*chunks {
                let left = take(size_of::<Vec<u8>>())?;
                let Chunk { entries } = read_form(from, left)?;
                take(entries.len())?;
                of_one.push(entries);
            }
            recorders.push(of_one);
        }
        if from.read(&mut [0])? > 0 {
            return Err(WireError::Trailing.into());
        }
        let tape = Tape::from_chunks(head.has_token_times, recorders);
        let tape = if head.is_whole { tape } else { tape.lost() };
        Ok(KeptRun { head, records, tape })
    }
}

fields!(Findings { doubts, lost_target });
fields!(Head { load, findings, left_out, parts, has_token_times, is_whole, chunks });
fields!(Part { requests });
fields!(Chunk { entries });

impl Form for Head {
    const KIND: u8 = 5;
    const NAME: &'static str = "kept run";
}

impl Form for Part {
    const KIND: u8 = 6;
    const NAME: &'static str = "part of the records";
}

impl Form for Chunk {
    const KIND: u8 = 7;
    const NAME: &'static str = "part of the entries";
}

#[cfg(test)]
mod tests;
