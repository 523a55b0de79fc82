//! Checks the spec's description of a managed server, and fills in its defaults.

use super::{
    cluster, command_line, devices,
    managed_server::{FIELD, ManagedServer, PORT, Place},
    method,
};
use crate::{
    benchmark_run::Server,
    resolve::{Errors, FieldError, effective, mounts},
    server_engine::ServerEngine,
    wording::quoted,
};

/// Does the same as [`resolve`], for a server description that is not part of a spec.
///
/// # Errors
/// All invalid fields.
pub fn resolve_server(server: &Server, place: Place) -> Result<ManagedServer, Vec<FieldError>> {
    let mut errors = Errors::default();
    let managed = resolve(server, place, &mut errors);
    errors.none_or(managed)
}

/// Checks the spec's description of a managed server, and fills in its defaults.
pub(in crate::resolve) fn resolve(server: &Server, place: Place, errors: &mut Errors) -> ManagedServer {
    let defaults = effective::server(server);
    check_place(server, place, errors);
    check_offline(server, place, errors);
    method::check(server, place, errors);
    let model = model(server, errors);
    devices::check(server, defaults.replicas, errors);
    let line = command_line::build(server, devices::per_replica(server, place), errors);
    let port = match place {
        Place::Laptop => server.port,
        Place::Cluster => Some(defaults.port),
    };
    check_ports(server, place, defaults.replicas, errors);
    ManagedServer {
        engine: server.engine,
        model,
        offline: server.offline,
        command: line.command,
        preprocess: server.preprocess.clone(),
        args: line.args,
        env: server.env.clone(),
        // On a laptop, other hosts of the network must not reach the server.
        host: if place == Place::Laptop { "127.0.0.1" } else { "0.0.0.0" }.to_owned(),
        port,
        replicas: defaults.replicas,
        devices: server.devices.clone(),
        distribution: defaults.distribution,
        lifecycle: defaults.lifecycle,
        unknown_options: line.unknown,
    }
}

/// Refuses fields that do not work in this place, a laptop or a cluster. `image`, `resources`, `scheduling` and similar fields are accepted on a
/// laptop, so that one file works in both places.
fn check_place(server: &Server, place: Place, errors: &mut Errors) {
    let name = server.engine.name();
    match place {
        Place::Laptop => {
            if server.model_claim.is_some() {
                let message = "needs a cluster; outside one, set model to the path of the weights";
                errors.add(&format!("{FIELD}.modelClaim"), message);
            }
            if !server.engine.is_known() && server.command.is_empty() {
                let message = "is missing; engine Custom needs the program and what comes before its arguments, such as \
                               [python3, server.py]";
                errors.add(&format!("{FIELD}.command"), message);
            } else if !server.engine.is_known() && server.port.is_none() && !names_port(server) {
                let message = "has no $(PORT), so that the program does not know where to listen; write $(PORT) where it takes its port, \
                               or set port to the one that it listens on";
                errors.add(&format!("{FIELD}.args"), message);
            }
        }
        Place::Cluster => {
            if server.image.is_none() && !server.engine.is_own() {
                let message = format!("is missing; engine {name} needs its image in a cluster");
                errors.add(&format!("{FIELD}.image"), &message);
            }
            if !server.devices.is_empty() {
                let message = "works outside of a cluster only; in a cluster, write the number of GPUs in resources.limits, such as \
                               nvidia.com/gpu: 2";
                errors.add(&format!("{FIELD}.devices"), message);
            }
            if server.wrapper == Some(true) && !server.engine.is_known() && server.command.is_empty() {
                let message = "is true, and command is empty; write the command, because the entry point of an image is not known, or take \
                               wrapper out";
                errors.add(&format!("{FIELD}.wrapper"), message);
            }
            if server.preprocess.is_some() && server.command.is_empty() {
                match server.engine {
                    ServerEngine::Custom => errors.add(
                        &format!("{FIELD}.preprocess"),
                        "is set, and command is empty; write the command, because the entry point of an image is not known",
                    ),
                    ServerEngine::Simulator if server.image.is_none() => errors.add(
                        &format!("{FIELD}.preprocess"),
                        "needs bash, which the image of the launcher does not have; take it out, or set image",
                    ),
                    _ => {}
                }
            }
            cluster::check(server, errors);
        }
    }
    if server.hub_token.is_some() && server.env.contains_key("HF_TOKEN") {
        let message = "holds HF_TOKEN, which hubToken sets too; take it out of env";
        errors.add(&format!("{FIELD}.env"), message);
    }
}

