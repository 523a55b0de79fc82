//! A run that measures how a server starts.

use super::{EffectiveSpec, Errors};
use crate::benchmark_run::{BenchmarkRunSpec, Harness};

/// A server that is up has started already.
pub(super) fn check(spec: &BenchmarkRunSpec, effective: &EffectiveSpec, errors: &mut Errors) {
    if effective.harness == Harness::Nop && spec.target.server.is_none() {
        errors.add(
            "spec.harness",
            "is nop, which measures how a server starts, and needs spec.target.server, a server that the run starts; of a server that \
             is up, read the log with `benchwright startup FILE`, or choose another harness, such as benchwright",
        );
    }
}
