//! A fake API server in this process. It has one namespace and no schemas, and only one manager of the status, so that apply replaces the status.
//! Like the real API server, it refuses a write with another UID or version than the object's. It counts writes, and lets one of them fail if a case
//! requests that.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The write is refused with this status and has no effect.
    Status(u16),
    /// The write takes effect, but the response is lost.
    AnswerLost,
    /// The operator is killed before the write.
    KilledBefore,
    /// The operator is killed after the write.
    KilledAfter,
    /// The request times out in transit, and takes effect when the case calls `deliver`.
    Late,
}

/// The plural name of a resource, and the name of an object.
pub type Key = (String, String);

/// A change of an object, for watches.
#[derive(Clone)]
pub struct Change {
    pub time: Instant,
    pub version: u64,
    pub plural: String,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub kind: &'static str,
    pub object: Value,
}

#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<Key, Value>,
    /// All writes in order, in the form `POST jobs`.
    pub writes: Vec<String>,
    /// Number of the write that fails (counted from 0), and how it fails.
    pub fault: Option<(usize, Fault)>,
    /// Creations to refuse: the resource, the status of the response, and how often.
    pub refusal: Option<(&'static str, u16, usize)>,
    /// Every creation of an object with this name is refused with this status code.
    pub refused_name: Option<(&'static str, u16)>,
    /// All deletions of this resource are refused, as if by an admission policy.
    pub undeletable: Option<&'static str>,
    /// The message of a refusal. If it is empty, a default message is used.
    pub refusal_says: &'static str,
    /// Reads that always fail: verb, resource, and the status of the response. With 200 the response is not a valid object.
    pub unreadable: Option<(&'static str, &'static str, u16)>,
    /// The status patch that records a server for the run with this name waits for this notification.
    pub held_note: Option<(&'static str, Arc<Notify>)>,
    /// Total number of reads.
    pub reads: usize,
    /// Whether the Job controller is prevented from creating pods.
    pub no_pods: bool,
    /// Whether the operator was killed. Its requests then have no effect.
    pub dead: bool,
    pub most_live_jobs: usize,
    /// Requests that timed out and are still in transit.
    late: Vec<(Method, String, Value)>,
    pub jobs_created: usize,
    /// All changes so far, for watches.
    pub journal: Vec<Change>,
    /// All requested deletions, in the form `jobs/name`.
    pub deletions: Vec<String>,
    versions: u64,
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

pub type Answer = Result<Response<Full<Bytes>>, io::Error>;

impl Server {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let query = parts.uri.query().unwrap_or_default();
                let held = server.state().take_hold(&parts.method, parts.uri.path(), &body);
                if let Some(held) = held {
                    held.notified().await;
                }
                server.state().answer(&parts.method, parts.uri.path(), query, body)
            }
        });
        Client::new(service, "bench")
    }
}

impl State {
    fn take_hold(&mut self, method: &Method, path: &str, body: &Value) -> Option<Arc<Notify>> {
        let (_, plural, name, part) = parts(path);
        let notes = *method == Method::PATCH && (plural, part) == ("benchmarkruns", "status");
        let notes = notes && !body["status"]["server"].is_null();
        self.held_note.take_if(|(held, _)| notes && *held == name).map(|(_, held)| held)
    }

