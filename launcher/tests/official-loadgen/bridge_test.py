"""The bridge with MLCommons' own LoadGen, against the simulator. BENCHWRIGHT names the launcher's binary.

    python -m unittest bridge_test        in this folder, with mlcommons-loadgen
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

BRIDGE = Path(__file__).resolve().parents[2] / "bridge"
sys.path.insert(0, str(BRIDGE))

import benchwright_sut  # noqa: E402

SAMPLES, PERFORMANCE_SAMPLES = 40, 24
RUN = """
apiVersion: benchwright.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: bridge}
spec:
  target: TARGET
  profile:
    inline: |
      load: {type: constant, stages: [{rate: 1, duration: 1}]}
      api: {type: completion, streaming: true}
      data:
        type: random
        input_distribution: {min: 10, max: 30, mean: 20, std_dev: 5}
        output_distribution: {min: 5, max: 15, mean: 10, std_dev: 2}
"""

# A profile whose tests our own engine can run as well.
LOADGEN_RUN = """
apiVersion: benchwright.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: own}
spec:
  target: {simulator: {preset: tiny}}
  harness: loadgen
  profile:
    inline: |
      {benchmark: llama3.1-8b, scenario: Server, mode: accuracy, target_qps: 100, qsl: {total_sample_count: 40},
       dataset: {synthetic: {input: 48, output: 12}}, sampling: {ignoreEos: true}}
