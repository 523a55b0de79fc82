//! What the server reported about itself, in `report.md` and `server_metrics.parquet`. Pure.

pub(crate) mod parquet;
pub(crate) mod table;
