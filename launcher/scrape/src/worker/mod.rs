//! [I/O] The loop of the scrape thread: starts scrapes and lookups that are due, and processes their results.

mod names;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, sync::mpsc::SyncSender, time::Duration};

use clock::Clock;
use crds::benchmark_run::MetricsKind;
use engine::client::Resolver;
use futures::{
    future::{FutureExt as _, LocalBoxFuture},
    stream::{FuturesUnordered, StreamExt as _},
};
use rustls::ClientConfig;
use server_metrics::{
    families::Role,
    identity,
    scraped::{MAX_ADDRESSES, Scraped},
    series::{Answer, Keep, Limits, Store},
};
use tokio::{
    sync::{mpsc::Receiver, watch},
    task::AbortHandle,
};
use tracing::debug;

use super::{
    Command, Depth, MAX_BYTES, Order,
    client::{Budget, Caller},
    edge::Edge,
    endpoint::{Counts, Endpoint},
    lookup::{Known, Place},
};

/// Time between two lookups of a name. A new pod is found within this time.
const LOOK_UP_EVERY: Duration = Duration::from_secs(10);
/// Maximum size of a response from `/version` and similar paths, in bytes. SGLang's response contains all its settings.
const MAX_VERSION_BYTES: usize = 1 << 20;
/// Maximum size of a list of models, in bytes.
const MAX_MODELS_BYTES: usize = 4 << 20;
/// Timeout of the requests for version and models. It is short because the load waits for them.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of times that the interval is doubled because memory is full. After that many times, it is 18 hours.
const MAX_HALVINGS: u32 = 16;

/// Number of parts in an interval. The scrapes of different addresses begin in different parts, so that they are spread evenly.
const PARTS: usize = 16;

/// The result of a finished operation.
enum Event {
    Scraped { endpoint: usize, at: Duration, took: Duration, edge: bool, result: Result<Vec<u8>, String> },
    LookedUp { source: usize, found: Result<Vec<SocketAddr>, String> },
    Version { endpoint: usize, text: Result<Vec<u8>, String> },
    Models { endpoint: usize, text: Result<Vec<u8>, String> },
}

pub(super) struct Worker {
    clock: Clock,
    commands: Receiver<Command>,
    interval: Duration,
    timeout: Duration,
    token: Option<String>,
    tls: ClientConfig,
    resolver: Resolver,
    budget: Budget,
    sources: Vec<Known>,
    /// Handle of the last lookup of each source.
    lookups: Vec<Option<AbortHandle>>,
    unusable: Vec<(String, String)>,
    endpoints: Vec<Endpoint>,
    store: Store,
    under_way: FuturesUnordered<LocalBoxFuture<'static, Event>>,
    edge: Option<Edge>,
    /// Number of sources whose first lookup has not ended.
    first_lookups: usize,
    /// Number of requests for version or models in flight.
    questions: usize,
    next_lookup: Duration,
    depth: watch::Sender<Option<Depth>>,
}

impl Worker {
    pub(super) fn new(
        order: Order,
        tls: ClientConfig,
        commands: Receiver<Command>,
        depth: watch::Sender<Option<Depth>>,
    ) -> Worker {
        let (mut sources, mut unusable) = (Vec::new(), Vec::new());
        for source in order.sources {
            let url = source.url.clone();
            match Known::new(source, &order.resolver) {
                Ok(known) => sources.push(known),
                Err(problem) => unusable.push((url, problem)),
            }
        }
        Worker {
            clock: Clock::start(),
            commands,
            interval: order.interval,
            timeout: order.timeout,
            token: order.token,
            tls,
            resolver: order.resolver,
            budget: Budget::default(),
            lookups: vec![None; sources.len()],
            sources,
            unusable,
            endpoints: Vec::new(),
            store: Store::new(Limits::default()),
            under_way: FuturesUnordered::new(),
            edge: None,
            first_lookups: 0,
            questions: 0,
            next_lookup: Duration::MAX,
            depth,
        }
    }