    /// Answers one request.
    ///
    /// # Errors
    /// The connection is closed without a response.
    pub fn answer(&mut self, method: &Method, path: &str, query: &str, body: Value) -> Answer {
        if self.dead {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let (_, plural, _, _) = parts(path);
        if method == Method::GET {
            return self.read(path, query);
        }
        let number = self.writes.len();
        self.writes.push(format!("{method} {plural}"));
        let fault = self.fault.filter(|(it, _)| *it == number).map(|(_, fault)| fault);
        match fault {
            Some(Fault::Status(code)) => return error(code, "as the case asks"),
            Some(Fault::KilledBefore) => {
                self.dead = true;
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            Some(Fault::Late) => {
                self.late.push((method.clone(), path.to_owned(), body));
                return Err(io::ErrorKind::TimedOut.into());
            }
            _ => {}
        }
        let answer = self.write(method, path, query, body);
        match fault {
            Some(Fault::AnswerLost) => Err(io::ErrorKind::TimedOut.into()),
            Some(Fault::KilledAfter) => {
                self.dead = true;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            _ => answer,
        }
    }

    fn read(&mut self, path: &str, query: &str) -> Answer {
        self.reads += 1;
        let (namespace, plural, name, _) = parts(path);
        let verb = if name.is_empty() { "list" } else { "get" };
        match self.unreadable {
            Some((verb_, plural_, 200)) if (verb_, plural_) == (verb, plural) => ok(&json!("no object")),
            Some((verb_, plural_, code)) if (verb_, plural_) == (verb, plural) => error(code, "the case forbids it"),
            _ if name.is_empty() => self.list(plural, namespace, query),
            _ => self.get(plural, name),
        }
    }

    /// Executes a write.
    fn write(&mut self, method: &Method, path: &str, query: &str, body: Value) -> Answer {
        let (_, plural, name, part) = parts(path);
        match *method {
            Method::POST => self.create(plural, body),
            Method::PATCH => self.patch(plural, name, part, &body),
            Method::DELETE => self.delete(plural, name, query, &body),
            _ => error(405, "no such verb here"),
        }
    }

    /// Executes the requests that were in transit. Returns the status of each.
    pub fn deliver(&mut self) -> Vec<u16> {
        let late = std::mem::take(&mut self.late);
        let answers = late.into_iter().map(|(method, path, body)| self.write(&method, &path, "", body));
        answers.map(|it| it.unwrap().status().as_u16()).collect()
    }

    fn get(&self, plural: &str, name: &str) -> Answer {
        self.find(plural, name).map_or_else(|| error(404, "not found"), ok)
    }

    fn list(&self, plural: &str, namespace: &str, query: &str) -> Answer {
        let query = query.replace("%2F", "/").replace("%3D", "=").replace("%2C", ",");
        let selector = query.split('&').find_map(|it| it.strip_prefix("labelSelector=")).unwrap_or_default();
        let wanted: Vec<_> = selector.split(',').filter_map(|it| it.split_once('=')).collect();
        let fits = |it: &Value| {
            it["metadata"]["namespace"] == namespace
                && wanted.iter().all(|(key, value)| it["metadata"]["labels"][*key] == *value)
        };
        let items: Vec<_> = self.all(plural).filter(|it| fits(it)).collect();
        ok(
            &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": self.versions.to_string()}, "items": items}),
        )
    }

    fn create(&mut self, plural: &str, body: Value) -> Answer {
        if let Some((refused, code, times)) = self.refusal
            && refused == plural
            && times > 0
        {
            self.refusal = Some((refused, code, times - 1));
            let says = self.refusal_says;
            return error(code, if says.is_empty() { "it is not wanted here" } else { says });
        }
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some((_, code)) = self.refused_name.filter(|(refused, _)| *refused == name) {
            return error(code, self.refusal_says);
        }
        if self.find(plural, &name).is_some() {
            return error(409, "AlreadyExists");
        }
        let mut object = body;
        object["metadata"]["creationTimestamp"] = json!(now());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-of-{plural}-{name}"));
        }
        self.put(plural, &name, object.clone());
        self.most_live_jobs = self.most_live_jobs.max(self.live_jobs());
        self.jobs_created += usize::from(plural == "jobs");
        ok(&object)
    }

    fn patch(&mut self, plural: &str, name: &str, part: &str, body: &Value) -> Answer {
        let Some(mut object) = self.find(plural, name).cloned() else { return error(404, "not found") };
        for field in ["uid", "resourceVersion"] {
            let asked = &body["metadata"][field];
            if !asked.is_null() && *asked != object["metadata"][field] {
                return error(409, "Conflict");
            }
        }
        match (plural, part) {
            ("benchmarkruns", "status") => object["status"] = body["status"].clone(),
            ("benchmarkruns", _) => {
                for (key, value) in body["metadata"]["annotations"].as_object().into_iter().flatten() {
                    object["metadata"]["annotations"][key] = value.clone();
                }
            }
            _ => object["series"] = body["series"].clone(),
        }
        self.put(plural, name, object);
        self.get(plural, name)
    }

    fn delete(&mut self, plural: &str, name: &str, query: &str, body: &Value) -> Answer {
        self.deletions.push(format!("{plural}/{name}"));
        let Some(mut object) = self.find(plural, name).cloned() else { return error(404, "not found") };
        for (asked, found) in [("uid", "uid"), ("resourceVersion", "resourceVersion")] {
            let asked = &body["preconditions"][asked];
            if !asked.is_null() && *asked != object["metadata"][found] {
                return error(409, "Conflict");
            }
        }
        let option = |key: &str| body.get(key).map_or_else(|| query.contains(key), |it| !it.is_null());
        let foreground = body["propagationPolicy"] == "Foreground" || query.contains("propagationPolicy=Foreground");
        let graceful = plural == "pods" && !option("gracePeriodSeconds");
        if self.undeletable == Some(plural) {
            return error(422, "denied by a policy");
        }
        let is_held = object["metadata"]["finalizers"].as_array().is_some_and(|it| !it.is_empty());
        if graceful || foreground || is_held {
            object["metadata"]["deletionTimestamp"] = json!(now());
            self.put(plural, name, object.clone());
        } else {
            self.remove(plural, name);
        }
        ok(&object)
    }

    pub fn find(&self, plural: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(plural.to_owned(), name.to_owned()))
    }

    pub fn all(&self, plural: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |((it, _), _)| it == plural).map(|(_, object)| object)
    }

