//! The utilization and the power of the GPUs over time.

use charts::Tone;
use document::ReportDocument;

use super::{
    Content,
    plot::{quantity, share},
    server_series::{self, level, of_server, over_time},
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let server = of_server(document)?;
    let used = over_time(
        document,
        "gpu-use",
        "GPU use",
        "The share of time in which a kernel ran, averaged over the GPUs. It is not the share of their capacity that was used.",
        share("GPU use"),
        [level(server, "GPU use", Tone::Main, &server.gpu_utilization)],
    );
    let power = over_time(
        document,
        "gpu-power",
        "GPU power",
        "Power of all GPUs together.",
        quantity("Power", "W"),
        [level(server, "power", Tone::Main, &server.gpu_power_watts)],
    );
    server_series::content([used, power], "GPUs: name the address of a DCGM exporter in spec.target.metrics")
}
