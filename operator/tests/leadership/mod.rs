//! Tests with replicas that elect a leader, on a fake API server that stores one Lease and records which replica wrote. The clock is paused, so that
//! hours of elections take no time.

mod server;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::PostParams};
use operator::{
    connection::{Health, Limits},
    leadership::{Candidate, Election, Fence, Held, Lost},
};
use server::{Network, Server};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// Maximum time from the death of the leader until another replica leads.
const TAKEOVER: Duration = Duration::from_secs(20);

/// A replica: its election, and the client for its turns.
struct Replica {
    election: Election,
    writer: Writer,
    network: Network,
}

#[derive(Clone)]
struct Writer {
    config_maps: Api<ConfigMap>,
    identity: String,
}

impl Writer {
    /// Simulates the write of a turn: an object with the name of the replica.
    async fn write(&self) -> Result<ConfigMap, kube::Error> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(self.identity.clone());
        self.config_maps.create(&PostParams::default(), &object).await
    }
}

fn replica(server: &Server, identity: &str) -> Replica {
    let network = Network::default();
    let fence = Arc::new(Fence::closed());
    let health = Arc::new(Health::new(Limits::default()));
    let candidate = Candidate { namespace: "ops".into(), lease: "operator".into(), identity: identity.into() };
    let turns = server.client(identity, &network, Some(&fence));
    let writer = Writer { config_maps: Api::namespaced(turns, "bench"), identity: identity.into() };
    let election = Election::new(server.client(identity, &network, None), candidate, fence, health);
    Replica { election, writer, network }
}

/// Starts a replica that writes every half second from the moment it leads until it loses the lease.
fn start(replica: Replica) -> (JoinHandle<Lost>, Network) {
    let Replica { election, writer, network } = replica;
    let task = tokio::spawn(async move {
        let mut held = election.acquire().await;
        let turns = async {
            loop {
                // An error is ignored, because the loop would retry as well.
                let _ = writer.write().await;
                sleep(Duration::from_millis(500)).await;
            }
        };
        tokio::select! {
            lost = held.hold() => lost,
            () = turns => unreachable!("turns never end"),
        }
    });
    (task, network)
}

