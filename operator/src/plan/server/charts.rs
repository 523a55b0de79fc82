//! A server that is started by llm-d's own charts: the ConfigMap with the values for the charts, and the wait for the Gateway. The operator installs
//! nothing.

use std::{collections::BTreeMap, time::Duration};

use crds::{
    BenchmarkRun, Outcome, Reason,
    resolve::{InferenceStack, StackFile},
    status::Phase,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;

use crate::plan::{
    Child, InputError, Plan, Presence,
    decision::Decision,
    meta,
    status::{self, NextStatus},
    times::{SOON, seconds_since},
};

/// Maximum time between two reconciliations that read the Gateway. These reconciliations are needed because no watch reports changes of the Gateway.
const SELDOM: Duration = Duration::from_secs(10);

/// The ConfigMap with all files for the installation of llm-d.
fn config_map(run: &BenchmarkRun, stack: &InferenceStack) -> ConfigMap {
    let data = StackFile::ALL.map(|it| (it.name().to_owned(), stack.text(it, &|file| print(run, stack, file))));
    ConfigMap {
        metadata: meta::about_server(run, stack.config_map()),
        data: Some(BTreeMap::from(data)),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// The command that prints a file of the ConfigMap.
fn print(run: &BenchmarkRun, stack: &InferenceStack, file: StackFile) -> String {
    let (name, namespace) = (stack.config_map(), run.namespace().unwrap_or_default());
    let key = file.name().replace('.', "\\.");
    format!("kubectl get configmap {name} -n {namespace} -o jsonpath='{{.data.{key}}}'")
}

impl Decision<'_> {
    /// The llm-d stack that the run describes. `None` if llm-d's charts do not start the run's server.
    fn stack(&self) -> Option<InferenceStack> {
        InferenceStack::new(&meta::identity(self.run, 1), &self.run.spec, self.turn.settings)
    }

    /// Maximum time for llm-d to become ready, in seconds. 0 if the run does not wait for llm-d.
    pub(in crate::plan) fn llm_d_seconds(&self) -> u32 {
        self.stack().map_or(0, |_| self.effective.target.readiness.timeout_seconds)
    }

    /// Adds the ConfigMap with the chart values to a plan, until the run measures. It is the last object to create, so that a quota leaves room for
    /// the objects that the run needs.
    pub(in crate::plan) fn with_chart_values(&self, mut plan: Plan) -> Plan {
        // The chart values derive from the launcher's input, which is available until the children of an attempt exist.
        let goes_on = matches!(plan.status.phase, Some(Phase::Pending | Phase::Preparing | Phase::Starting));
        if goes_on
            && !plan.again
            && self.observed.input.is_some()
            && self.observed.chart_values == Presence::Absent
            && self.observed.values_refused.is_none()
            && self.observed.refused.is_none()
            && let Some(stack) = self.stack()
        {
            plan.create.push(Child::ChartValues(Box::new(config_map(self.run, &stack))));
        }
        plan
    }

    /// Waits until llm-d is installed and ready. Ends the run if that takes too long. `None` if the run does not wait for llm-d, or has another
    /// problem.
    pub(in crate::plan) fn wait_for_llm_d(&self, error: &InputError) -> Option<Plan> {
        let stack = self.stack().filter(|_| error.reason == Reason::TargetNotFound)?;
        let limit = self.effective.target.readiness.timeout_seconds;
        let age = seconds_since(self.preparing_since(), self.turn.now);
        let name = stack.config_map();
        if age >= limit {
            let message = format!(
                "llm-d was not ready within {limit} seconds (target.readiness.timeoutSeconds): {}\nthis run has ended, and llm-d stays as it is; \
                 create the run again when llm-d is ready, or with a higher limit",
                error.message
            );
            return Some(self.finish(Phase::Failed, Outcome::Error, Reason::ServerFailed, &message));
        }
        let printed = "`kubectl benchwright modelservice FILE` prints the values for llm-d's charts";
        let values = match (&self.observed.values_refused, self.observed.chart_values) {
            (Some(refused), _) => format!("{printed}, because their ConfigMap was refused: {refused}"),
            (None, Presence::Foreign) => format!("{printed}, because ConfigMap {name} belongs to somebody else"),
            (None, _) => format!(
                "ConfigMap {name} has the values for llm-d's charts, and the commands: {}",
                print(self.run, &stack, StackFile::Install)
            ),
        };
        let message = format!(
            "{}\nthe run waits for llm-d at most {limit} seconds (target.readiness.timeoutSeconds), and does not install it; {values}",
            error.message
        );
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::ServerStarting, message));
        // The time limit of this wait counts from this field. For a managed server, the status of the server has the times.
        plan.status.preparing_since = Some(self.before.preparing_since.unwrap_or(self.turn.now));
        if self.before.reason != Reason::ServerStarting {
            let note = format!("the run waits for llm-d, which you install; {values}");
            plan.event = Some(status::news(Reason::ServerStarting, &note));
        }
        let next_look = Duration::from_secs(u64::from(age / 10)).clamp(SOON, SELDOM);
        plan.next_look = Some(next_look.min(Duration::from_secs(u64::from(limit - age) + 1)));
        Some(plan)
    }
}