/// Whether the command line or the environment contains the placeholder for the port. Otherwise the program does not learn its port.
fn names_port(server: &Server) -> bool {
    server.command.iter().chain(&server.args).chain(server.env.values()).any(|it| it.contains(PORT))
}

/// Refuses `offline` unless the engine is vLLM and runs on the launcher's machine: the endpoint calls vLLM's Python API there.
fn check_offline(server: &Server, place: Place, errors: &mut Errors) {
    let name = server.engine.name();
    let problem = match (server.engine, place) {
        _ if !server.offline => return,
        (ServerEngine::Vllm, Place::Laptop) if server.model.is_none() => {
            "needs the model in spec.target.server.model; move it there from config or args".to_owned()
        }
        (ServerEngine::Vllm, Place::Laptop) => return,
        (ServerEngine::Vllm, Place::Cluster) => {
            "works outside of a cluster only, because no image holds both vLLM and Benchwright; take it out".to_owned()
        }
        _ => format!("runs vLLM's LLM class, and the engine is {name}; take it out, or write engine: VLLM"),
    };
    errors.add(&format!("{FIELD}.offline"), &problem);
}

fn check_ports(server: &Server, place: Place, replicas: u32, errors: &mut Errors) {
    let field = format!("{FIELD}.port");
    match server.port {
        Some(0) => errors.add(&field, "is 0; write a port from 1 to 65535"),
        Some(port) if place == Place::Laptop && u32::from(port) + replicas.saturating_sub(1) > u32::from(u16::MAX) => {
            let message =
                format!("is {port}, and {replicas} replicas need as many ports from there on; write a lower one");
            errors.add(&field, &message);
        }
        _ => {}
    }
}

/// Whether a model is a path, and not a name on a hub.
pub(super) fn is_path(model: &str) -> bool {
    model.starts_with(['/', '.', '~'])
}

/// The model as the engine receives it on its command line.
fn model(server: &Server, errors: &mut Errors) -> Option<String> {
    let field = format!("{FIELD}.model");
    if let (Some(_), Some(_)) = (&server.model, &server.model_claim) {
        errors.add(&field, "is set beside modelClaim, which holds the weights; keep one of them");
    }
    if let Some(model) = &server.model
        && (model.is_empty() || model.starts_with('-') || model.chars().any(char::is_control))
    {
        let found = quoted(model);
        let remedy = "write the name of a model on a hub, such as org/model, or its path";
        errors.add(&field, &format!("is {found}; {remedy}"));
    }
    if !server.engine.is_known() {
        if server.model.is_some() {
            errors
                .add(&field, "has no effect with engine Custom; write it in args, in the form that the program reads");
        }
        return None;
    }
    if let (ServerEngine::Simulator, Some(_)) = (server.engine, &server.model_claim) {
        errors.add(
            &format!("{FIELD}.modelClaim"),
            "has no effect with engine Simulator, which reads no weights; take it out",
        );
    }
    let of_claim = server.model_claim.as_ref().map(|claim| match claim.path.as_deref() {
        Some(path) if !path.is_empty() => format!("{}/{path}", mounts::MODEL),
        _ => mounts::MODEL.to_owned(),
    });
    if let Some(path) = server.model_claim.as_ref().and_then(|it| it.path.as_deref())
        && path.split('/').any(|it| it == "..")
    {
        let found = quoted(path);
        let message = format!("is {found}; write a folder within the claim, without ..");
        errors.add(&format!("{FIELD}.modelClaim.path"), &message);
    }
    let model = server.model.clone().or(of_claim);
    if server.engine.row().needs_model && model.is_none() && !command_line::names_model(server) {
        errors.add(&field, "is missing; write the name of a model on a hub, such as org/model, or its path");
    }
    model
}

/// The name under which the server serves its model. `None` if the name is not certain, so that the server must be queried.
pub(in crate::resolve) fn served_model(server: &Server) -> Option<String> {
    if server.engine.row().model.is_none() || command_line::names_served_model(server) {
        return None;
    }
    server.model.clone()
}
