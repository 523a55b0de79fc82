#!/usr/bin/env python3
"""Records runs of MLCommons' own LoadGen in the layout of ../../mlperf/loadgen/tests/fixtures/loadgen-vectors, against a small thread pool.

    record.py FOLDER              records the cases of cases.py into FOLDER
    record.py --check RUN..       computes results.json anew from the trace of recorded runs that hold both, and compares

Needs mlcommons-loadgen (requirements.txt); --check needs Python alone.
"""

import argparse
import ctypes
import json
import queue
import sys
import threading
import time
from pathlib import Path

import trace as traces
from cases import CASES

# The names of Python's settings where they are not those of the struct.
PYTHON_NAMES = {"server_ttft_latency": "ttft_latency", "server_tpot_latency": "tpot_latency"}
DETAIL = ":::MLLOG "
SHOWN_FIRST, SHOWN_LAST, SHOWN_SAMPLES = 32, 4, 64


def tokens_of(index):
    """How many tokens the answer to a sample has."""
    return 2 + 7919 * index % 37


def answer_to(index):
    """The answer to a sample; its first four bytes are its first token's."""
    return index.to_bytes(4, "little") + (index * 2654435761 % 2**32).to_bytes(4, "little")


class ThreadPool:
    """A system under test: workers that take a sample each, wait for its first token, then for its end."""

    def __init__(self, lg, sut, tokens):
        self.lg, self.tokens = lg, tokens
        self.first, self.rest = sut["first_us"] / 1e6, sut["lat_us"] / 1e6
        self.issued = []
        # Bounded by what LoadGen issues in a run of a few seconds.
        self.waiting = queue.SimpleQueue()
        self.workers = [threading.Thread(target=self._work, daemon=True) for _ in range(sut["workers"])]
        for worker in self.workers:
            worker.start()

    def issue(self, samples):
        """LoadGen's callback."""
        self.issued.append([it.index for it in samples])
        for it in samples:
            self.waiting.put((it.id, it.index))

    def end(self):
        """All that was issued has been answered."""
        for _ in self.workers:
            self.waiting.put(None)
        for worker in self.workers:
            worker.join()

    def _work(self):
        while (sample := self.waiting.get()) is not None:
            number, index = sample
            # The library reads the bytes before its call returns.
            answer = bytearray(answer_to(index))
            time.sleep(self.first)
            if self.tokens:
                self.lg.FirstTokenComplete([self._response(number, answer, 4, 1)])
            time.sleep(self.rest)
            self.lg.QuerySamplesComplete([self._response(number, answer, len(answer), tokens_of(index))])

    def _response(self, number, answer, size, tokens):
        return self.lg.QuerySampleResponse(number, address_of(answer), size, tokens)


def address_of(buffer):
    """Where a bytearray's bytes are."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def test_settings(lg, given):
    """LoadGen's own settings object."""
    settings = lg.TestSettings()
    for name, value in given.items():
        if name == "scenario":
            value = getattr(lg.TestScenario, value)
        elif name == "mode":
            value = getattr(lg.TestMode, value)
        elif isinstance(getattr(settings, PYTHON_NAMES.get(name, name)), bool):
            value = bool(value)
        setattr(settings, PYTHON_NAMES.get(name, name), value)
    return settings


def run(case, folder):
    """Runs a case with the official library; its logs go to the folder. Returns what was issued."""
    import mlperf_loadgen as lg

    output = lg.LogOutputSettings()
    output.outdir = str(folder)
    log = lg.LogSettings()
    log.log_output, log.enable_trace = output, True
    sut = ThreadPool(lg, case["sut"], case["settings"].get("use_token_latencies"))
    qsl = case["qsl"]
    qsl = lg.ConstructQSL(qsl["total_sample_count"], qsl["performance_sample_count"], lambda _: None, lambda _: None)
    handle = lg.ConstructSUT(sut.issue, lambda: None)
    # The name of the audit.config, which must not be one that lies here by chance.
    no_audit = str(folder / "no-audit.config")
    lg.StartTestWithLogSettings(handle, qsl, test_settings(lg, case["settings"]), log, no_audit)
    sut.end()
    lg.DestroySUT(handle)
    lg.DestroyQSL(qsl)
    return sut.issued


def detail_of(folder):
    """Key and value of each line of the detail log; numbers as they stand there, so that no digit is lost."""
    lines = (folder / "mlperf_log_detail.txt").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(it[len(DETAIL):], parse_float=str, parse_int=str) for it in lines if it.startswith(DETAIL)]
    return [(it["key"], it["value"]) for it in entries]


