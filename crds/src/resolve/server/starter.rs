//! Who starts the server of a run.

use crate::benchmark_run::{BenchmarkRunSpec, Server, ServerMethod};

/// Whether llm-d's charts start a server.
pub(in crate::resolve) fn is_of_charts(server: &Server) -> bool {
    server.method == Some(ServerMethod::ModelService)
}

/// The server that llm-d's charts start for a run; `None`: the run has no such server, or only reports the results of another run.
pub fn llm_d_server(spec: &BenchmarkRunSpec) -> Option<&Server> {
    spec.target.server.as_ref().filter(|it| spec.execution.collect.is_none() && is_of_charts(it))
}

/// The server that Benchwright starts for a run; `None` if llm-d's charts start it, or if the run only reports the results of another run.
pub fn managed_server(spec: &BenchmarkRunSpec) -> Option<&Server> {
    spec.target.server.as_ref().filter(|it| spec.execution.collect.is_none() && !is_of_charts(it))
}
