//! A value that belongs to the request that ended first. Pure.

use std::{fmt, ops::Deref, time::Duration};

use crate::{
    record::RequestRecord,
    wire::{Reader, Wire, WireError, Writer},
};

/// A value that belongs to the request that ended first. Requests that ended at the same time are ordered by stage and number, so the
/// result does not depend on the number of recorders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earliest<T> {
    ended: Duration,
    stage: u32,
    number: u64,
    value: T,
}

impl<T> Earliest<T> {
    pub(super) fn new(request: &RequestRecord, value: T) -> Earliest<T> {
        Earliest { ended: request.ended, stage: request.stage, number: request.number, value }
    }

    fn place(&self) -> (Duration, u32, u64) {
        (self.ended, self.stage, self.number)
    }

    /// Whether `request` ended before the request of this value.
    pub(super) fn is_after(&self, request: &RequestRecord) -> bool {
        (request.ended, request.stage, request.number) < self.place()
    }

    /// Takes over the other value if its request ended earlier.
    pub(super) fn add(&mut self, other: &Earliest<T>)
    where
        T: Clone,
    {
        if other.place() < self.place() {
            self.clone_from(other);
        }
    }
}

impl<T> Deref for Earliest<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Display> fmt::Display for Earliest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Wire> Wire for Earliest<T> {
    fn write(&self, to: &mut Writer) {
        self.ended.write(to);
        self.stage.write(to);
        self.number.write(to);
        self.value.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Earliest<T>, WireError> {
        Ok(Earliest {
            ended: Wire::read(from)?,
            stage: Wire::read(from)?,
            number: Wire::read(from)?,
            value: Wire::read(from)?,
        })
    }
}
