//! The document of a run after its figures were computed again with other measurement windows.

use crate::{ReportDocument, ServerMetricsDocument};

impl ReportDocument {
    /// (Prompt tokens found in the servers' prefix caches, prompt tokens looked up there), for the whole run. `None` if unknown.
    pub fn cache_counts(&self) -> Option<(f64, f64)> {
        let run = &self.server_metrics.as_ref()?.run;
        let looked_up = run.prefix_cache_queried_tokens.or(run.prompt_tokens);
        run.prefix_cache_hit_tokens.zip(looked_up).filter(|_| run.whole)
    }

    /// Combines the new figures in `counted` with everything from this document that does not depend on measurement windows. `moved` are the stages
    /// with a changed window.
    pub fn counted_again(&self, counted: ReportDocument, moved: &[&str]) -> ReportDocument {
        ReportDocument {
            run: self.run.clone(),
            server: self.server.clone(),
            startups: self.startups.clone(),
            managed_server: self.managed_server.clone(),
            server_replicas: self.server_replicas.clone(),
            server_metrics: self.server_metrics.clone().map(|it| it.without_stages(moved)),
            notices: self.notices.clone(),
            inputs: self.inputs.clone(),
            ..counted
        }
    }
}

impl ServerMetricsDocument {
    /// Removes the servers' figures of some stages, because they still cover the original windows.
    fn without_stages(mut self, moved: &[&str]) -> ServerMetricsDocument {
        let stages = self.stages.iter_mut().filter(|it| moved.contains(&it.name.as_str()));
        let left_out: Vec<&str> = stages.filter_map(|it| it.figures.take().map(|_| it.name.as_str())).collect();
        if !left_out.is_empty() {
            self.remarks.push(format!(
                "server metrics are left out for these stages, because their windows were changed after the run: {}. The report of the run has the \
                 metrics for its own windows",
                left_out.join(", ")
            ));
        }
        self
    }
}
