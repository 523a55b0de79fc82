//! The start-up texts of all engines in one list. They are defined in the rows of the engines.

use std::sync::LazyLock;

use crds::server_engine::{ServerEngine, startup_log::Text};

/// All texts, each with its engine. Every log is searched for every text, whatever its engine and version.
pub static TEXTS: LazyLock<Vec<(ServerEngine, &'static Text)>> = LazyLock::new(|| {
    let of_engine = |(engine, log): (ServerEngine, &'static crds::server_engine::StartupLog)| {
        log.texts.iter().map(move |text| (engine, text))
    };
    ServerEngine::with_startup_log().flat_map(of_engine).collect()
});
