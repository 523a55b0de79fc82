//! A managed server, and the start command of its replicas.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    benchmark_run::{Distribution, Lifecycle},
    server_engine::{ModelArgument, Program, ServerEngine},
};

/// Path of the managed server in the spec, for error messages.
pub(in crate::resolve) const FIELD: &str = "spec.target.server";

/// Where a server is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A process on the launcher's machine. Only the launcher calls it.
    Laptop,
    /// A pod that other pods may call.
    Cluster,
}

/// A managed server with its defaults filled in: the settings that all replicas share.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedServer {
    /// The server program.
    pub engine: ServerEngine,
    /// The model as the engine receives it. `None` if the engine chooses its model.
    pub model: Option<String>,
    /// Whether the engine runs without its API server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// The program and the arguments before its options. Empty if Benchwright's own program is started, for the simulator and for `offline`. Also
    /// empty for Custom in a cluster, where the entry point of the image is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Bash script that runs before the command, in the same process.
    pub preprocess: Option<String>,
    /// Arguments after the options for address and port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables, in addition to inherited variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address to listen on.
    pub host: String,
    /// The port of the first replica. `None` if any free port can be used.
    pub port: Option<u16>,
    /// Number of replicas, from 1 to 64.
    pub replicas: u32,
    /// The devices of each replica. Empty if the process uses all devices that it finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Vec<String>>,
    /// How a replica is chosen for a request.
    pub distribution: Distribution,
    /// How long the server lives.
    pub lifecycle: Lifecycle,
    /// Options that this release does not know. They are passed to the engine unchanged, and listed in the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_options: Vec<String>,
}

/// The start command of one replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaStart {
    /// The program and the arguments before its options. Empty if the entry point of the image is started.
    pub command: Vec<String>,
    /// The arguments of the command.
    pub args: Vec<String>,
    /// Environment variables, in addition to inherited variables.
    pub env: BTreeMap<String, String>,
    /// The port on which the replica listens.
    pub port: u16,
}

impl ManagedServer {
    /// Returns the start command of a replica. `index` counts from 0. `port` is the port to listen on. `own_program` is the path of Benchwright's own
    /// program on the machine that starts the replica; only the simulator and `offline` need it.
    ///
    /// The kubelet expands `$(NAME)` in commands, arguments and environment. A caller that puts the result into a pod must double each `$`.
    pub fn replica(&self, index: u32, port: u16, own_program: &str) -> ReplicaStart {
        let row = self.engine.row();
        let filled = |text: &String| text.replace(PORT, &port.to_string()).replace(REPLICA, &index.to_string());
        let command = match self.command.as_slice() {
            [] if self.offline => vec![own_program.to_owned(), "offline-engine".to_owned()],
            [] if let Program::Own(subcommand) = row.program => vec![own_program.to_owned(), subcommand.to_owned()],
            command => command.iter().map(filled).collect(),
        };
        let command = match &self.preprocess {
            Some(script) => [preprocessed(script), command].concat(),
            None => command,
        };
        let mut args = match (row.model, &self.model) {
            // With `offline`, the model is added below: vLLM gets all arguments after the model unchanged.
            _ if self.offline => Vec::new(),
            (Some(ModelArgument { is_positional: true, .. }), Some(model)) => vec![model.clone()],
            (Some(ModelArgument { option, .. }), Some(model)) => vec![format!("--{option}"), model.clone()],
            _ => Vec::new(),
        };
        if self.engine.is_known() {
            args.extend(["--host".to_owned(), self.host.clone(), "--port".to_owned(), port.to_string()]);
        }
        args.extend(self.model.clone().filter(|_| self.offline));
        args.extend(self.args.iter().map(filled));
        let mut env: BTreeMap<String, String> =
            self.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
        let set = usize::try_from(index).ok().and_then(|it| self.devices.get(it));
        env.extend(set.map(|it| (DEVICES.to_owned(), it.join(","))));
        ReplicaStart { command, args, env, port }
    }
}

/// The arguments that run `script` before a command. At the end of the script, `exec` replaces the shell with the command.
fn preprocessed(script: &str) -> Vec<String> {
    ["bash", "-ec", &format!("{script}\nexec \"$@\""), "preprocess"].map(str::to_owned).to_vec()
}

/// Placeholder for the port of a replica in arguments and environment.
pub(super) const PORT: &str = "$(PORT)";
/// Placeholder for the index of a replica.
pub(super) const REPLICA: &str = "$(REPLICA)";
/// The environment variable that assigns devices to a replica.
pub(super) const DEVICES: &str = "CUDA_VISIBLE_DEVICES";
