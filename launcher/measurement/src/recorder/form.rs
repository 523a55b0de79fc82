//! The binary form of a recorder: see [`crate::wire`].

use super::{KeptOutput, Opened, Recorder};
use crate::wire::{Reader, Wire, WireError, Writer, fields, form};

impl Recorder {
    /// Whether there is one entry for each stage, and one list of gaps for each record.
    fn is_consistent(&self) -> bool {
        let stages = self.stages.len();
        let gaps = self.gaps.as_ref().map(Vec::len);
        let records = self.records.as_ref().map(super::Records::len);
        [self.series.len(), self.windows.len()] == [stages; 2]
            && [self.probes.len(), self.sessions.len()].iter().all(|it| [0, stages].contains(it))
            && gaps.is_none_or(|it| Some(it) == records)
    }
}

fields!(KeptOutput { stage, number, row, ended, output });
fields!(Opened { window, start });

impl Wire for Recorder {
    fn write(&self, to: &mut Writer) {
        let Recorder {
            stages,
            records,
            strays,
            gaps,
            outputs,
            classes,
            probes,
            sessions,
            series,
            sample,
            windows,
            goodput,
        } = self;
        stages.write(to);
        records.write(to);
        strays.write(to);
        gaps.write(to);
        outputs.write(to);
        classes.write(to);
        probes.write(to);
        sessions.write(to);
        series.write(to);
        sample.write(to);
        windows.write(to);
        goodput.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Recorder, WireError> {
        let recorder = Recorder {
            stages: Wire::read(from)?,
            records: Wire::read(from)?,
            strays: Wire::read(from)?,
            gaps: Wire::read(from)?,
            outputs: Wire::read(from)?,
            classes: Wire::read(from)?,
            probes: Wire::read(from)?,
            sessions: Wire::read(from)?,
            series: Wire::read(from)?,
            sample: Wire::read(from)?,
            windows: Wire::read(from)?,
            goodput: Wire::read(from)?,
        };
        if recorder.is_consistent() { Ok(recorder) } else { Err(WireError::Value { what: "number of stages" }) }
    }
}

form!(Recorder = 1, "recorder");
