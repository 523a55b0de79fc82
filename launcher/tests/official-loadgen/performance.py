#!/usr/bin/env python3
"""Measures LoadGen's arithmetic, MLCommons' and ours, on this machine: prints a Markdown table.

    performance.py BINARY        of the example loadgen_speed, built with optimisation

Both plan the same phase (Server, equal issue, a million queries and some to whole passes), and both work up its samples,
once without and once with an accuracy log of all answers, 16 tokens each. Each part has a process of its own, and so its own
peak of memory.

The library's time for planning is its trace's "GenerateQueries". For the results it is from the return of the last
QuerySamplesComplete to the return of StartTest; each sample is completed while it is issued, so what the library works up
meanwhile on its own thread does not count against it. Ours is from the last record to the last file.
"""

import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import trace as traces
from record import address_of, test_settings

RUNS = 3
QSL = {"name": "PyQSL", "total_sample_count": 13368, "performance_sample_count": 13368}
SETTINGS = {
    "scenario": "Server", "mode": "PerformanceOnly", "server_target_qps": 500000.0, "min_duration_ms": 0,
    "min_query_count": 1000000, "sample_concatenate_permutation": True, "use_token_latencies": True,
    "server_coalesce_queries": True, "qsl_rng_seed": 2085463073848966840,
    "sample_index_rng_seed": 2747215439041700203, "schedule_rng_seed": 16159082839903944936,
}
# A run that ends with its first query has planned all the same.
PARTS = {"plan": {"max_query_count": 1}, "results": {}, "accuracy": {"accuracy_log_probability": 1.0}}
NAMES = {"plan": "planning", "results": "results of", "accuracy": "the same with an accuracy log of"}
TOKENS = 16


def official(part):
    """Runs a part with the library in this process."""
    import mlperf_loadgen as lg

    data, last = bytearray(4 * TOKENS), [0.0]
    address = address_of(data)

    def issue(ids, _):
        if part != "plan":
            lg.FirstTokenComplete([lg.QuerySampleResponse(it, address, 4, 1) for it in ids])
        lg.QuerySamplesComplete([lg.QuerySampleResponse(it, address, len(data), TOKENS) for it in ids])
        last[0] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        output, log = lg.LogOutputSettings(), lg.LogSettings()
        output.outdir = folder
        log.log_output, log.enable_trace = output, part == "plan"
        sut = lg.ConstructFastSUT(issue, lambda: None)
        qsl = lg.ConstructQSL(QSL["total_sample_count"], QSL["performance_sample_count"], lambda _: None, lambda _: None)
        lg.StartTestWithLogSettings(sut, qsl, test_settings(lg, {**SETTINGS, **PARTS[part]}), log, "none")
        seconds = time.perf_counter() - last[0]
        # Line by line: the rates of a run of one query are no JSON.
        told = re.search(r'"generated_query_count", "value": (\d+)', (Path(folder) / "mlperf_log_detail.txt").read_text())
        queries = int(told[1])
        if part == "plan":
            seconds = traces.Trace(Path(folder) / "mlperf_log_trace.json").generating_ns / 1e9
        elif part == "accuracy" and os.path.getsize(Path(folder) / "mlperf_log_accuracy.json") < 100 * queries:
            raise SystemExit("the accuracy log does not hold every answer")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"queries": queries, "seconds": seconds, "peak_mib": peak}))


def ours(binary, part):
    """The command of a part."""
    settings = {**SETTINGS, **PARTS[part]}
    return [binary, "plan" if part == "plan" else "results", json.dumps(settings), json.dumps(QSL)]


def median_of(command, with_folder):
    """The median run of a command that prints its figures."""
    told = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command + [folder] * with_folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        told.append(json.loads(done.stdout.splitlines()[-1]))
    [queries] = {it["queries"] for it in told}
    return queries, *(statistics.median(it[key] for it in told) for key in ("seconds", "peak_mib"))


def processor():
    """Its name, where /proc tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((it.split(":")[1].strip() for it in lines if it.startswith("model name")), platform.machine())


def main():
    """The table."""
    [binary] = sys.argv[1:]
    print(f"{os.cpu_count()} cores, {processor()}; medians of {RUNS} runs.\n")
    print("| | MLCommons' LoadGen | ours | ratio |\n| --- | --- | --- | --- |")
    for part, name in NAMES.items():
        theirs = median_of([sys.executable, "-B", __file__, "--official", part], 0)
        own = median_of(ours(binary, part), 1)
        if theirs[0] != own[0]:
            raise SystemExit(f"the library planned {theirs[0]} queries, and we {own[0]}")
        for figure, unit, at, digits in [(f"{name} {own[0]:,} queries", "s", 1, 3), ("peak resident memory", "MiB", 2, 0)]:
            print(f"| {figure}, {unit} | {theirs[at]:.{digits}f} | {own[at]:.{digits}f} | {theirs[at] / own[at]:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--official"]:
        official(sys.argv[2])
    else:
        main()
