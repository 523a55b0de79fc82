//! Resolves the host names of sources repeatedly, because their addresses change.

use std::net::SocketAddr;

use futures::future::FutureExt as _;
use server_metrics::identity;

use super::{Event, LOOK_UP_EVERY, Worker};
use crate::{
    TIMEOUT, client,
    endpoint::Endpoint,
    lookup::{self, Place},
};

impl Worker {
    /// Creates the endpoints of all sources, and begins to look up host names.
    pub(super) fn find(&mut self) {
        for source in 0..self.sources.len() {
            match self.sources[source].place {
                Place::Fixed | Place::Socket(_) => self.add(source, None),
                Place::Name { .. } => {
                    self.first_lookups += 1;
                    self.look_up(source);
                    self.next_lookup = self.clock.now() + LOOK_UP_EVERY;
                }
            }
        }
    }

    /// Begins to look up the host name of a source, unless its last lookup is still running. Abandons a lookup that takes too long, although the
    /// system continues it.
    pub(super) fn look_up(&mut self, source: usize) {
        let Place::Name { host, port } = self.sources[source].place.clone() else { return };
        if self.lookups[source].as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let resolver = self.resolver.clone();
        let task = tokio::spawn(async move { resolver.addresses(&host, port).await });
        self.lookups[source] = Some(task.abort_handle());
        let looked_up = async move {
            let found = match clock::limit(TIMEOUT, task).await {
                Ok(Ok(found)) => found.map(client::distinct).map_err(|error| identity::shown(&error.to_string())),
                Ok(Err(error)) => Err(identity::shown(&error.to_string())),
                Err(clock::TimedOut) => Err(format!("the name was not resolved within {} s", TIMEOUT.as_secs())),
            };
            Event::LookedUp { source, found }
        };
        self.under_way.push(looked_up.boxed_local());
    }

    pub(super) fn take_lookup(&mut self, source: usize, found: Result<Vec<SocketAddr>, String>) {
        self.first_lookups = self.first_lookups.saturating_sub(1);
        let found = match found {
            Ok(found) => found,
            Err(problem) => {
                // After a failed lookup, known addresses stay in use.
                let known = self.endpoints.iter().any(|it| it.source == source);
                self.sources[source].problem = Some(problem).filter(|_| !known);
                return;
            }
        };
        self.sources[source].problem = None;
        let found = self.sources[source].of_one_family(found);
        let of_source = |it: &&Endpoint| it.source == source && !it.gone;
        let known: Vec<SocketAddr> = self.endpoints.iter().filter(of_source).filter_map(|it| it.address).collect();
        let (new, old) = lookup::changes(&known, &found);
        for place in 0..self.endpoints.len() {
            let endpoint = &mut self.endpoints[place];
            if endpoint.source == source && endpoint.address.is_some_and(|it| old.contains(&it)) {
                endpoint.gone = true;
                self.edge.iter_mut().for_each(|it| it.end(place));
            }
        }
        self.sources[source].left_out = 0;
        for address in new {
            let back = self.endpoints.iter().position(|it| it.source == source && it.address == Some(address));
            match back {
                // The address was a guess and has no metrics, so it is not scraped again.
                Some(place) if self.endpoints[place].has_none => {}
                Some(place) => {
                    let endpoint = &mut self.endpoints[place];
                    (endpoint.gone, endpoint.is_other_family, endpoint.due) = (false, false, self.clock.now());
                }
                None => self.add(source, Some(address)),
            }
        }
    }

    /// Called after the first response from an address of a name. From then on, addresses of the other IP family are not scraped, because they lead
    /// to the same servers.
    pub(super) fn take_family(&mut self, place: usize) {
        let Endpoint { source, address: Some(address), .. } = self.endpoints[place] else { return };
        if self.sources[source].is_v4.is_some() {
            return;
        }
        self.sources[source].is_v4 = Some(address.is_ipv4());
        for (place, other) in self.endpoints.iter_mut().enumerate() {
            if other.source == source && other.address.is_some_and(|it| it.is_ipv4() != address.is_ipv4()) {
                (other.gone, other.is_other_family) = (true, true);
                self.edge.iter_mut().for_each(|it| it.end(place));
            }
        }
        // Other addresses of this family that were left out may now have room.
        if self.sources[source].left_out > 0 {
            self.look_up(source);
        }
    }
}
