//! Which program starts the server of a run.

use crate::benchmark_run::{BenchmarkRunSpec, Server, ServerMethod};

/// Whether llm-d's charts start a server.
pub(in crate::resolve) fn is_of_charts(server: &Server) -> bool {
    server.method == Some(ServerMethod::ModelService)
}

/// The server that llm-d's charts start for a run. `None` if the run has no such server, or only reports an existing results folder.
pub fn llm_d_server(spec: &BenchmarkRunSpec) -> Option<&Server> {
    spec.target.server.as_ref().filter(|it| spec.execution.collect.is_none() && is_of_charts(it))
}

/// The server that Benchwright starts for a run. `None` if the run has no such server, or only reports an existing results folder.
pub fn managed_server(spec: &BenchmarkRunSpec) -> Option<&Server> {
    spec.target.server.as_ref().filter(|it| spec.execution.collect.is_none() && !is_of_charts(it))
}
