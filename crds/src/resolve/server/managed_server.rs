//! A managed server, and what its replicas are started with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    benchmark_run::{Distribution, Lifecycle},
    server_engine::{ModelArgument, Program, ServerEngine},
};

/// The field of the spec.
pub(in crate::resolve) const FIELD: &str = "spec.target.server";

/// Where a server is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// As a process beside the launcher, which alone calls it.
    Laptop,
    /// In a pod, which other pods call.
    Cluster,
}

/// A managed server with its defaults filled in: what all of its replicas have in common.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedServer {
    /// Which program it is.
    pub engine: ServerEngine,
    /// The model, as the engine is given it; `None`: the engine knows which.
    pub model: Option<String>,
    /// The engine runs without the server of its API.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// The program and what comes before its options. Empty: Benchwright's own program for the simulator and with offline, and in a cluster the
    /// entry point of the image for Custom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Bash script that runs before the command, in the same process.
    pub preprocess: Option<String>,
    /// What follows the options for address and port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The environment, beside that which is inherited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address that it listens on.
    pub host: String,
    /// The port of the first replica; `None`: any that is free.
    pub port: Option<u16>,
    /// How many there are, from 1 to 64.
    pub replicas: u32,
    /// The devices of each replica; empty: what the process finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Vec<String>>,
    /// Which replica a request goes to.
    pub distribution: Distribution,
    /// How long it lives.
    pub lifecycle: Lifecycle,
    /// Options that this release does not know, and that the engine is given as they are. For the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_options: Vec<String>,
}

/// What one replica is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaStart {
    /// The program and what comes before its arguments; empty: the entry point of the image.
    pub command: Vec<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment, beside those that it inherits.
    pub env: BTreeMap<String, String>,
    /// The port on which it listens.
    pub port: u16,
}

impl ManagedServer {
    /// What a replica is started with. `index` counts from 0. `port`: where it listens. `own_program`: the path of Benchwright's own
    /// program where it starts, for the simulator.
    ///
    /// The kubelet replaces `$(NAME)` in what it is given; a caller that hands the result to a pod doubles each `$`.
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
            // What follows the model goes to vLLM as it is.
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

/// The prefix of a command that a script precedes. The command replaces the process of the script.
fn preprocessed(script: &str) -> Vec<String> {
    ["bash", "-ec", &format!("{script}\nexec \"$@\""), "preprocess"].map(str::to_owned).to_vec()
}

/// What stands for the port of a replica in arguments and environment.
pub(super) const PORT: &str = "$(PORT)";
/// What stands for the number of a replica.
pub(super) const REPLICA: &str = "$(REPLICA)";
/// The variable that says which devices a replica has.
pub(super) const DEVICES: &str = "CUDA_VISIBLE_DEVICES";
