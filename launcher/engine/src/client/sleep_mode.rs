//! [I/O] Controls a server's sleep mode, with vLLM's development endpoints. The caller must set a time limit: moving the weights of a large
//! model off the GPU takes a minute.

use http::Method;
use serde::Deserialize;

use super::{
    Target,
    control::{ControlError, call},
};

/// The path that reports whether the server sleeps.
pub const IS_SLEEPING: &str = "/is_sleeping";
/// The path that wakes the whole server.
const WAKE_UP: &str = "/wake_up";
/// The path that allocates the memory for the weights.
const WAKE_WEIGHTS: &str = "/wake_up?tags=weights";
/// The path that allocates the memory for the KV cache.
const WAKE_KV_CACHE: &str = "/wake_up?tags=kv_cache";
/// The path that lets each of vLLM's workers call a method.
const COLLECTIVE_RPC: &str = "/collective_rpc";

/// What happens to the weights while a server sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepLevel {
    /// The weights move to the host's memory.
    Offload,
    /// The weights are discarded, and loaded again after the wake-up.
    Discard,
}

impl SleepLevel {
    /// Returns the level for a number; `None` unless it is 1 or 2.
    pub fn new(level: u8) -> Option<SleepLevel> {
        match level {
            1 => Some(SleepLevel::Offload),
            2 => Some(SleepLevel::Discard),
            _ => None,
        }
    }

    /// Returns the number in `POST /sleep?level=N`: 1 or 2.
    pub fn number(self) -> u8 {
        match self {
            SleepLevel::Offload => 1,
            SleepLevel::Discard => 2,
        }
    }

    fn path(self) -> &'static str {
        match self {
            SleepLevel::Offload => "/sleep?level=1",
            SleepLevel::Discard => "/sleep?level=2",
        }
    }
}

/// One request of a wake-up: for the whole server, or one of three parts after a sleep of level 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeStep {
    /// Wakes the whole server.
    All,
    /// Allocates the memory for the weights.
    Weights,
    /// Loads the weights again from their original source.
    Reload,
    /// Allocates the memory for the KV cache.
    KvCache,
}

#[derive(Deserialize)]
struct Sleeping {
    is_sleeping: bool,
}

/// Checks whether the server sleeps.
///
/// # Errors
/// The server has no such endpoint, refuses the request, or does not respond.
pub async fn is_sleeping(target: &Target) -> Result<bool, ControlError> {
    let body = call(target, Method::GET, IS_SLEEPING, b"").await?;
    let message = || "it is not {\"is_sleeping\": true} or false".to_owned();
    let read: Sleeping =
        serde_json::from_slice(&body).map_err(|_| ControlError::NoAnswer { path: IS_SLEEPING, message: message() })?;
    Ok(read.is_sleeping)
}

/// Puts the server to sleep. Returns once the server sleeps.
///
/// # Errors
/// The same as [`is_sleeping`].
pub async fn sleep(target: &Target, level: SleepLevel) -> Result<(), ControlError> {
    call(target, Method::POST, level.path(), b"").await.map(drop)
}

/// Wakes the server, or a part of it. Returns once that part is awake.
///
/// # Errors
/// The same as [`is_sleeping`].
pub async fn wake(target: &Target, step: WakeStep) -> Result<(), ControlError> {
    let (path, body): (_, &[u8]) = match step {
        WakeStep::All => (WAKE_UP, b""),
        WakeStep::Weights => (WAKE_WEIGHTS, b""),
        WakeStep::KvCache => (WAKE_KV_CACHE, b""),
        WakeStep::Reload => (COLLECTIVE_RPC, br#"{"method": "reload_weights"}"#),
    };
    call(target, Method::POST, path, body).await.map(drop)
}