    pub fn put(&mut self, plural: &str, name: &str, mut object: Value) {
        self.versions += 1;
        object["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        let before = self.objects.insert((plural.to_owned(), name.to_owned()), object.clone());
        self.note(plural, if before.is_some() { "MODIFIED" } else { "ADDED" }, object);
    }

    pub fn remove(&mut self, plural: &str, name: &str) {
        if let Some(mut object) = self.objects.remove(&(plural.to_owned(), name.to_owned())) {
            self.versions += 1;
            object["metadata"]["resourceVersion"] = json!(self.versions.to_string());
            self.note(plural, "DELETED", object);
        }
    }

    fn note(&mut self, plural: &str, kind: &'static str, object: Value) {
        let (time, version) = (Instant::now(), self.versions);
        self.journal.push(Change { time, version, plural: plural.to_owned(), kind, object });
    }

    /// Number of Jobs that have not ended, so that their pods may run.
    fn live_jobs(&self) -> usize {
        self.all("jobs").filter(|it| it["status"]["conditions"].as_array().is_none_or(Vec::is_empty)).count()
    }
}

pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Namespace, plural, name and subresource in a path. Each is empty if the path does not have it.
pub fn parts(path: &str) -> (&str, &str, &str, &str) {
    let mut parts = path.split('/').skip_while(|it| *it != "namespaces").skip(1);
    let mut next = || parts.next().unwrap_or_default();
    (next(), next(), next(), next())
}

fn ok(object: &Value) -> Answer {
    Ok(Response::new(Full::new(object.to_string().into())))
}

pub fn error(code: u16, message: &str) -> Answer {
    let reason = match (code, message) {
        (404, _) => "NotFound",
        (409, "AlreadyExists") => "AlreadyExists",
        (409, _) => "Conflict",
        _ => "Other",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message});
    let response = Response::builder().status(code).body(Full::new(status.to_string().into()));
    Ok(response.expect("the codes of the cases are HTTP statuses"))
}
