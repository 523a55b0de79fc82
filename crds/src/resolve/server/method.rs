//! Checks which fields apply to the method of a managed server.

use super::{
    managed_server::{FIELD, Place},
    starter::is_of_charts,
};
use crate::{benchmark_run::Server, resolve::Errors, server_engine::ServerEngine};

/// Refuses fields that do not apply to the method.
pub(super) fn check(server: &Server, place: Place, errors: &mut Errors) {
    let mut add = |field: &str, message: &str| errors.add(&format!("{FIELD}.{field}"), message);
    if !is_of_charts(server) {
        if server.gateway_ref.is_some() {
            add("gatewayRef", "has no effect with method Standalone; take it out, or write method: ModelService");
        }
        return;
    }
    if place == Place::Laptop {
        add(
            "method",
            "is ModelService, which needs a cluster; outside one, take it out, or set spec.target.url to the address of the Gateway in \
             place of spec.target.server",
        );
    }
    if server.engine != ServerEngine::Vllm {
        let name = server.engine.name();
        add("engine", &format!("is {name}, and method ModelService is for VLLM; write VLLM, or take method out"));
    }
    if server.gateway_ref.is_none() {
        add(
            "gatewayRef",
            "is missing; method ModelService needs the Gateway of llm-d, such as {name: inference-gateway}",
        );
    }
    if server.lifecycle.is_some() {
        add(
            "lifecycle",
            "has no effect with method ModelService, because whoever installs llm-d also removes the servers; take it out",
        );
    }
    if server.distribution.is_some() {
        add(
            "distribution",
            "has no effect with method ModelService, because the Gateway distributes the requests; take it out",
        );
    }
}
