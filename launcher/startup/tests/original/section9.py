#!/usr/bin/env python3
"""What the nop harness of llm-d-benchmark reads from start-up logs, by its rules and no others.

Written from a description of those rules. It has their faults too, because the test holds our reader against them:
the first number of a line counts, scalars are read from the whole log, a category is shared by all processes, and a log
with "Uvicorn running" is only read after that line. Two editions: the texts of vLLM 0.16 and older, and those that the
harness has looked for since vLLM 0.24.

Writes expected.json beside itself: python3 section9.py
"""

import ast
import json
import pathlib
import re
from datetime import datetime, timezone

HERE = pathlib.Path(__file__).resolve().parent
STAMP = re.compile(r"\d{2}-\d{2}\s\d{2}:\d{2}:\d{2}(?:\.\d{3})?")
NUMBER = re.compile(r"[-+]?\d*\.\d+|\d+")
# The year in which the logs are read.
YEAR = 2026

COMPILES = "Start compiling function|torch/_dynamo"
EDITIONS = {
    "old": {
        "torch_compile": "torch.compile takes",
        "memory": {
            "initial_free": "Initial free memory:",
            "after_free": "Free memory after profiling:",
            "memory_profiling": "Memory profiling takes",
        },
        "categories": [
            ("Detect Platform", "No plugins for group", "detected platform"),
            ("LLM Imports", "detected platform", "Available plugins for group"),
            ("Get Model Info", "vLLM API server version| version ", "Using max model len"),
            ("Worker Initialization", "Waiting for init message", "Starting to load model"),
            ("Model Loading", "Starting to load model", "Model loading took"),
            ("Pytorch Compilation", COMPILES, "torch.compile takes"),
            ("Dynamo", COMPILES, "Dynamo bytecode transform"),
            ("Inductor", "Dynamo bytecode transform", "torch.compile takes"),
            ("CUDA Graph Capture", "torch.compile takes", "init engine"),
            ("API Server Starts", "Starting vLLM API server", "Route: /metrics"),
        ],
    },
    "new": {
        "torch_compile": "torch.compile took",
        "memory": {"available_kv_cache": "Available KV cache memory:"},
        "categories": [
            ("Detect Platform", "No plugins for group", "detected platform"),
            ("LLM Imports", "detected platform", "Available plugins for group"),
            ("Get Model Info", "vLLM API server version| version ", "Using max model len"),
            (
                "Worker Initialization",
                "Waiting for init message|Initializing a V1 LLM engine",
                "Starting to load model|Loading model from scratch",
            ),
            ("Model Loading", "Starting to load model|Loading model from scratch", "Model loading took"),
            ("Pytorch Compilation", COMPILES + "|for vLLM's torch.compile", "torch.compile took"),
            ("Dynamo", COMPILES + "|for vLLM's torch.compile", "Dynamo bytecode transform"),
            ("Inductor", "Dynamo bytecode transform", "torch.compile took"),
            ("CUDA Graph Capture", "torch.compile took", "init engine"),
            ("API Server Starts", "Starting vLLM API server|Starting vLLM server", "Route: /metrics"),
        ],
    },
}
LOAD_FORMATS = (
    "auto pt safetensors npcache dummy tensorizer sharded_state gguf bitsandbytes mistral runai_streamer "
    "runai_streamer_sharded fastsafetensors"
).split()


class Crash(Exception):
    """The original ends with an exception here."""


def time_of(line):
    found = STAMP.search(line)
    if not found:
        return None
    form = "%Y-%m-%d %H:%M:%S" + (".%f" if "." in found.group() else "")
    try:
        return datetime.strptime(f"{YEAR}-{found.group()}", form).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def process_of(line):
    for group in reversed(re.findall(r"\(.*?\)", line)):
        if "pid=" in group:
            return group
    return None


def numbers(line, text):
    at = line.find(text)
    return [float(it) for it in NUMBER.findall(line[at:])] if at >= 0 else []


