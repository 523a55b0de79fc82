//! [I/O] The connection to the API server that kubectl would use.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use crds::units::Span;
use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{
    failure::{Failure, with_causes},
    time_limit::TimeLimit,
};

/// Maximum time until the API server accepts a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// kubectl's flags that select the cluster and the namespace.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionArgs {
    /// The namespace [default: the file's namespace, else the context's]
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// The context of the kubeconfig
    #[arg(long, global = true, value_name = "CONTEXT")]
    context: Option<String>,
    /// The kubeconfig [default: the files in KUBECONFIG, else ~/.kube/config; in a pod its service account]
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Maximum time for the API server to answer one request, or to begin a watch or a log
    #[arg(long, global = true, value_name = "TIME", default_value = "30s")]
    request_timeout: Span,
}

/// A client, and the namespace for the command.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Time limit of a request.
    pub(crate) request_timeout: Duration,
}

impl ConnectionArgs {
    /// Connects to the API server. The namespace comes from the flags, or else from the context.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let options = KubeConfigOptions { context: self.context.clone(), cluster: None, user: None };
        let config = match &self.kubeconfig {
            Some(path) => {
                let wrong = |error: &dyn std::error::Error| {
                    let cause = with_causes(error);
                    Failure::error(format!(
                        "--kubeconfig is {}, which cannot be used: {cause}; name another file",
                        path.display()
                    ))
                };
                let file = Kubeconfig::read_from(path).map_err(|it| wrong(&it))?;
                Config::from_custom_kubeconfig(file, &options).await.map_err(|it| wrong(&it))?
            }
            // Without a kubeconfig, as in a pod, the service account is used.
            None if self.context.is_none() => Config::infer().await.map_err(|it| no_cluster(&it))?,
            None => Config::from_kubeconfig(&options).await.map_err(|it| no_cluster(&it))?,
        };
        let mut config = config;
        config.connect_timeout = Some(CONNECT);
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let request_timeout = self.request_timeout.0;
        let client = ClientBuilder::try_from(config).map_err(|it| no_cluster(&it))?;
        let client = client.with_layer(&TimeLimit(request_timeout)).build();
        Ok(Connection { client, namespace, request_timeout })
    }
}

fn no_cluster(error: &dyn std::error::Error) -> Failure {
    let cause = with_causes(error);
    Failure::error(format!("no cluster to connect to: {cause}; set KUBECONFIG, or give --kubeconfig and --context"))
}
