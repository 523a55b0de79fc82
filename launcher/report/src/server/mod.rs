//! What the server reported of itself, in `report.md` and `server_metrics.parquet`. Pure.

pub(crate) mod parquet;
pub(crate) mod table;
