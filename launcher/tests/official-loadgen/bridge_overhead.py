#!/usr/bin/env python3
"""Measures what the bridge adds to the latency of a sample: prints a Markdown table.

LoadGen's time from the issue of a sample to its completion, out of its trace, less the launcher's time from its send to its
last token, sample by sample, in one and the same run against the simulator. Pipes, Python and its lock are in it, and the
making of the request; the server and the connection to it are not. BENCHWRIGHT names the launcher's binary.
"""

import statistics
import tempfile
from pathlib import Path

import trace as traces
from bridge_test import RUN, Simulator, benchwright_sut

# Simulator, requests per second, seconds.
LOADS = [("tiny", 50, 10), ("tiny", 200, 10), ("instant", 200, 10), ("instant", 1000, 10)]


class Timed(benchwright_sut.Sut):
    """Keeps the launcher's time of each sample."""

    def __init__(self, command):
        self.ids, self.took = [], {}
        super().__init__(command, first_tokens=True)

    def issue_queries(self, samples):
        self.ids.extend(it.id for it in samples)
        super().issue_queries(samples)

    def answered(self, sample, took_ns):
        self.took[sample] = took_ns
        super().answered(sample, took_ns)


def measure(preset, rate, seconds):
    """LoadGen's time, the launcher's, and their difference of each sample, in microseconds."""
    import mlperf_loadgen as lg

    with tempfile.TemporaryDirectory() as folder, Simulator(preset=preset) as url:
        file = Path(folder) / "run.yaml"
        file.write_text(RUN.replace("TARGET", f"{{url: '{url}'}}"))
        with Timed(benchwright_sut.launcher(file)) as sut:
            settings = lg.TestSettings()
            settings.scenario, settings.mode = lg.TestScenario.Server, lg.TestMode.PerformanceOnly
            settings.server_target_qps, settings.min_duration_ms = rate, 1000 * seconds
            settings.use_token_latencies = True
            system = lg.ConstructSUT(sut.issue_queries, sut.flush_queries)
            library = lg.ConstructQSL(1000, 1000, sut.load_samples, sut.unload_samples)
            output, log = lg.LogOutputSettings(), lg.LogSettings()
            output.outdir = folder
            log.log_output, log.enable_trace = output, True
            lg.StartTestWithLogSettings(system, library, settings, log, "none")
            lg.DestroyQSL(library)
            lg.DestroySUT(system)
        if not sut.summary.is_whole:
            raise SystemExit(f"{sut.summary.failed} samples failed: {sut.summary.first_failure}")
        samples = traces.Trace(Path(folder) / "mlperf_log_trace.json").in_order()
    seen = [(it["complete_ns"] - it["issue_start_ns"]) / 1e3 for it in samples]
    took = [sut.took[it] / 1e3 for it in sut.ids]
    return seen, took, [whole - own for whole, own in zip(seen, took)]


def main():
    """The table."""
    print("| simulator | samples per second | samples | LoadGen's median, us | launcher's median, us | added p50, us | p99 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for preset, rate, seconds in LOADS:
        seen, took, added = measure(preset, rate, seconds)
        cells = [statistics.median(seen), statistics.median(took), statistics.median(added),
                 statistics.quantiles(added, n=100)[98]]
        print(f"| {preset} | {rate} | {len(seen)} | " + " | ".join(f"{it:.0f}" for it in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
