//! A fake API server that stores one Lease, and records which replica sent each other write.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::{
    Client,
    client::{Body, ClientBuilder},
};
use operator::leadership::{Fence, Fenced};
use serde_json::{Value, json};

/// The network connection of one replica.
#[derive(Clone, Default)]
pub struct Network(Arc<AtomicBool>);

impl Network {
    /// From now on, drops all requests without a response.
    pub fn cut(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn mend(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
    lose_answer: bool,
    /// The replicas that wrote, in order.
    writers: Vec<String>,
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    /// A client for a replica. The client for the lease has no fence.
    pub fn client(&self, identity: &str, network: &Network, fence: Option<&Arc<Fence>>) -> Client {
        let (server, network, identity) = (self.clone(), network.clone(), identity.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (server, network, identity) = (server.clone(), network.clone(), identity.clone());
            async move {
                if network.0.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                server.state().answer(&identity, &parts.method, parts.uri.path(), body)
            }
        });
        let fence = fence.cloned().unwrap_or_else(|| Arc::new(Fence::open()));
        ClientBuilder::new(Fenced::new(service, fence), "bench").build()
    }

    pub fn last_writer(&self) -> Option<String> {
        self.state().writers.last().cloned()
    }

    pub fn writes_of(&self, identity: &str) -> usize {
        self.state().writers.iter().filter(|it| *it == identity).count()
    }

    /// The replicas that wrote again after another replica had begun to write.
    pub fn overlaps(&self) -> Vec<String> {
        let mut writers = self.state().writers.clone();
        writers.dedup();
        let again = writers.iter().enumerate().filter(|(at, it)| writers[..*at].contains(it));
        again.map(|(_, it)| it.clone()).collect()
    }

    pub fn delete_lease(&self) {
        self.state().lease = None;
    }

    pub fn change_lease(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let mut lease = state.lease.clone().expect("there is a lease");
        change(&mut lease["spec"]);
        state.store(lease);
    }

    /// The next write to the lease takes effect, but its response is lost.
    pub fn lose_next_answer(&self) {
        self.state().lose_answer = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answer = Result<Response<Full<Bytes>>, io::Error>;

impl State {
    fn answer(&mut self, identity: &str, method: &Method, path: &str, body: Value) -> Answer {
        if !path.contains("/leases") {
            self.writers.push(identity.to_owned());
            return answer(200, &body);
        }
        let found = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (method, self.lease.as_ref()) {
            (&Method::GET | &Method::PUT, None) => answer(404, &failure(404, "NotFound")),
            (&Method::GET, Some(lease)) => answer(200, lease),
            (&Method::POST, Some(_)) => answer(409, &failure(409, "AlreadyExists")),
            (&Method::PUT, Some(lease)) if found(lease) != body["metadata"]["resourceVersion"] => {
                answer(409, &failure(409, "Conflict"))
            }
            (&Method::POST | &Method::PUT, _) => {
                self.store(body);
                if std::mem::take(&mut self.lose_answer) {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                answer(200, self.lease.as_ref().expect("it was just stored"))
            }
            _ => answer(405, &failure(405, "MethodNotAllowed")),
        }
    }

    fn store(&mut self, mut lease: Value) {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease);
    }
}

fn answer(code: u16, body: &Value) -> Answer {
    let response = Response::builder().status(code).body(Full::new(body.to_string().into()));
    Ok(response.expect("the codes are HTTP statuses"))
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "x"})
}
