"""Holds the answers of two LoadGen tests against each other: tokens.py RESULTS RESULTS. Ends with 1 where a sample has other tokens."""

import json
import sys
from pathlib import Path


def answers(folder):
    log = Path(folder, "Accuracy", "mlperf_log_accuracy.json")
    return {line["qsl_idx"]: line["data"] for line in json.loads(log.read_text())}


one, other = (answers(it) for it in sys.argv[1:])
assert one and one.keys() == other.keys(), "the runs have other samples"
equal = sum(one[it] == other[it] for it in one)
print(f"{equal} of {len(one)} samples have the same tokens with vLLM's API and without it")
sys.exit(equal != len(one))