def record(case, root):
    """Records a case, and returns its entry for generated-queries.json, or None where its queries cannot all be seen."""
    folder = root / "runs" / case["name"]
    folder.mkdir(parents=True)
    issued = run(case, folder)
    detail = detail_of(folder)
    version = dict(detail)["loadgen_version"].split()[0]
    seen = traces.Trace(folder / "mlperf_log_trace.json")
    accuracy = case["settings"]["mode"] == "AccuracyOnly"
    results = [] if accuracy else [traces.results(seen, case["settings"], detail, tokens_of)]
    write(folder / "case.json", {"loadgen_version": version, **case})
    write(folder / "results.json", results)
    write(folder / "issued.json", issued)
    # Megabytes, which nobody reads any more.
    (folder / "mlperf_log_trace.json").unlink()
    print(f"{case['name']}: {len(issued)} calls, {sum(map(len, issued))} samples", file=sys.stderr)
    return generated(case, seen, folder)


def generated(case, seen, folder):
    """Every query of a Server or Offline run is issued, at a time that the trace has."""
    if case["settings"]["scenario"] not in ("Server", "Offline"):
        return None
    lines = (folder / "mlperf_log_detail.txt").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(it[len(DETAIL):]) for it in lines if it.startswith(DETAIL)]
    values = lambda key: [it["value"] for it in entries if it["key"] == key]
    fields = [
        "samples_per_query", "target_qps", "target_latency_ns", "target_latency_percentile", "max_async_queries",
        "target_duration_ms", "min_duration_ms", "max_duration_ms", "min_query_count", "max_query_count",
        "min_sample_count", "performance_sample_count", "accuracy_sample_count", "sample_concatenate_permutation",
    ]
    queries = {}
    for sample in seen.in_order():
        queries.setdefault(sample["query_seq"], []).append(sample)
    sets, at = [], 0
    for loaded, count in zip(values("loaded_qsl_set"), values("generated_query_count")):
        sets.append(expected_set(loaded, [(seq, queries[seq]) for seq in range(at, at + count)]))
        at += count
    if at != len(queries):
        raise ValueError(f"{case['name']}: {at} queries were generated, and {len(queries)} issued")
    return {
        "name": case["name"],
        "qsl": {key: value for key, value in case["qsl"].items() if key != "name"},
        "settings": case["settings"],
        "expect": {"effective": {it: values(f"effective_{it}")[0] for it in fields}, "sets": sets},
    }


def expected_set(loaded, queries):
    """What was generated for a loaded set."""
    start = queries[0][1][0]["scheduled"]
    due = [samples[0]["scheduled"] - start for _, samples in queries]
    indices = [[it["sample_idx"] for it in samples] for _, samples in queries]
    every = [it for query in indices for it in query]
    shown = []
    for (seq, _), at, samples in zip(queries, due, indices):
        entry = {"seq": seq, "t_ns": at, "samples": samples[:SHOWN_SAMPLES]}
        if len(samples) > SHOWN_SAMPLES:
            entry.update(samples_truncated=True, n_samples=len(samples))
        shown.append(entry)
    return {
        "loaded_set": loaded[:SHOWN_FIRST],
        "loaded_set_count": len(loaded),
        "loaded_set_fnv": fnv(loaded),
        "sample_distribution_end": len(loaded),
        "query_count": len(queries),
        "sample_count": len(every),
        "schedule_fnv": fnv(due),
        "samples_fnv": fnv(every),
        "first": shown[:SHOWN_FIRST],
        "last": shown[-SHOWN_LAST:],
    }


def fnv(values):
    """FNV-1a over values of eight bytes."""
    digest = 14695981039346656037
    for byte in b"".join(it.to_bytes(8, "little") for it in values):
        digest = (digest ^ byte) * 1099511628211 % 2**64
    return f"{digest:016x}"


def check(folder):
    """Whether the trace gives the results that were recorded beside it, to the last digit."""
    case = json.loads((folder / "case.json").read_text())
    [expected] = json.loads((folder / "results.json").read_text())
    seen = traces.Trace(folder / "mlperf_log_trace.json")
    found = traces.results(seen, case["settings"], detail_of(folder), tokens_of)
    seconds = {it for it in expected if case["settings"]["scenario"] in traces.START_UNSEEN and it in traces.FROM_START}
    late = {it: abs(found[it] - expected[it]) * 1e9 for it in seconds}
    wrong = [it for it in expected if found[it] != expected[it] and late.get(it, seen.window_ns) >= seen.window_ns]
    told = [f"{key} is {nanoseconds:.0f} ns off" for key, nanoseconds in sorted(late.items())]
    print(f"{folder.name}: {len(expected) - len(wrong)} of {len(expected)} fields agree", *wrong, *told, sep="; ")
    return not wrong


def write(path, value):
    path.write_text(json.dumps(value, indent=None if isinstance(value, list) else 1) + "\n", encoding="utf-8")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare recorded runs with their own traces")
    arguments.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    given = arguments.parse_args()
    if given.check:
        sys.exit(0 if all([check(it) for it in given.folders]) else 1)
    if len(given.folders) != 1 or given.folders[0].exists():
        arguments.error("give one folder, which does not exist yet")
    [root] = given.folders
    queries = [it for it in (record(case, root) for case in CASES) if it]
    write(root / "generated-queries.json", {"kind": "generated-queries", "cases": queries})


if __name__ == "__main__":
    main()
