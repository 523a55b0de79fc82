//! [I/O] A server's sleep mode, with vLLM's development endpoints. The caller bounds the time: the weights of a large model take a minute to
//! leave the GPU.

use http::Method;
use serde::Deserialize;

use super::{
    Target,
    control::{ControlError, call},
};

/// Returns whether the server sleeps.
pub const IS_SLEEPING: &str = "/is_sleeping";
const WAKE_UP: &str = "/wake_up";
const WAKE_WEIGHTS: &str = "/wake_up?tags=weights";
const WAKE_KV_CACHE: &str = "/wake_up?tags=kv_cache";
const COLLECTIVE_RPC: &str = "/collective_rpc";

/// How deep a server sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepLevel {
    /// The weights move to the host's memory.
    Offload,
    /// The weights are dropped, and loaded again after the wake-up.
    Discard,
}

impl SleepLevel {
    /// The level for a number, which must be 1 or 2.
    pub fn new(level: u8) -> Option<SleepLevel> {
        match level {
            1 => Some(SleepLevel::Offload),
            2 => Some(SleepLevel::Discard),
            _ => None,
        }
    }

    /// The level in the form of `POST /sleep?level=N`: 1 or 2.
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

/// A part of a wake-up: the whole server, or one of three parts after a sleep of level 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeStep {
    /// The whole server.
    All,
    /// The memory of the weights.
    Weights,
    /// The weights, from their first source.
    Reload,
    /// The memory of the KV cache.
    KvCache,
}

#[derive(Deserialize)]
struct Sleeping {
    is_sleeping: bool,
}

/// Whether the server sleeps.
///
/// # Errors
/// The server has no such endpoint, refuses, or does not answer.
pub async fn is_sleeping(target: &Target) -> Result<bool, ControlError> {
    let body = call(target, Method::GET, IS_SLEEPING, b"").await?;
    let message = || "it is not {\"is_sleeping\": true} or false".to_owned();
    let read: Sleeping =
        serde_json::from_slice(&body).map_err(|_| ControlError::NoAnswer { path: IS_SLEEPING, message: message() })?;
    Ok(read.is_sleeping)
}

/// Puts the server to sleep. The server answers when it sleeps.
///
/// # Errors
/// As [`is_sleeping`].
pub async fn sleep(target: &Target, level: SleepLevel) -> Result<(), ControlError> {
    call(target, Method::POST, level.path(), b"").await.map(drop)
}

/// Wakes the server, or a part of it. The server answers when that part is awake.
///
/// # Errors
/// As [`is_sleeping`].
pub async fn wake(target: &Target, step: WakeStep) -> Result<(), ControlError> {
    let (path, body): (_, &[u8]) = match step {
        WakeStep::All => (WAKE_UP, b""),
        WakeStep::Weights => (WAKE_WEIGHTS, b""),
        WakeStep::KvCache => (WAKE_KV_CACHE, b""),
        WakeStep::Reload => (COLLECTIVE_RPC, br#"{"method": "reload_weights"}"#),
    };
    call(target, Method::POST, path, body).await.map(drop)
}
