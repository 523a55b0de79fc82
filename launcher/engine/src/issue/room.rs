//! Room: how many requests of an open loop may be under way at once, over all lanes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A request's place among those under way; it is free when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Place(#[expect(dead_code, reason = "held for its drop")] Option<OwnedSemaphorePermit>);

/// The places of a stage. One that is free goes to the lane that has waited longest.
#[derive(Debug, Default)]
pub(super) struct Room(Option<Arc<Semaphore>>);

impl Room {
    /// With so many places; `None`: without a bound.
    pub(super) fn new(places: Option<u32>) -> Room {
        Room(places.map(|it| Arc::new(Semaphore::new(it as usize))))
    }

    /// Whether the number of places is bounded.
    pub(super) fn is_bounded(&self) -> bool {
        self.0.is_some()
    }

    /// A place that is free, and that nobody waits for.
    pub(super) fn try_enter(&self) -> Option<Place> {
        match &self.0 {
            Some(places) => Arc::clone(places).try_acquire_owned().ok().map(|it| Place(Some(it))),
            None => Some(Place(None)),
        }
    }

    /// A place, when one is free.
    pub(super) async fn enter(&self) -> Place {
        match &self.0 {
            // Nobody closes it.
            Some(places) => Place(Arc::clone(places).acquire_owned().await.ok()),
            None => Place(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_place_is_free_when_the_one_before_it_was_left() {
        let room = Room::new(Some(1));
        let first = room.try_enter();
        assert!(first.is_some() && room.try_enter().is_none() && room.enter().now_or_never().is_none());
        drop(first);
        assert!(room.enter().now_or_never().is_some());
        let open = Room::default();
        let places: Vec<_> = (0..9).map(|_| open.try_enter()).collect();
        assert!(places.iter().all(Option::is_some) && !open.is_bounded());
    }
}
