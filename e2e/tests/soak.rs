//! What takes minutes, or a quiet machine: `make soak`.

use std::time::Duration;

use e2e::outage::assert_runs_outlive_an_outage;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes of a quiet machine: make soak"]
async fn runs_stay_valid_while_the_api_server_is_down_for_minutes() -> anyhow::Result<()> {
    // With the default rules of validity: the launcher must not be late.
    assert_runs_outlive_an_outage(Duration::from_secs(180), "validity: {}").await
}
