//! Rules that end a stage or the load early because too many requests fail, or are too slow.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Ends a stage, or the load, when requests fail too often. Each stage counts from zero. Cancelled requests, requests that their client
/// left, and requests that were incomplete at the end of the stage do not count. Requests in flight may end within the stage's grace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StopRule {
    /// The name in messages and in the report.
    pub name: String,
    /// The requests that count as hits.
    pub hit: Hit,
    /// When it ends the load.
    pub limit: HitLimit,
    /// What it ends.
    pub scope: StopScope,
}

/// A request that counts for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hit {
    /// A request that failed in any way; also an answer without content.
    Failed,
    /// An answer with this status of HTTP.
    Status(u16),
    /// A request that ended by a timeout.
    TimedOut,
    /// A request with no first token within this time after it was sent.
    TtftAbove(Span),
    /// A request that took longer than this.
    LatencyAbove(Span),
}

/// When a rule ends the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HitLimit {
    /// At this number of hits.
    Count(u64),
    /// After this number of consecutive hits.
    InARow(u64),
    /// When the share of hits among the last `of` requests reaches `share`; not before there were `of` requests.
    #[serde(rename_all = "camelCase")]
    ShareOfLast {
        /// 0 to 1.
        share: f64,
        /// A number of requests.
        of: u32,
    },
    /// When the share of hits among the requests that ended within the last `within` reaches `share`.
    #[serde(rename_all = "camelCase")]
    ShareWithin {
        /// 0 to 1.
        share: f64,
        /// Requests that ended longer ago do not count.
        within: Span,
        /// Minimum number of requests for a share.
        least: u32,
    },
    /// When the share of hits among all requests reaches `share`.
    #[serde(rename_all = "camelCase")]
    ShareOfAll {
        /// 0 to 1.
        share: f64,
        /// Minimum number of requests for a share.
        least: u32,
    },
}

/// What a stop rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopScope {
    /// The stage; the next one begins.
    Stage,
    /// The load.
    Load,
}
