//! The content of a Lease, and the next step of a replica that does not hold it. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use tokio::time::Instant;

use super::{Candidate, LEASE};

/// What a replica that does not lead should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create the lease, because there is none. The creation does not make this replica the holder.
    Create,
    /// Take the lease, because it is free or has expired.
    Take,
    /// Wait, because another replica holds the lease, or because it was just created.
    Wait,
}

/// The last state of a lease that a replica saw, and when it first saw this state.
#[derive(Debug, Default)]
pub struct Observed(Option<Seen>);

#[derive(Debug)]
struct Seen {
    record: Option<LeaseSpec>,
    since: Instant,
}

impl Observed {
    /// Compares the lease with the last state that was seen, and returns the next step.
    pub fn look(&mut self, lease: Option<&Lease>, now: Instant) -> Step {
        let Some(lease) = lease else {
            self.0 = None;
            return Step::Create;
        };
        let record = lease.spec.clone();
        let since = match &self.0 {
            Some(seen) if seen.record == record => seen.since,
            _ => now,
        };
        self.0 = Some(Seen { record, since });
        let free = holder(lease).is_none();
        if free || self.free_in(now) == Some(Duration::ZERO) { Step::Take } else { Step::Wait }
    }

    /// Time until the lease expires if it does not change. `None` if no lease has been seen yet.
    pub fn free_in(&self, now: Instant) -> Option<Duration> {
        let Seen { record, since } = self.0.as_ref()?;
        let seconds = record.as_ref().and_then(|it| it.lease_duration_seconds);
        let lasts = seconds.and_then(|it| u64::try_from(it).ok()).map_or(LEASE, Duration::from_secs);
        Some((*since + lasts).saturating_duration_since(now))
    }
}

/// The name of a lease's holder. `None` if the lease was released.
pub fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|it| !it.is_empty())
}

/// A new lease, which nobody holds yet.
pub fn first(candidate: &Candidate, now: Timestamp) -> Lease {
    let metadata = ObjectMeta { name: Some(candidate.lease.clone()), ..ObjectMeta::default() };
    taken(Lease { metadata, spec: None }, &candidate.identity, now)
}

/// The lease with a new holder. It keeps the resource version, so the API server refuses it if another replica took the lease first.
pub fn taken(lease: Lease, identity: &str, now: Timestamp) -> Lease {
    let before = lease.spec.unwrap_or_default();
    let transitions = before.lease_transitions.map_or(0, |it| it.saturating_add(1));
    let spec = LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(i32::try_from(LEASE.as_secs()).unwrap_or(i32::MAX)),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(transitions),
        ..before
    };
    Lease { spec: Some(spec), ..lease }
}

/// Returns the lease after a renewal by its holder.
pub fn renewed(lease: Lease, now: Timestamp) -> Lease {
    let spec = LeaseSpec { renew_time: Some(MicroTime(now)), ..lease.spec.unwrap_or_default() };
    Lease { spec: Some(spec), ..lease }
}

/// Returns the lease without a holder.
pub fn released(lease: Lease, now: Timestamp) -> Lease {
    let spec = LeaseSpec { holder_identity: Some(String::new()), ..lease.spec.unwrap_or_default() };
    renewed(Lease { spec: Some(spec), ..lease }, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(identity: &str) -> Candidate {
        Candidate { namespace: "ops".into(), lease: "operator".into(), identity: identity.into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_taken_when_it_has_not_changed_for_its_duration() {
        let (mut observed, began) = (Observed::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(observed.look(None, began), Step::Create, "there is none");

        // The clock that set the times in the Lease is years behind.
        let lease = first(&candidate("a"), Timestamp::UNIX_EPOCH);
        assert_eq!(observed.look(Some(&lease), at(0)), Step::Wait);
        assert_eq!(observed.look(Some(&lease), at(14)), Step::Wait);
        assert_eq!(observed.free_in(at(14)), Some(Duration::from_secs(1)));
        let lease = renewed(lease, Timestamp::from_second(1).unwrap());
        assert_eq!(observed.look(Some(&lease), at(15)), Step::Wait, "it was renewed");
        assert_eq!(observed.look(Some(&lease), at(29)), Step::Wait);
        assert_eq!(observed.look(Some(&lease), at(30)), Step::Take);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_was_given_back_is_taken_at_once_and_one_that_is_created_again_is_waited_for() {
        let (mut observed, began) = (Observed::default(), Instant::now());
        let lease = first(&candidate("a"), Timestamp::UNIX_EPOCH);
        assert_eq!(observed.look(Some(&lease), began), Step::Wait);
        assert_eq!(observed.look(Some(&released(lease.clone(), Timestamp::UNIX_EPOCH)), began), Step::Take);

        assert_eq!(observed.look(Some(&lease), began), Step::Wait);
        assert_eq!(observed.look(None, began + LEASE), Step::Create);
        assert_eq!(observed.look(Some(&lease), began + LEASE), Step::Wait, "the holder may not know yet");
        assert_eq!(observed.look(Some(&lease), began + LEASE * 2), Step::Take);
    }

    #[test]
    fn each_change_of_the_holder_is_counted() {
        let lease = first(&candidate("a"), Timestamp::UNIX_EPOCH);
        let next = taken(lease.clone(), "b", Timestamp::UNIX_EPOCH);
        let spec = |lease: &Lease| lease.spec.clone().unwrap();
        assert_eq!((spec(&lease).lease_transitions, spec(&next).lease_transitions), (Some(0), Some(1)));
        assert_eq!((holder(&next), spec(&next).lease_duration_seconds), (Some("b"), Some(15)));
        assert_eq!(holder(&released(next, Timestamp::UNIX_EPOCH)), None);
    }
}
