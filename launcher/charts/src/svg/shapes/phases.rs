//! The phases of a request, for figures of requests.

use crate::{figure::Tone, svg::legend::Sample};

/// A phase of a request, with its entry in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Phase {
    pub name: &'static str,
    pub tone: Tone,
    pub sample: Sample,
}

/// The phases in time order. The last entry is used instead of the phase in which a request failed.
pub(crate) const PHASES: [Phase; 4] = [
    Phase { name: "due, not sent", tone: Tone::Quiet, sample: Sample::Bar },
    Phase { name: "sent to first token", tone: Tone::Category(1), sample: Sample::Bar },
    Phase { name: "first token to end", tone: Tone::Main, sample: Sample::Bar },
    Phase { name: "failed", tone: Tone::Bad, sample: Sample::Striped },
];
