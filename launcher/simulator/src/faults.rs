//! Deliberate faults, to test a launcher against bad servers.

use crds::units::Seed;

use super::text::mix;

/// A fault and its frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// The fraction of requests that the fault affects, from 0 to 1.
    pub ratio: f64,
}

/// What happens to a request that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Generation is refused with this status.
    Status(u16),
    /// The connection is cut after this many tokens of a stream; complete answers are unaffected.
    BreakAfter(u32),
    /// A stream stops sending after this many tokens; complete answers are never sent.
    StallAfter(u32),
    /// The request is never answered, on any path.
    Hang,
}

impl Fault {
    /// Whether the fault affects the request with this number. The same seed gives the same result.
    pub fn hits(&self, seed: Seed, number: u64) -> bool {
        let draw = mix(seed.derive("simulator/faults").0, number) >> 11;
        (draw as f64) < self.ratio * (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_hits_the_share_that_was_asked_for() {
        let hits = |ratio, seed| {
            let fault = Fault { kind: FaultKind::Hang, ratio };
            (0..10_000).filter(|number| fault.hits(Seed(seed), *number)).collect::<Vec<_>>()
        };
        assert_eq!(hits(0.0, 1).len(), 0);
        assert_eq!(hits(1.0, 1).len(), 10_000);
        assert!((2_300..2_700).contains(&hits(0.25, 1).len()), "{}", hits(0.25, 1).len());
        assert_eq!(hits(0.25, 1), hits(0.25, 1));
        assert_ne!(hits(0.25, 1), hits(0.25, 2));
    }
}
