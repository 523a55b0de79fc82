//! Changes the start command of a managed server so that it can be put to sleep and woken.

use super::ReplicaStart;
use crate::server_engine::ServerEngine;

/// The option of vLLM and of the simulator that enables the sleep mode.
const OPTION: &str = "enable-sleep-mode";
/// The option that disables the sleep mode.
const OFF: &str = "no-enable-sleep-mode";
/// The variable that enables the endpoints of vLLM's sleep mode.
pub const DEV_MODE: &str = "VLLM_SERVER_DEV_MODE";

/// The reason why a server with this start command cannot be put to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepFault {
    /// The engine has no known sleep mode.
    NoMode,
    /// An option disables the sleep mode.
    Off,
    /// The environment does not enable the endpoints.
    Closed,
}

impl ReplicaStart {
    /// Checks that a server with this start command can be put to sleep.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn sleeps(&self) -> Result<(), SleepFault> {
        match self.env.get(DEV_MODE) {
            _ if self.has_option(OFF) => Err(SleepFault::Off),
            _ if !self.has_option(OPTION) => Err(SleepFault::NoMode),
            Some(it) if it == "1" => Ok(()),
            _ => Err(SleepFault::Closed),
        }
    }

    /// Whether the server is started with its sleep mode.
    pub fn has_sleep_mode(&self) -> bool {
        !matches!(self.sleeps(), Err(SleepFault::NoMode | SleepFault::Off))
    }

    /// Returns the start command with vLLM's sleep mode and its endpoints. Options and variables of the sleep mode that the command already contains
    /// are not changed. If the engine does not have this mode, the command is returned unchanged.
    #[must_use]
    pub fn with_sleep_mode(mut self, engine: ServerEngine) -> ReplicaStart {
        if engine.row().has_sleep_mode {
            self.add_flag(OPTION);
            self.env.entry(DEV_MODE.to_owned()).or_insert_with(|| "1".to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        benchmark_run::Server,
        resolve::server::{Place, resolve_server},
    };

    fn start(server: &str) -> (ReplicaStart, ServerEngine) {
        let server: Server = serde_saphyr::from_str(server).unwrap();
        (resolve_server(&server, Place::Laptop).unwrap().replica(0, 9000, "/bin/benchwright"), server.engine)
    }

    #[test]
    fn a_pod_has_it_where_the_run_measures_its_sleep() {
        let server: Server = serde_saphyr::from_str("{engine: VLLM, image: i, model: m}").unwrap();
        let server = resolve_server(&server, Place::Cluster).unwrap();
        let with = |sleep_mode| {
            let start = server.in_pod(8000, None, sleep_mode);
            (start.has_sleep_mode(), start.env.contains_key(DEV_MODE))
        };
        assert_eq!((with(true), with(false)), ((true, true), (false, false)));
    }

    fn assert_sleeps(server: &str, expected: &str) {
        let (start, engine) = start(server);
        let start = start.with_sleep_mode(engine);
        let env = start.env.iter().map(|(name, value)| format!("{name}={value}"));
        let line = env.chain(start.command).chain(start.args).collect::<Vec<_>>().join(" ");
        assert_eq!(line, expected, "{server}");
    }

    #[test]
    fn vllm_and_the_simulator_get_their_option_and_variable_once() {
        const ADDRESS: &str = "--host 127.0.0.1 --port 9000";
        let vllm = format!("VLLM_SERVER_DEV_MODE=1 vllm serve m {ADDRESS} --enable-sleep-mode");
        assert_sleeps("{engine: VLLM, model: m}", &vllm);
        assert_sleeps("{engine: VLLM, model: m, config: {enable_sleep_mode: true}}", &vllm);
        assert_sleeps(
            "{engine: VLLM, model: m, env: {VLLM_SERVER_DEV_MODE: '0'}}",
            &vllm.replace("DEV_MODE=1", "DEV_MODE=0"),
        );
        assert_sleeps(
            "{engine: Simulator}",
            &format!("VLLM_SERVER_DEV_MODE=1 /bin/benchwright sim {ADDRESS} --enable-sleep-mode"),
        );
        assert_sleeps("{engine: Custom, command: [s], port: 9000}", "s");
        const OFF: &str = "{engine: VLLM, model: m, config: {enable-sleep-mode: false}}";
        assert_sleeps(OFF, &format!("VLLM_SERVER_DEV_MODE=1 vllm serve m {ADDRESS} --no-enable-sleep-mode"));
        assert!(!start(OFF).0.has_sleep_mode());
        assert!(start("{engine: VLLM, model: m, args: [--enable-sleep-mode]}").0.has_sleep_mode());
        assert!(!start("{engine: VLLM, model: m}").0.has_sleep_mode());
    }
}
