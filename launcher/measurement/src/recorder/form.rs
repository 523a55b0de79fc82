//! The binary form of a recorder, see [`crate::wire`].

use super::{KeptOutput, Recorder};
use crate::wire::{Reader, Wire, WireError, Writer, fields, form};

impl Recorder {
    /// Whether there is one entry per stage in each list, and no tape without records.
    fn is_consistent(&self) -> bool {
        let stages = self.stages.len();
        [self.series.len(), self.windows.len()] == [stages; 2]
            && [self.probes.len(), self.sessions.len()].iter().all(|it| [0, stages].contains(it))
            && (self.records.is_some() || self.tape.is_none())
    }
}

fields!(KeptOutput { stage, number, row, ended, output });

impl Wire for Recorder {
    fn write(&self, to: &mut Writer) {
        let Recorder {
            stages,
            records,
            strays,
            tape,
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
        tape.write(to);
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
            tape: Wire::read(from)?,
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
