//! Decides which reconciliations can run now, and when a waiting run gets its next reconciliation. A namespace with a thousand runs, or with requests
//! that are never answered, must not delay other namespaces. Therefore some slots (permits for a reconciliation) are reserved for namespaces that
//! have few reconciliations in progress, and the periodic reconciliations of waiting runs are spread over time.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

/// Maximum number of concurrent reconciliations. It is enough for a burst of runs, and does not overload the API server.
pub const PLACES: usize = 16;
/// A namespace with fewer running reconciliations than this can take any free slot.
pub const SHARE: usize = 4;
/// A namespace with at least [`SHARE`] running reconciliations can only take another slot while fewer than this number are taken. The rest is
/// reserved for other namespaces.
pub const COMMON: usize = PLACES - SHARE;
/// Maximum number of periodic reconciliations per second for the waiting runs of one namespace.
const LOOKS_OF_NAMESPACE: u32 = 10;
/// Maximum number of periodic reconciliations per second for all waiting runs.
const LOOKS: u32 = 20;
/// Runs whose next periodic reconciliation is later than this do not count toward these two rates, because they cause little load.
const SOON: Duration = Duration::from_secs(60);

/// The slots, and the reconciliations that wait for one.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    /// The start time of each running reconciliation.
    running: BTreeMap<u64, Instant>,
    next_number: u64,
    namespaces: BTreeMap<String, Namespace>,
    /// The namespaces with waiting reconciliations. The first one gets the next slot.
    order: VecDeque<String>,
    last_end: Option<Instant>,
}

#[derive(Debug, Default)]
struct Namespace {
    running: usize,
    /// The waiting reconciliations of a namespace. Their number is bounded by the number of runs, because the loop starts no second reconciliation of
    /// a run.
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// The permit for a running reconciliation. The reconciliation counts as ended when this value is dropped.
#[derive(Debug)]
pub struct Place {
    /// The queue to which the slot is released. `None` after the release.
    turns: Option<Arc<Turns>>,
    namespace: String,
    number: u64,
}

impl Turns {
    /// Waits for a slot. Reconciliations of one namespace get slots in the order of their requests. Namespaces take turns.
    pub async fn enter(self: &Arc<Self>, namespace: &str) -> Place {
        let (place, granted) = oneshot::channel();
        {
            let mut places = self.lock();
            let of = places.namespaces.entry(namespace.to_owned()).or_default();
            let first = of.waiting.is_empty();
            of.waiting.push_back(place);
            if first {
                places.order.push_back(namespace.to_owned());
            }
        }
        self.grant();
        match granted.await {
            Ok(place) => place,
            // A sender is only dropped after it was used, so this should not happen. If it does, the reconciliation exceeds the limit instead of
            // never running.
            Err(_) => {
                let number = self.lock().begin(namespace);
                self.place(namespace.to_owned(), number)
            }
        }
    }

    /// Number of reconciliations that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.lock().namespaces.values().map(|it| it.waiting.len()).sum()
    }

    /// Time since the start of the oldest running reconciliation.
    pub fn oldest(&self) -> Option<Duration> {
        self.lock().running.values().next().map(Instant::elapsed)
    }

    /// Time since a reconciliation last ended or, before the first end, since the oldest running reconciliation started. `None` if no reconciliation
    /// waits.
    pub fn idle(&self) -> Option<Duration> {
        let places = self.lock();
        let since = places.last_end.or_else(|| places.running.values().next().copied())?;
        Some(since.elapsed()).filter(|_| !places.order.is_empty())
    }

    fn grant(self: &Arc<Self>) {
        loop {
            let Some((namespace, place, number)) = self.lock().next() else { return };
            // If the waiting reconciliation was cancelled meanwhile, it takes no slot.
            if let Err(mut place) = place.send(self.place(namespace, number)) {
                place.turns = None;
                self.lock().end(&place.namespace, number);
            }
        }
    }

    fn place(self: &Arc<Self>, namespace: String, number: u64) -> Place {
        Place { turns: Some(Arc::clone(self)), namespace, number }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the slots in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.lock().end(&self.namespace, self.number);
            turns.grant();
        }
    }
}

impl Places {
    /// The next waiting reconciliation that can begin.
    fn next(&mut self) -> Option<(String, oneshot::Sender<Place>, u64)> {
        let taken = self.running.len();
        let may = |of: &Namespace| taken < COMMON || (taken < PLACES && of.running < SHARE);
        let at = self.order.iter().position(|it| self.namespaces.get(it).is_some_and(may))?;
        let namespace = self.order.remove(at)?;
        let of = self.namespaces.get_mut(&namespace)?;
        let place = of.waiting.pop_front()?;
        if !of.waiting.is_empty() {
            self.order.push_back(namespace.clone());
        }
        let number = self.begin(&namespace);
        Some((namespace, place, number))
    }