def arguments(text):
    """The literal map, with each object as a map of its class name to the text of its arguments."""
    before = None
    while before != text:
        before = text
        text = re.sub(r"(\w+)\((.*?)\)", lambda it: f"{{'{it[1]}': {it[2].strip()!r}}}", text, flags=re.S)
    return ast.literal_eval(text)


def scalars(lines, edition):
    found = {}
    for line in lines:
        if "start" not in found and "non-default args:" in line:
            found["start"] = time_of(line)
        if "Available routes are:" in line and "start" in found and time_of(line) is not None:
            found["ready"] = time_of(line)
        if "args" not in found and "non-default args:" in line:
            try:
                found["args"] = arguments(line.split("non-default args:", 1)[1].strip())
            except (SyntaxError, ValueError):
                found["args"] = None
        if "sleep_mode" not in found and "'enable_sleep_mode':" in line:
            value = re.split(r"[,}]", line.split("'enable_sleep_mode':", 1)[1])[0]
            found["sleep_mode"] = value.strip().lower() == "true"
        if "load_format" not in found and "load_format=" in line:
            word = line.split("load_format=", 1)[1].split(",", 1)[0].strip()
            if word in LOAD_FORMATS:
                found["load_format"] = word
        first = {
            "dynamo_bytecode_transform": "Dynamo bytecode transform time",
            "torch_compile": edition["torch_compile"],
            **edition["memory"],
        }
        values = numbers(line, "Model loading took")
        if "load_time" not in found and len(values) > 1:
            found["load_size"], found["load_time"] = values[:2]
        for name, text in first.items():
            values = numbers(line, text)
            if name not in found and values:
                found[name] = values[0]
        if "load_cached_compiled_graph" not in found and "compile_graph" not in found:
            for name, text in (
                ("load_cached_compiled_graph", "Directly load the compiled graph(s) for "),
                ("compile_graph", "Compiling a graph for "),
            ):
                values = numbers(line, text)
                if values:
                    found[name] = values[0]
                    break
        for kind, text in (("sleep", " seconds to fall asleep"), ("wake", " seconds to wake up")):
            values = numbers(line, " It took ")
            if text in line and values:
                found.setdefault("sleep_wake", []).append([kind, values[0]])
    return found


def categories(lines, model, edition):
    for number, line in enumerate(lines):
        if f"End model {model} serialization" in line or "Uvicorn running" in line:
            lines = lines[number + 1 :]
            break
    processes = {}
    for line in lines:
        processes.setdefault(process_of(line), []).append(line)
    bounds = {name: [None, None] for name, _, _ in edition["categories"]}
    for of_process in processes.values():
        for at, line in enumerate(of_process):
            for name, start, end in edition["categories"]:
                bound = bounds[name]
                if bound[0] is None and re.search(start, line):
                    dated = [time_of(it) for it in of_process[at:]]
                    dated = [it for it in dated if it is not None]
                    bound[0], bound[1] = (dated[0] if dated else None), None
                if bound[1] is None and re.search(end, line):
                    if time_of(line) is None:
                        raise Crash(f"the end of {name} has no time")
                    bound[1] = time_of(line)
    # A category without a bound has 0 in the original, which is left out here.
    return {name: end - start for name, (start, end) in bounds.items() if start is not None and end is not None}


def read(path, edition):
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = scalars(lines, edition)
    args = found.pop("args", None) or {}
    model = (args.get("served_model_name") or [args.get("model", "")])[0]
    found["args"] = sorted(args)
    try:
        found["categories"] = categories(lines, model, edition)
    except Crash as crash:
        found["crash"] = str(crash)
    return found


def main():
    logs = sorted((HERE.parent / "logs").glob("*.log"))
    expected = {it.stem: {name: read(it, edition) for name, edition in EDITIONS.items()} for it in logs}
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