async fn leader_other_than(server: &Server, known: &str) -> String {
    let wait = async {
        loop {
            if let Some(writer) = server.last_writer().filter(|it| it != known) {
                return writer;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(120), wait).await.expect("a replica leads at some time")
}

#[tokio::test(start_paused = true)]
async fn a_hundred_killed_leaders_are_followed_within_twenty_seconds_and_never_write_beside_their_heirs() {
    let server = Server::default();
    let (mut leader, _) = start(replica(&server, "r0"));
    let mut known = leader_other_than(&server, "").await;
    let mut slowest = Duration::ZERO;
    for number in 1..=100 {
        let (heir, _) = start(replica(&server, &format!("r{number}")));
        // Each leader is killed at a different point within its renewal interval.
        sleep(Duration::from_millis(5_000 + 37 * number)).await;
        leader.abort();
        let killed = Instant::now();
        known = leader_other_than(&server, &known).await;
        assert_eq!(known, format!("r{number}"));
        slowest = slowest.max(killed.elapsed());
        leader = heir;
    }
    println!("100 leaders killed; the slowest takeover took {slowest:?}");
    assert!(slowest <= TAKEOVER, "{slowest:?}");
    assert_eq!(server.overlaps(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_a_network_stops_before_another_begins() {
    let server = Server::default();
    let (old, network) = start(replica(&server, "old"));
    assert_eq!(leader_other_than(&server, "").await, "old");
    let (_new, _) = start(replica(&server, "new"));
    sleep(Duration::from_secs(7)).await;

    network.cut();
    let cut = Instant::now();
    let lost = old.await.expect("the task ends by itself");
    assert!(matches!(lost, Lost::Expired(_)), "{lost}");
    let stopped = cut.elapsed();
    assert_eq!(leader_other_than(&server, "old").await, "new");
    assert!(stopped <= Duration::from_secs(10) && stopped < cut.elapsed(), "{stopped:?}");
    assert!(cut.elapsed() <= TAKEOVER, "{:?}", cut.elapsed());
    network.mend();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.overlaps(), Vec::<String>::new());
}

/// A process that was stopped for a while does not notice that time has passed.
#[tokio::test(start_paused = true)]
async fn a_leader_that_was_paused_for_longer_than_its_lease_writes_nothing() {
    let server = Server::default();
    let Replica { election, writer, network: _ } = replica(&server, "paused");
    let mut held = election.acquire().await;
    writer.write().await.expect("it leads");
    {
        let mut hold = std::pin::pin!(held.hold());
        assert!(timeout(Duration::from_secs(5), &mut hold).await.is_err(), "it renews its lease");
        writer.write().await.expect("it leads still");
        // From here on the leader is not polled, as if its process were stopped.
        let (_new, _) = start(replica(&server, "new"));
        assert_eq!(leader_other_than(&server, "paused").await, "new");
        let refused = writer.write().await.expect_err("another replica leads");
        assert!(refused.to_string().contains("does not lead"), "{refused}");
        assert!(matches!(hold.await, Lost::Expired(_) | Lost::Taken(_)));
    }
    assert_eq!(server.writes_of("paused"), 2);
    assert_eq!(server.overlaps(), Vec::<String>::new());
}

/// A request may take longer than the lease lasts, and arrive when another replica leads.
#[tokio::test(start_paused = true)]
async fn a_write_that_hangs_is_given_up_when_the_lease_expires() {
    let server = Server::default();
    let Replica { election, writer, network } = replica(&server, "old");
    let held = election.acquire().await;
    network.cut();
    let began = Instant::now();
    let refused = writer.write().await.expect_err("there is no network");
    assert!(refused.to_string().contains("does not lead"), "{refused}");
    assert!(began.elapsed() <= Duration::from_secs(10), "{:?}", began.elapsed());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_taken_at_once() {
    let server = Server::default();
    let held: Held = replica(&server, "old").election.acquire().await;
    let (_new, _) = start(replica(&server, "new"));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(server.last_writer(), None, "it stands by");
    let released = Instant::now();
    held.release().await;
    assert_eq!(leader_other_than(&server, "").await, "new");
    assert!(released.elapsed() < Duration::from_secs(4), "{:?}", released.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_deleted_or_taken_stops() {
    let server = Server::default();
    let mut held = replica(&server, "old").election.acquire().await;
    server.delete_lease();
    assert_eq!(held.hold().await, Lost::Deleted);

    let mut held = replica(&server, "second").election.acquire().await;
    server.change_lease(|spec| spec["holderIdentity"] = "an administrator".into());
    assert_eq!(held.hold().await, Lost::Taken("an administrator".into()));
}

#[tokio::test(start_paused = true)]
async fn labels_on_the_lease_and_an_answer_that_is_lost_end_no_leader() {
    let server = Server::default();
    let mut held = replica(&server, "old").election.acquire().await;
    server.change_lease(|_| {});
    assert!(timeout(Duration::from_secs(20), held.hold()).await.is_err());
    server.lose_next_answer();
    assert!(timeout(Duration::from_secs(60), held.hold()).await.is_err());
}

/// A Lease that never existed cannot be distinguished from one that was just deleted.
#[tokio::test(start_paused = true)]
async fn a_replica_that_starts_when_the_lease_is_deleted_does_not_write_beside_the_leader() {
    for delay in [0, 500, 1_000, 1_500, 1_900] {
        let server = Server::default();
        let (old, _) = start(replica(&server, "old"));
        assert_eq!(leader_other_than(&server, "").await, "old");
        sleep(Duration::from_millis(7_000 + delay)).await;
        server.delete_lease();
        let deleted = Instant::now();
        let (_new, _) = start(replica(&server, "new"));
        assert_eq!(leader_other_than(&server, "old").await, "new");
        assert!(deleted.elapsed() <= TAKEOVER, "{:?}", deleted.elapsed());
        assert!(matches!(old.await.expect("the task ends by itself"), Lost::Taken(_) | Lost::Deleted));
        sleep(Duration::from_secs(30)).await;
        assert_eq!(server.overlaps(), Vec::<String>::new(), "{delay}");
    }
}

/// A leader that cannot reach the API server may write until its fence closes.
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_deleted_is_not_taken_while_its_holder_may_write() {
    let server = Server::default();
    let Replica { election, writer, network: _ } = replica(&server, "old");
    let _held = election.acquire().await;
    server.delete_lease();
    let (_new, _) = start(replica(&server, "new"));
    // The old replica does not renew its lease, so it does not notice the deletion.
    while writer.write().await.is_ok() {
        sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(leader_other_than(&server, "old").await, "new");
    assert_eq!(server.overlaps(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_the_creation_or_the_taking_costs_no_second_wait() {
    let server = Server::default();
    server.lose_next_answer();
    let began = Instant::now();
    let held = replica(&server, "first").election.acquire().await;
    assert!(began.elapsed() <= TAKEOVER, "created: {:?}", began.elapsed());

    held.release().await;
    server.lose_next_answer();
    let began = Instant::now();
    let held = replica(&server, "second").election.acquire().await;
    assert!(began.elapsed() < Duration::from_secs(5), "taken: {:?}", began.elapsed());
    drop(held);
}