    fn begin(&mut self, namespace: &str) -> u64 {
        self.namespaces.entry(namespace.to_owned()).or_default().running += 1;
        self.next_number += 1;
        self.running.insert(self.next_number, Instant::now());
        self.next_number
    }

    fn end(&mut self, namespace: &str, number: u64) {
        self.running.remove(&number);
        self.last_end = Some(Instant::now());
        if let Some(of) = self.namespaces.get_mut(namespace) {
            of.running = of.running.saturating_sub(1);
            if of.running == 0 && of.waiting.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }
}

/// The runs that will soon get a periodic reconciliation, by UID, with their namespaces. The more runs there are, the longer is the time between two
/// reconciliations of a run, so that the total rate of reads is bounded.
#[derive(Debug, Default)]
pub struct Looks(Mutex<HashMap<String, String>>);

impl Looks {
    /// Time to the next periodic reconciliation of a run that requests it after `wait`. It can be longer than `wait`.
    pub fn next(&self, run_uid: &str, namespace: &str, wait: Option<Duration>) -> Option<Duration> {
        let mut waiting = self.lock();
        let Some(soon) = wait.filter(|it| *it <= SOON) else {
            waiting.remove(run_uid);
            return wait;
        };
        waiting.insert(run_uid.to_owned(), namespace.to_owned());
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let of_namespace = count(waiting.values().filter(|it| *it == namespace).count());
        let spread = |number: u32, rate: u32| Duration::from_secs(1).saturating_mul(number) / rate;
        Some(soon.max(spread(of_namespace, LOOKS_OF_NAMESPACE)).max(spread(count(waiting.len()), LOOKS)))
    }

    /// Removes the entry of a run.
    pub fn forget(&self, run_uid: &str) {
        self.lock().remove(run_uid);
    }

    /// Number of waiting runs.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        // If another thread has panicked, the lock is poisoned, but it is used nevertheless: every operation leaves the map in a valid state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Requests `count` slots for a namespace, and returns those that are granted immediately.
    fn enter(turns: &Arc<Turns>, namespace: &str, count: usize) -> Vec<Place> {
        (0..count).filter_map(|_| turns.enter(namespace).now_or_never()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_namespace_leaves_places_for_others() {
        let turns = Arc::<Turns>::default();
        let greedy = enter(&turns, "greedy", 100);
        assert_eq!(greedy.len(), COMMON);
        let others = enter(&turns, "other", 100);
        assert_eq!(others.len(), SHARE);
        assert_eq!(enter(&turns, "third", 1).len(), 0, "all places are taken");
        drop(others);
        let thirds = enter(&turns, "third", 1);
        assert_eq!(thirds.len(), 1);
        drop((greedy, thirds));
        assert_eq!((turns.waiting(), turns.oldest()), (0, None));
        assert!(turns.lock().namespaces.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_turns_get_places_in_order_and_namespaces_in_turn() {
        let turns = Arc::<Turns>::default();
        let taken = enter(&turns, "a", COMMON);
        let log = Arc::<Mutex<Vec<String>>>::default();
        for (namespace, name) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")] {
            let (turns, log) = (Arc::clone(&turns), Arc::clone(&log));
            tokio::spawn(async move {
                let _place = turns.enter(namespace).await;
                log.lock().unwrap().push(name.to_owned());
                tokio::time::sleep(Duration::from_secs(1)).await;
            });
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(*log.lock().unwrap(), ["b1"], "a has more than its share");
        assert_eq!((turns.waiting(), turns.idle().map(|it| it.as_secs())), (3, Some(4)));
        drop(taken);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(*log.lock().unwrap(), ["b1", "a1", "a2", "a3"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_is_given_up_leaves_no_place_taken() {
        let turns = Arc::<Turns>::default();
        let taken = enter(&turns, "a", COMMON);
        let waiting = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move { turns.enter("a").await }
        });
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err_and(|it| it.is_cancelled()));
        drop(taken);
        assert_eq!((turns.oldest(), turns.waiting()), (None, 0));
    }

    #[test]
    fn the_more_runs_wait_the_longer_each_waits() {
        let looks = Looks::default();
        let two = Some(Duration::from_secs(2));
        assert_eq!(looks.next("first", "a", two), two, "a few wait as long as they ask");
        for number in 0..999 {
            looks.next(&format!("uid-{number}"), "a", two);
        }
        assert_eq!(looks.next("first", "a", two), Some(Duration::from_secs(100)), "10 looks a second");
        assert_eq!(looks.next("other", "b", two), Some(Duration::from_secs(1_001) / 20), "20 looks a second in all");
        let day = Some(Duration::from_secs(86_400));
        assert_eq!((looks.next("other", "b", day), looks.next("first", "a", None)), (day, None));
        looks.forget("uid-0");
        assert_eq!(looks.count(), 998);
    }
}