    /// Runs until [`Command::End`].
    pub(super) async fn run(mut self) -> Scraped {
        let sleeper = self.clock.sleeper();
        self.find();
        loop {
            let next = self.next();
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(Command::Scrape(done)) => self.begin_edge(done, false),
                    Some(Command::Settle(done)) => self.begin_edge(done, true),
                    Some(Command::End) | None => break,
                },
                Some(event) = self.under_way.next(), if !self.under_way.is_empty() => self.take(event),
                () = sleeper.until(next) => self.tick(),
            }
            self.end_edge();
        }
        self.into_scraped()
    }

    /// Returns the time between two scrapes of an address. It becomes longer when memory is full.
    fn interval(&self) -> Duration {
        self.interval * (1 << self.store.halvings().min(MAX_HALVINGS))
    }

    /// Returns when the next operation is due.
    fn next(&self) -> Duration {
        let dues = self.endpoints.iter().filter(|it| !it.gone && !it.busy).map(|it| it.due);
        let again = self.edge.as_ref().and_then(|it| it.again);
        dues.chain(again).chain([self.next_lookup]).min().unwrap_or(Duration::MAX)
    }

    /// Adds an address of a source.
    fn add(&mut self, source: usize, address: Option<SocketAddr>) {
        if self.endpoints.len() >= MAX_ADDRESSES {
            self.sources[source].left_out += 1;
            return;
        }
        let known = &mut self.sources[source];
        let host = match &known.place {
            Place::Name { host, .. } => address.map(|it| (host.as_str(), it)),
            Place::Fixed | Place::Socket(_) => None,
        };
        let socket = match &known.place {
            Place::Socket(path) => Some(path.as_str()),
            _ => None,
        };
        let token = self.token.clone().filter(|_| known.source.gets_token);
        let caller = match Caller::new(host, socket, self.tls.clone(), token, self.budget.clone()) {
            Ok(caller) => caller,
            Err(error) => {
                known.problem = Some(identity::shown(&error.without_url().to_string()));
                return;
            }
        };
        let index = self.store.add_address(known.source.engine);
        let place = self.endpoints.len();
        // Spreads the scrapes of many addresses over the interval.
        let part = u32::try_from(place % PARTS).unwrap_or_default();
        let interval = self.interval();
        let due = self.clock.now() + interval + interval * part / PARTS as u32;
        self.endpoints.push(Endpoint {
            source,
            address,
            caller,
            index,
            busy: false,
            gone: false,
            has_none: false,
            is_other_family: false,
            due,
            counts: Counts::default(),
            version: None,
            models: None,
            asked: false,
        });
        if let Some(edge) = &mut self.edge {
            edge.add(place);
            self.start(place);
        }
    }

    /// Begins a scrape of an address, unless one is in flight.
    fn start(&mut self, place: usize) {
        let now = self.clock.now();
        let interval = self.interval();
        let edge = self.edge.as_ref().is_some_and(|it| it.wants(place));
        let endpoint = &mut self.endpoints[place];
        if endpoint.busy || endpoint.gone {
            return;
        }
        endpoint.busy = true;
        if endpoint.due <= now {
            endpoint.schedule(now, interval);
        }
        let timeout = self.timeout;
        let (caller, url) = (endpoint.caller.clone(), self.sources[endpoint.source].url.clone());
        let scraped = async move {
            let at = clock::monotonic();
            let result = caller.get(url, MAX_BYTES, timeout).await;
            Event::Scraped { endpoint: place, at, took: clock::monotonic().saturating_sub(at), edge, result }
        };
        self.under_way.push(scraped.boxed_local());
    }

    /// Starts all operations that are due.
    fn tick(&mut self) {
        let now = self.clock.now();
        if self.edge.as_ref().and_then(|it| it.again).is_some_and(|it| it <= now) {
            let live = self.live();
            if let Some(edge) = &mut self.edge {
                edge.begin_again(live.iter().copied());
            }
            live.into_iter().for_each(|it| self.start(it));
        }
        for place in 0..self.endpoints.len() {
            if self.endpoints[place].due <= now {
                self.start(place);
            }
        }
        if self.next_lookup <= now {
            self.next_lookup = now + LOOK_UP_EVERY;
            (0..self.sources.len()).for_each(|it| self.look_up(it));
        }
    }

    fn live(&self) -> Vec<usize> {
        let endpoints = self.endpoints.iter().enumerate();
        endpoints.filter(|(_, it)| !it.gone).map(|(place, _)| place).collect()
    }

    fn begin_edge(&mut self, done: SyncSender<()>, settles: bool) {
        let live = self.live();
        self.edge = Some(Edge::new(done, settles, live.iter().copied()));
        live.into_iter().for_each(|it| self.start(it));
    }

    /// If the round before or after a load is over, notifies the launcher.
    fn end_edge(&mut self) {
        let over = self.edge.as_ref().is_some_and(Edge::is_over);
        if !over || self.first_lookups > 0 || self.questions > 0 {
            return;
        }
        let again = self.clock.now() + self.interval;
        let busy = self.is_busy();
        if !self.edge.as_mut().is_some_and(|it| it.settle(busy, again)) {
            self.edge.take().into_iter().for_each(Edge::answer);
        }
    }

    /// The number of requests in the servers; `None` if an address has not reported it, or if its last scrape failed.
    fn depth(&self) -> Option<Depth> {
        let live = self.endpoints.iter().filter(|it| !it.gone && !it.is_other_family);
        let mut depth: Option<Depth> = None;
        for index in live.map(|it| it.index) {
            let scrape = self.store.addresses().get(index)?.scrapes().last().filter(|it| it.ok)?;
            let of = |role: Role| self.store.series().iter().filter(move |it| it.address == index && it.role == role);
            of(Role::Running).next()?;
            let requests: f64 = of(Role::Running).chain(of(Role::Waiting)).map(|it| it.last()).sum();
            let earlier = depth.unwrap_or(Depth { at: scrape.at, requests: 0.0 });
            depth = Some(Depth { at: earlier.at.min(scrape.at), requests: earlier.requests + requests });
        }
        depth
    }

    /// Whether a server may still count tokens: it reported requests in flight, or its last scrape failed.
    fn is_busy(&self) -> bool {
        let live: Vec<usize> = self.endpoints.iter().filter(|it| !it.gone).map(|it| it.index).collect();
        let running = self.store.series().iter().filter(|it| it.role == Role::Running && live.contains(&it.address));
        let failed = |index: &usize| {
            let scrapes = self.store.addresses().get(*index).map_or(&[][..], |it| it.scrapes());
            scrapes.last().is_some_and(|it| !it.ok) && scrapes.iter().any(|it| it.ok)
        };
        running.into_iter().any(|it| it.last() > 0.0) || live.iter().any(failed)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Scraped { endpoint, at, took, edge, result } => self.take_scrape(endpoint, at, took, edge, result),
            Event::LookedUp { source, found } => self.take_lookup(source, found),
            Event::Version { endpoint, text } => {
                self.questions -= 1;
                self.endpoints[endpoint].version = text.ok().and_then(|it| identity::version(&it));
            }
            Event::Models { endpoint, text } => {
                self.questions -= 1;
                self.endpoints[endpoint].models = text.ok().and_then(|it| identity::models(&it));
            }
        }
    }

    fn take_scrape(&mut self, place: usize, at: Duration, took: Duration, edge: bool, result: Result<Vec<u8>, String>) {
        let endpoint = &mut self.endpoints[place];
        let source = &self.sources[endpoint.source].source;
        endpoint.busy = false;
        if endpoint.is_other_family {
            return;
        }
        let keep = if source.engine == Some(MetricsKind::Prometheus) { Keep::All } else { Keep::Known };
        let text = result.as_ref().ok().map(Vec::as_slice);
        let ok = self.store.record(endpoint.index, Answer { at, took, text, edge }, keep);
        match &result {
            Ok(text) if ok => endpoint.counts.succeed(took, text.len()),
            Ok(_) => endpoint.counts.fail("the answer has no metrics".into()),
            Err(reason) => endpoint.counts.fail(reason.clone()),
        }
        if source.is_guess && !endpoint.counts.has_succeeded() {
            debug!(url = source.url, ?result, "the target tells no metrics");
            (endpoint.gone, endpoint.has_none) = (true, true);
        }
        let gone = endpoint.gone;
        self.depth.send_replace(self.depth());
        if let Some(round) = &mut self.edge {
            if edge || gone {
                round.end(place);
            } else if round.wants(place) {
                self.start(place);
            }
        }
        if ok {
            self.take_family(place);
            self.ask(place);
        }
    }

    /// Requests version and models of a model server. Does so only once per address.
    fn ask(&mut self, place: usize) {
        let endpoint = &mut self.endpoints[place];
        let engine = self.store.addresses().get(endpoint.index).and_then(|it| it.engine);
        let engine = engine.and_then(MetricsKind::engine).filter(|_| !endpoint.asked);
        let Some(path) = engine.and_then(|it| it.row().version_path) else { return };
        endpoint.asked = true;
        self.questions += 2;
        let source = &self.sources[endpoint.source];
        let info = source.beside(path);
        let list = source.beside("/v1/models");
        let (one, other) = (endpoint.caller.clone(), endpoint.caller.clone());
        let version = async move {
            let text = one.get(info, MAX_VERSION_BYTES, QUESTION_TIMEOUT).await;
            Event::Version { endpoint: place, text }
        };
        let models = async move {
            let text = other.get(list, MAX_MODELS_BYTES, QUESTION_TIMEOUT).await;
            Event::Models { endpoint: place, text }
        };
        self.under_way.push(version.boxed_local());
        self.under_way.push(models.boxed_local());
    }

    fn into_scraped(self) -> Scraped {
        let interval = self.interval();
        let Worker { sources, mut unusable, endpoints, mut store, .. } = self;
        let problems = sources.iter().filter(|it| !it.source.is_guess);
        unusable.extend(problems.filter_map(|it| Some((it.source.url.clone(), it.problem.clone()?))));
        let told = |it: &Endpoint| it.counts.has_succeeded() || !sources[it.source].source.is_guess;
        let mut endpoints: Vec<Endpoint> = endpoints.into_iter().filter(|it| told(it) && !it.is_other_family).collect();
        let name = |index: usize| {
            let endpoint = endpoints.iter().find(|it| it.index == index)?;
            let url = &sources[endpoint.source].source.url;
            Some(endpoint.address.map_or_else(|| url.clone(), |it| format!("{url} ({it})")))
        };
        let pairs = store.twins();
        let twins = pairs.iter().filter_map(|(first, later)| Some((name(*first)?, name(*later)?))).collect();
        for (_, later) in pairs {
            store.forget(later);
            endpoints.retain(|it| it.index != later);
        }
        let address = |it: Endpoint| {
            let url = sources[it.source].source.url.clone();
            it.into_address(&url, &store)
        };
        let addresses = endpoints.into_iter().map(address).collect();
        let left_out = sources.iter().map(|it| it.left_out).sum();
        Scraped { addresses, unresolved: unusable, twins, left_out, interval, cpu: clock::thread_cpu(), store }
    }
}
