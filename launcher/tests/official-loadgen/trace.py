"""The raw result of a performance phase, out of the trace of MLCommons' LoadGen.

Times in a trace are microseconds with three decimals since one origin, so whole nanoseconds. The file is no JSON where a
string stands in it (its quotes are doubled), but each line that is read here is. What comes from where:

- "Sample": sample and query number, sample index, scheduled time (ts), and from there to the issue and to the completion.
- "Token" (all scenarios but Server), "Token_Latency" (Server): the first token. The latter names no sample: it is the
  sample of that scheduled time and that delay of issue.
- The phase starts when the first query is scheduled, in Server and Offline. In the other two scenarios it starts a moment
  before its first query, at a time that no event has: it lies between the end of "GenerateQueries" and the first
  "SampleLoop". Of that window the latest nanosecond is taken at which the library's own rate over the whole phase comes out;
  of that one rate, a comparison of the recording shows no more than that it lies in the window.
- Scheduled times of SingleStream and MultiStream, which are not waited for, are in no event: they are computed.
- Tokens per sample are what the system under test told. Time per output token is LoadGen's division of these.
"""

import json
import re
from collections import defaultdict

EVENT = re.compile(r'\{"name":"(\w+)"')
# Where the start of the phase is only known to lie in a window, and what counts from it.
START_UNSEEN = ("SingleStream", "MultiStream")
FROM_START = ("final_query_issued_time_s", "final_query_all_samples_done_time_s")
OVERALL_RATE = {"result_qps_with_loadgen_overhead", "result_token_throughput_with_loadgen_overhead"}


def nanoseconds(microseconds):
    """Exact for every time of a trace: fewer than 53 bits, and three decimals."""
    return round(microseconds * 1000)


class Trace:
    """The events of a trace that tell about samples and about the start of the phase."""

    def __init__(self, path):
        self.samples, self.tokens, self.server_tokens = {}, {}, defaultdict(list)
        self.generated = self.loop = self.generating_ns = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                name = EVENT.match(line)
                if name:
                    self._event(name[1], line)
        if not self.samples:
            raise ValueError(f"{path} tells of no sample; record with enable_trace")

    def _event(self, name, line):
        if name not in ("Sample", "Token", "Token_Latency", "GenerateQueries", "SampleLoop"):
            return
        event = json.loads(line.rstrip().rstrip(","))
        at = nanoseconds(event["ts"])
        if name in ("Sample", "Token") and event["ph"] == "b":
            events = self.samples if name == "Sample" else self.tokens
            number = event["args"]["sample_seq"]
            if number in events:
                raise ValueError(f"the trace has two {name} events of sample {number}; record one phase at a time")
            events[number] = {"scheduled": at, **event["args"]}
        elif name == "Token_Latency":
            delay = event["args"]["issue_delay"]
            self.server_tokens[at, delay].append(delay + event["args"]["issue_to_done"])
        elif name == "GenerateQueries":
            self.generating_ns = nanoseconds(event["dur"])
            self.generated = at + self.generating_ns
        elif name == "SampleLoop" and self.loop is None:
            self.loop = at

    @property
    def window_ns(self):
        """In which the phase starts."""
        return self.loop - self.generated

    def in_order(self):
        """The events of all samples by number; there must be no gap."""
        if sorted(self.samples) != list(range(len(self.samples))):
            raise ValueError("the trace misses samples")
        return [self.samples[it] for it in range(len(self.samples))]

    def first_tokens(self):
        """From the scheduled time to the first token, of each sample; empty where nobody told of first tokens."""
        if not self.tokens and not self.server_tokens:
            return []
        return [self._first_token(it) for it in self.in_order()]

    def _first_token(self, sample):
        if self.tokens:
            return self.tokens[sample["sample_seq"]]["complete_ns"]
        told = self.server_tokens[sample["scheduled"], sample["issue_start_ns"]]
        if len(told) != 1:
            raise ValueError(f"{len(told)} first tokens may be those of sample {sample['sample_seq']}; record again")
        return told[0]


def results(trace, settings, detail, tokens_of):
    """A phase in the layout of results.json. `detail` holds the detail log's values, `tokens_of` the tokens of a sample."""
    samples = trace.in_order()
    first, last = samples[0], samples[-1]
    scenario = settings["scenario"]
    tokens = [tokens_of(it["sample_idx"]) for it in samples] if settings.get("use_token_latencies") else []
    latencies = [it["complete_ns"] for it in samples]
    queries = defaultdict(int)
    for sample in samples:
        queries[sample["query_seq"]] = max(queries[sample["query_seq"]], sample["complete_ns"])
    start = first["scheduled"]
    target_qps, scheduled = target(settings), last["scheduled"] - start
    if scenario in START_UNSEEN:
        start = phase_start(trace, detail, len(samples), sum(tokens), last)
        scheduled = int((1.0 / target_qps) * 1e9) * (len(queries) - 1)
    first_tokens = trace.first_tokens() if tokens else []
    per_token = [
        divide(whole - to_first, count - 1) for whole, to_first, count in zip(latencies, first_tokens, tokens)
    ]
    return {
        "target_qps": target_qps,
        "queries_issued": len(queries),
        "max_latency_s": max(latencies) / 1e9,
        "final_query_scheduled_time_s": scheduled / 1e9,
        "final_query_issued_time_s": (last["scheduled"] + last["issue_start_ns"] - start) / 1e9,
        "final_query_all_samples_done_time_s": (last["scheduled"] + queries[last["query_seq"]] - start) / 1e9,
        "sample_latencies_ns": latencies,
        "query_latencies_ns": [queries[it] for it in sorted(queries)] if scenario == "MultiStream" else [],
        "first_token_latencies_ns": first_tokens,
        "time_per_output_token_ns": per_token,
        "tokens_per_sample": tokens,
    }


def phase_start(trace, detail, samples, tokens, last):
    """See the module's description; the end of the window where the log has no rate over the whole phase."""
    printed = {key: value for key, value in detail if key in OVERALL_RATE}
    if not printed:
        return trace.loop
    for start in range(trace.loop, trace.generated, -1):
        took = (last["scheduled"] - start) / 1e9
        rates = {"result_qps_with_loadgen_overhead": (samples - 1) / took,
                 "result_token_throughput_with_loadgen_overhead": tokens / took}
        if all(f"{rates[key]:g}" == value for key, value in printed.items()):
            return start
    raise ValueError("the library's rate over the phase comes out at no start that the trace allows")


def divide(dividend, divisor):
    """As C++ divides whole numbers: toward zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def target(settings):
    """Queries per second, as LoadGen normalises them."""
    scenario = settings["scenario"]
    if scenario == "SingleStream":
        return 1e9 / settings.get("single_stream_expected_latency_ns", 1e6)
    if scenario == "MultiStream":
        return 1e9 / settings.get("multi_stream_expected_latency_ns", 8e6)
    return settings.get("server_target_qps" if scenario == "Server" else "offline_expected_qps", 1.0)