"""

# Answers the first half of the samples and sends a frame of no kind behind them.
HALF_A_LAUNCHER = """
import struct, sys
read, write = sys.stdin.buffer.read, sys.stdout.buffer.write
frame = lambda kind, content: struct.pack("<IB", len(content) + 1, kind) + content
read(7)
write(frame(129, struct.pack("<HQ", 1, 0) + b"m"))
sys.stdout.buffer.flush()
length, _ = struct.unpack("<IB", read(5))
numbers = struct.unpack(f"<{(length - 1) // 8}Q", read(length - 1))
ids = numbers[::2][:len(numbers) // 4]
answers = [frame(130, struct.pack("<QI", it, 7)) + frame(131, struct.pack("<QQII", it, 5, 7, 8)) for it in ids]
write(b"".join(answers) + frame(99, b"?"))
sys.stdout.buffer.flush()
read()
"""


class BridgeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "run.yaml"
        self.file.write_text(RUN.replace("TARGET", "{simulator: {preset: tiny}}"))

    def loadgen(self, scenario, mode, *settings, status=0, tokens=1, program=None):
        """Runs the bridge's command line; returns the folder of LoadGen's logs, and stderr."""
        output, command = self.command(scenario, mode, settings, tokens)
        environment = {**os.environ, "BENCHWRIGHT": str(program or os.environ["BENCHWRIGHT"])}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return output, done.stderr

    def command(self, scenario, mode, settings, tokens=1):
        """The bridge's command line, and the folder of LoadGen's logs."""
        output = self.folder / f"{scenario}-{mode}-{tokens}"
        command = [sys.executable, "-B", str(BRIDGE / "benchwright_sut.py"), "-f", str(self.file)]
        command += ["--benchmark", "any", "--scenario", scenario, "--mode", mode, "--output", str(output)]
        command += ["--samples", str(SAMPLES), "--performance-samples", str(PERFORMANCE_SAMPLES)]
        for setting in (f"use_token_latencies={tokens}", "ttft_latency=60000000000", "tpot_latency=60000000000",
                        "server_target_latency_ns=60000000000", *settings):
            command += ["--set", setting]
        return output, command

    def detail(self, output):
        lines = (output / "mlperf_log_detail.txt").read_text().splitlines()
        return [json.loads(it[len(":::MLLOG "):]) for it in lines if it.startswith(":::MLLOG ")]

    def assert_no_errors(self, output):
        errors = [it for it in self.detail(output) if it["metadata"]["is_error"]]
        self.assertEqual(errors, [])

    def answers(self, output):
        """The accuracy log: token ids by sample, and the first ones by sample."""
        entries = json.loads((output / "mlperf_log_accuracy.json").read_text())
        for entry in entries:
            self.assertEqual(len(entry["data"]), 8 * entry["token_count"])
            self.assertTrue(entry["data"].startswith(entry.get("token_data", "")))
        return {it["qsl_idx"]: it["data"] for it in entries}, len(entries)

    def test_a_server_run_is_valid(self):
        # 500 queries, of which early stopping wants 459.
        output, told = self.loadgen("Server", "PerformanceOnly", "server_target_qps=250", "min_duration_ms=1000",
                                 "min_query_count=500")
        self.assert_no_errors(output)
        self.assertIn("Result is : VALID", (output / "mlperf_log_summary.txt").read_text())
        self.assertRegex(told, r"benchwright: \d+ samples answered, 0 failed")

    def test_an_offline_run_is_valid_with_and_without_tokens(self):
        for tokens in (0, 1):
            output, _ = self.loadgen("Offline", "PerformanceOnly", "offline_expected_qps=100", "min_duration_ms=10",
                                  "min_query_count=300", tokens=tokens)
            self.assert_no_errors(output)
            self.assertIn("Result is : VALID", (output / "mlperf_log_summary.txt").read_text())

    def test_an_accuracy_run_logs_every_sample_alike_in_every_scenario(self):
        of_scenario = []
        for scenario in ("Server", "Offline", "SingleStream"):
            output, _ = self.loadgen(scenario, "AccuracyOnly", "server_target_qps=200")
            self.assert_no_errors(output)
            answers, count = self.answers(output)
            self.assertEqual((count, sorted(answers)), (SAMPLES, list(range(SAMPLES))))
            of_scenario.append(answers)
        self.assertEqual(of_scenario[0], of_scenario[1])
        self.assertEqual(of_scenario[0], of_scenario[2])

    def test_the_answers_are_those_of_our_own_accuracy_run(self):
        self.file.write_text(LOADGEN_RUN)
        command = [os.environ["BENCHWRIGHT"], "run", "--plain", "-f", str(self.file), "--results", "results"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        [own] = self.folder.glob("results/*-own/Accuracy/mlperf_log_accuracy.json")
        output, _ = self.loadgen("Server", "AccuracyOnly", "server_target_qps=200")
        entries = [{it.pop("qsl_idx"): {**it, "seq_id": None} for it in json.loads(log.read_text())}
                   for log in (own, output / "mlperf_log_accuracy.json")]
        self.assertEqual(len(entries[0]), SAMPLES)
        self.assertEqual(entries[0], entries[1])

    def test_a_sample_that_fails_is_completed_with_nothing(self):
        with Simulator("--break-after-tokens", "3", "--fail-ratio", "0.3") as url:
            self.file.write_text(RUN.replace("TARGET", f"{{url: '{url}'}}"))
            output, told = self.loadgen("Offline", "AccuracyOnly", status=1)
            answers, count = self.answers(output)
        empty = sum(1 for it in answers.values() if not it)
        self.assertEqual((count, len(answers)), (SAMPLES, SAMPLES))
        self.assertTrue(0 < empty < SAMPLES, empty)
        self.assertIn(f"{SAMPLES - empty} samples answered, {empty} failed", told)
        self.assertRegex(told, "the first because: the (connection|stream) ")

    def test_a_launcher_that_dies_leaves_no_sample_open(self):
        import mlperf_loadgen as lg

        with Simulator("--ttft", "500ms") as url:
            self.file.write_text(RUN.replace("TARGET", f"{{url: '{url}'}}"))
            command = benchwright_sut.launcher(self.file)
            with benchwright_sut.Sut(command, first_tokens=False) as sut:
                settings = lg.TestSettings()
                settings.scenario, settings.mode = lg.TestScenario.Offline, lg.TestMode.AccuracyOnly
                settings.use_token_latencies = True
                system = lg.ConstructSUT(self._issue_and_kill(sut), sut.flush_queries)
                library = lg.ConstructQSL(SAMPLES, SAMPLES, sut.load_samples, sut.unload_samples)
                output, log = lg.LogOutputSettings(), lg.LogSettings()
                output.outdir = str(self.folder)
                log.log_output, log.enable_trace = output, False
                # Returns: LoadGen waits for every sample without a limit.
                lg.StartTestWithLogSettings(system, library, settings, log, "none")
                lg.DestroyQSL(library)
                lg.DestroySUT(system)
        self.assertEqual(sut.summary.answered + sut.summary.failed, SAMPLES)
        self.assertGreater(sut.summary.failed, 0)
        self.assertFalse(sut.summary.is_whole)
        self.assertEqual(sut.summary.status, -signal.SIGKILL)

    def _issue_and_kill(self, sut):
        def issue(samples):
            sut.issue_queries(samples)
            threading.Timer(0.2, sut._process.kill).start()

        return issue

    def test_what_came_before_a_frame_that_is_none_is_an_answer(self):
        script, program = self.folder / "launcher.py", self.folder / "launcher"
        script.write_text(HALF_A_LAUNCHER)
        program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}'\n")
        program.chmod(0o755)
        output, told = self.loadgen("Offline", "AccuracyOnly", status=1, program=program)
        answers, count = self.answers(output)
        # Of the first set alone; the launcher is not asked again.
        answered = PERFORMANCE_SAMPLES // 2
        self.assertEqual((count, sum(1 for it in answers.values() if it)), (SAMPLES, answered))
        self.assertIn(f"{answered} samples answered, {SAMPLES - answered} failed", told)
        self.assertIn("a frame of kind 99 came", told)

    def test_an_interrupted_run_ends_and_its_launcher_with_it(self):
        output, command = self.command("Server", "PerformanceOnly", ("server_target_qps=50", "min_duration_ms=60000"))
        program = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        while program.poll() is None and not (output / "mlperf_log_detail.txt").exists():
            time.sleep(0.05)
        # By then it is in the middle of LoadGen's loop.
        time.sleep(1)
        program.send_signal(signal.SIGINT)
        # Ends when nobody holds its stderr any more, the launcher included.
        _, told = program.communicate(timeout=60)
        self.assertEqual(program.returncode, -signal.SIGINT, told)

    def test_samples_that_the_launcher_does_not_have_are_told(self):
        rows, few = self.folder / "rows.jsonl", SAMPLES - 1
        rows.write_text('{"tok_input": [1, 2]}\n' * few)
        profile = LOADGEN_RUN.replace("synthetic: {input: 48, output: 12}", f"file: {{path: '{rows}'}}")
        self.file.write_text(profile.replace("total_sample_count: 40", f"total_sample_count: {few}"))
        _, told = self.loadgen("Offline", "AccuracyOnly", status=10)
        self.assertIn(f"--samples is {SAMPLES}, and the launcher's data set has {few}; lower it", told)

    def test_first_tokens_are_judged_in_streams_alone(self):
        self.file.write_text(RUN.replace("TARGET", "{simulator: {preset: tiny}}").replace("streaming: true", "streaming: false"))
        for scenario, tokens, status in [("Server", 1, 10), ("SingleStream", 1, 10), ("Server", 0, 0), ("Offline", 1, 0)]:
            _, told = self.loadgen(scenario, "AccuracyOnly", "server_target_qps=200", status=status, tokens=tokens)
            self.assertEqual("streaming is off, and LoadGen judges first tokens" in told, status != 0, told)

    def test_a_setting_that_is_none_is_told(self):
        for setting, expected in [
            ("min_duration=5", "min_duration is no setting of LoadGen that takes a number"),
            ("min_duration_ms=soon", "'soon' is no value of min_duration_ms; write a whole number"),
            ("min_duration_ms=-1", "'-1' is no value of min_duration_ms; write a whole number"),
            ("server_target_qps", "'' is no value of server_target_qps; write a number"),
            ("server_coalesce_queries=true", "'true' is no value of server_coalesce_queries; write 0 or 1"),
        ]:
            _, told = self.loadgen("Offline", "AccuracyOnly", setting, status=10)
            self.assertEqual(told, f"benchwright_sut: --set {setting}: {expected}\n")

    def test_a_launcher_that_cannot_run_is_told(self):
        self.file.write_text("kind: Pod")
        _, told = self.loadgen("Offline", "AccuracyOnly", status=10)
        self.assertIn("before its target was ready", told)


class Simulator:
    """`benchwright sim` on a free port."""

    def __init__(self, *arguments, preset="tiny"):
        self.arguments = ["--preset", preset, *arguments]

    def __enter__(self):
        command = [os.environ["BENCHWRIGHT"], "sim", "--port", "0", *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        [url] = [it for it in self.process.stdout.readline().split() if it.startswith("http://")]
        return url

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
