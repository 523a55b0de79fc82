//! The paths that the server knows.

use http::Method;

use super::{
    api::{Dialect, Endpoint},
    options::{SimOptions, SleepMode},
};

/// The handler of a path.
#[derive(Clone, Copy)]
pub(super) enum Route {
    Generate(Endpoint, Dialect),
    Tokenize,
    Detokenize,
    Models,
    Health,
    Load,
    Version,
    Metrics,
    StartProfile,
    StopProfile,
    Sleep(SleepMode),
    WakeUp(SleepMode),
    IsSleeping,
    CollectiveRpc(SleepMode),
}

/// Paths for status and control. Requests to them get no number, so that they do not change the faults and ids of other requests.
pub(super) const UNCOUNTED: [&str; 8] = [
    "/metrics",
    "/version",
    "/start_profile",
    "/stop_profile",
    "/sleep",
    "/wake_up",
    "/is_sleeping",
    "/collective_rpc",
];

/// All paths of a server, with their methods.
pub(super) const PATHS: [(&str, &str); 18] = [
    ("/load", "GET"),
    ("/version", "GET"),
    ("/health", "GET"),
    ("/metrics", "GET"),
    ("/tokenize", "POST"),
    ("/detokenize", "POST"),
    ("/v1/models", "GET"),
    ("/ping", "GET, POST"),
    ("/v1/chat/completions", "POST"),
    ("/v1/responses", "POST"),
    ("/v1/completions", "POST"),
    ("/v1/messages", "POST"),
    ("/start_profile", "POST"),
    ("/stop_profile", "POST"),
    ("/sleep", "POST"),
    ("/wake_up", "POST"),
    ("/is_sleeping", "GET"),
    ("/collective_rpc", "POST"),
];

/// Returns the paths that a server with these options has.
pub(super) fn listed(options: &SimOptions) -> impl Iterator<Item = (&'static str, &'static str)> {
    PATHS.into_iter().filter(|(path, _)| Route::from_path(path, options).is_some())
}

impl Route {
    pub(super) fn from_path(path: &str, options: &SimOptions) -> Option<Self> {
        let profiled = options.profiler_dir.is_some();
        Some(match path {
            "/v1/chat/completions" => Route::Generate(Endpoint::Chat, Dialect::OpenAi),
            "/v1/completions" => Route::Generate(Endpoint::Completions, Dialect::OpenAi),
            "/v1/responses" => Route::Generate(Endpoint::Chat, Dialect::Responses),
            "/v1/messages" => Route::Generate(Endpoint::Chat, Dialect::Messages),
            "/v1/models" => Route::Models,
            "/tokenize" => Route::Tokenize,
            "/detokenize" => Route::Detokenize,
            "/health" | "/ping" => Route::Health,
            "/load" => Route::Load,
            "/version" => Route::Version,
            "/metrics" => Route::Metrics,
            // As in vLLM, these paths do not exist without a profiler.
            "/start_profile" if profiled => Route::StartProfile,
            "/stop_profile" if profiled => Route::StopProfile,
            _ => {
                // The paths below need the sleep mode and the development mode.
                let mode = options.sleep_mode?;
                match path {
                    "/sleep" => Route::Sleep(mode),
                    "/wake_up" => Route::WakeUp(mode),
                    "/is_sleeping" => Route::IsSleeping,
                    "/collective_rpc" => Route::CollectiveRpc(mode),
                    _ => return None,
                }
            }
        })
    }

    pub(super) fn method(self) -> Method {
        match self {
            Route::Generate(..)
            | Route::Tokenize
            | Route::Detokenize
            | Route::StartProfile
            | Route::StopProfile
            | Route::Sleep(_)
            | Route::WakeUp(_)
            | Route::CollectiveRpc(_) => Method::POST,
            _ => Method::GET,
        }
    }
}
