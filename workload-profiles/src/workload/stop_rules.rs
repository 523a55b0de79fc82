//! Rules that end a stage or the load early because too many requests fail, or are too slow.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Ends a stage or the load when requests fail too often or are too slow. Each stage counts from zero. Three kinds of requests are not counted:
/// cancelled requests, requests whose client disconnected, and requests that were incomplete at the end of the stage. Requests in flight can still
/// end within the stage's grace period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRule {
    /// The name in messages and in the report.
    pub name: String,
    /// Which requests count as hits.
    pub hit: Hit,
    /// When the rule ends the stage or the load.
    pub limit: HitLimit,
    /// What the rule ends.
    pub scope: StopScope,
}

/// Which requests count as hits of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hit {
    /// A request that failed in any way, or whose answer had no content.
    Failed,
    /// An answer with this HTTP status.
    Status(u16),
    /// A request that timed out.
    TimedOut,
    /// A request without a first token within this time after it was sent.
    TtftAbove(Span),
    /// A request whose latency exceeds this time.
    LatencyAbove(Span),
}

/// When a rule takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HitLimit {
    /// After this number of hits.
    Count(u64),
    /// After this number of consecutive hits.
    InARow(u64),
    /// When the share of hits among the last `of` requests reaches `share`. The rule has no effect before `of` requests have ended.
    #[serde(rename_all = "camelCase")]
    ShareOfLast {
        /// The share, 0 to 1.
        share: f64,
        /// Number of requests over which the share is computed.
        of: u32,
    },
    /// When the share of hits among the requests that ended within the last `within` reaches `share`.
    #[serde(rename_all = "camelCase")]
    ShareWithin {
        /// The share, 0 to 1.
        share: f64,
        /// Requests that ended longer ago do not count.
        within: Span,
        /// Minimum number of requests before the rule takes effect.
        least: u32,
    },
    /// When the share of hits among all requests so far reaches `share`.
    #[serde(rename_all = "camelCase")]
    ShareOfAll {
        /// The share, 0 to 1.
        share: f64,
        /// Minimum number of requests before the rule takes effect.
        least: u32,
    },
}

/// What a stop rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopScope {
    /// The stage. The next stage then begins.
    Stage,
    /// The whole load.
    Load,
}
