//! A burst: every request is due at time zero. The concurrency limit, if there is one, determines when each is sent. Sources: `throughput`
//! of GuideLLM, and `--request-rate inf` of `vllm bench serve`.

pub(super) fn times(count: u64) -> Vec<u64> {
    vec![0; usize::try_from(count).unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload_profiles::workload::Load;

    use crate::schedule::tests::times;

    #[test]
    fn all_requests_are_due_at_zero() {
        assert_eq!(times(&Load::Burst { count: 3, max_concurrency: Some(1) }, 9), [Duration::ZERO; 3]);
    }
}
