//! Generates the prompts of probes.

use workload_profiles::workload::Probes;

use crate::requests::{TextSeed, words_of};

/// The settings of the probes, and the seed of their prompts.
#[derive(Debug)]
pub(in crate::issue) struct ProbeRequests {
    pub(super) probes: Option<Probes>,
    pub(super) texts: TextSeed,
}

impl ProbeRequests {
    /// Returns the rate and the lengths of the probes; `None` if there are none.
    pub(in crate::issue) fn rate(&self) -> Option<Probes> {
        self.probes
    }

    /// Appends the prompt of a probe to `text`. `stage` is the stage that the probe accompanies.
    pub(in crate::issue) fn write(&self, stage: usize, number: u64, text: &mut String) {
        let words = self.probes.map_or(1, |it| it.input);
        words_of(self.texts, stage, number, words, text);
    }
}
