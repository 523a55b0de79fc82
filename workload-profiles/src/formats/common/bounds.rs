//! Bounds for the profiles of all formats.

/// Maximum stages.
pub(in crate::formats) const MAX_STAGES: usize = 1000;
/// The longest stage, in seconds: a week.
pub(in crate::formats) const MAX_STAGE_SECONDS: u64 = 604_800;
/// The longest pause, timeout and latency limit of goodput, in seconds: a day.
pub(in crate::formats) const MAX_PAUSE_SECONDS: u64 = 86_400;
/// Maximum concurrency. Each request in flight uses a connection, and a machine has 64,512 ports per remote address.
pub(in crate::formats) const MAX_CONCURRENCY: u64 = 60_000;
/// The longest prompt or answer, in tokens.
pub(in crate::formats) const MAX_TOKENS: u64 = 2_000_000;
/// Maximum number of lengths that are drawn for a load. Further requests repeat the drawn lengths.
pub(in crate::formats) const MAX_DRAWN: u64 = 10_000_000;
/// Maximum number of distinct prompts of a shared-prefix load. Their shuffled order is kept in memory.
pub(in crate::formats) const MAX_PROMPTS: u64 = 1_000_000;
/// Maximum turns of a conversation.
pub(in crate::formats) const MAX_TURNS: u64 = 10_000;
