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
import types
import unittest
from pathlib import Path

BRIDGE = Path(__file__).resolve().parents[2] / "mlperf/bridge"
sys.path.insert(0, str(BRIDGE))

import benchwright_sut  # noqa: E402

SAMPLES, PERFORMANCE_SAMPLES = 40, 24
RUN = """
apiVersion: benchwright.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: bridge}
spec:
  seed: 42
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
  seed: 42
  target: {simulator: {preset: Tiny}}
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
        self.file.write_text(RUN.replace("TARGET", "{simulator: {preset: Tiny}}"))

    def loadgen(self, scenario, mode, *settings, status=0, tokens=1, program=None, more=(), benchmark="*"):
        """Runs the bridge's command line; returns the folder of LoadGen's logs, and stderr."""
        output, command = self.command(scenario, mode, settings, tokens, benchmark)
        command += more
        environment = {**os.environ, "BENCHWRIGHT": str(program or os.environ["BENCHWRIGHT"])}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return output, done.stderr

    def command(self, scenario, mode, settings, tokens=1, benchmark="*"):
        """The bridge's command line, and the folder of LoadGen's logs."""
        output = self.folder / f"{scenario}-{mode}-{tokens}"
        command = [sys.executable, "-B", str(BRIDGE / "benchwright_sut.py"), "-f", str(self.file)]
        command += ["--benchmark", benchmark, "--scenario", scenario, "--mode", mode, "--output", str(output)]
        command += ["--samples", str(SAMPLES), "--performance-samples", str(PERFORMANCE_SAMPLES)]
        for setting in (f"use_token_latencies={tokens}", "ttft_latency=60000000000", "tpot_latency=60000000000",
                        "server_target_latency_ns=60000000000", *settings):
            command += ["--set", setting]
        return output, command

    def detail(self, output):
        lines = (output / "mlperf_log_detail.txt").read_text().splitlines()
        return [json.loads(it[len(":::MLLOG "):]) for it in lines if it.startswith(":::MLLOG ")]

    def value(self, output, key):
        """What the detail log says first of a key."""
        return next((it["value"] for it in self.detail(output) if it["key"] == key), None)

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

    def test_a_benchmark_has_its_rules_in_every_spelling(self):
        seeds = [2085463073848966840, 2747215439041700203, 16159082839903944936]
        conf = self.folder / "user.conf"
        conf.write_text("*.Offline.target_qps = 7\n")
        for spelling, more, rate in [("llama3_1-8b", [], 1), ("llama3.1-8b", [], 1), ("Llama3.1-8B", ["--user-conf", conf], 7)]:
            output, told = self.loadgen("Offline", "AccuracyOnly", benchmark=spelling, more=more)
            self.assert_no_errors(output)
            self.assertEqual(self.value(output, "requested_performance_sample_count_override"), 13368)
            self.assertEqual(self.value(output, "requested_sample_concatenate_permutation"), True)
            self.assertEqual(self.value(output, "requested_offline_expected_qps"), rate)
            found = [self.value(output, f"requested_{it}_rng_seed") for it in ("qsl", "sample_index", "schedule")]
            self.assertEqual(found, seeds)
            self.assertEqual(f"{spelling} is llama3_1-8b to LoadGen" in told, spelling != "llama3_1-8b", told)

    def test_a_benchmark_without_rules_is_refused(self):
        _, told = self.loadgen("Offline", "AccuracyOnly", status=10, benchmark="llama3.2-8b")
        self.assertIn("--benchmark is llama3.2-8b, for which neither LoadGen's mlperf.conf nor user.conf has a line", told)
        conf = self.folder / "user.conf"
        conf.write_text("# Our own.\nllama3.2-8b.Offline.target_qps = 7\n")
        more = ["--user-conf", conf]
        output, _ = self.loadgen("Offline", "AccuracyOnly", benchmark="llama3.2-8b", more=more)
        self.assertEqual(self.value(output, "requested_offline_expected_qps"), 7)
        conf.write_text("llama3.1-8b.Offline.target_qps = 7\n")
        _, told = self.loadgen("Offline", "AccuracyOnly", status=10, benchmark="llama3.1-8b", more=more)
        self.assertIn("user.conf has lines for llama3.1-8b, whose name is llama3_1-8b to LoadGen; write that one", told)

    def test_an_audit_config_is_applied_when_it_is_asked_for_alone(self):
        config = self.folder / "audit.config"
        config.write_text("*.*.mode = 2\n*.*.accuracy_log_rng_seed = 720381539243781796\n"
                          "*.*.accuracy_log_sampling_target = 10\n*.*.min_query_count = 10\n*.*.min_duration = 0\n")
        output, told = self.loadgen("Offline", "AccuracyOnly")
        self.assertIn("audit.config lies in this folder and is not applied", told)
        self.assertEqual(self.value(output, "effective_test_mode"), "AccuracyOnly")
        self.assertEqual(self.answers(output)[1], SAMPLES)
        output, told = self.loadgen("Offline", "AccuracyOnly", more=["--audit", config])
        self.assertIn("audit.config is applied: this is a compliance test", told)
        self.assertEqual(self.value(output, "effective_test_mode"), "PerformanceOnly")
        self.assertIn("Audit Config", self.value(output, "warning_generic_message"))
        _, told = self.loadgen("Offline", "AccuracyOnly", status=10, more=["--audit", "nowhere.config"])
        self.assertIn("--audit nowhere.config: there is no such file", told)

    def test_logs_of_the_network_division_name_the_system_behind_the_network(self):
        for name, expected in [(["eight H100"], "Network SUT eight H100"), ([], "Network SUT sim-tiny")]:
            output, _ = self.loadgen("Server", "AccuracyOnly", "server_target_qps=200", more=["--network", *name])
            self.assert_no_errors(output)
            self.assertEqual(self.value(output, "sut_name"), expected)
            self.assertGreater(self.value(output, "get_sut_name_duration_ns"), 0)
        output, _ = self.loadgen("Offline", "AccuracyOnly")
        self.assertEqual(self.value(output, "sut_name"), "PySUT")

    def test_a_run_tells_how_far_it_is(self):
        settings = ("server_target_qps=100", "min_duration_ms=1500", "min_query_count=100")
        _, told = self.loadgen("Server", "PerformanceOnly", *settings, more=["--progress", "0.2"])
        self.assertRegex(told, r"benchwright: 1 s: \d+ of 150 samples answered, [\d.]+/s, \d+ in flight, 0 failed")
        _, told = self.loadgen("Server", "PerformanceOnly", *settings, more=["--progress", "0"])
        self.assertNotIn("in flight", told)

    def test_an_outlook_tells_what_is_to_come(self):
        expected = benchwright_sut.Expected
        for test, counts, outlook in [
            (expected(1000, 600.0, is_open=True), (500, 490, 300.0, (250, 245)), "; about 312 s left"),
            (expected(1000, 600.0), (500, 499, 100.0, (0, 0)), "; about 500 s left"),
            (expected(None, 600.0, is_offline=True), (1000, 100, 60.0, (1000, 50)), "; about 540 s left"),
            (expected(None, 600.0, is_offline=True), (1000, 100, 50.0, (1000, 50)),
             "; about 450 s left; INVALID if it goes on like this: all samples take 500 s, and a VALID test takes 600 s at "
             "least; raise target_qps of Offline"),
            (expected(1000, 50.0, is_open=True), (500, 300, 25.0, (250, 200)),
             "; about 58 s left; the server falls behind: 100 answers to the last 250 samples"),
            (expected(), (500, 300, 25.0, (250, 150)), ""),
            (expected(1000, 50.0), (5, 0, 25.0, (2, 0)), ""),
        ]:
            self.assertEqual(test.outlook(*counts), outlook)

    def test_what_a_test_will_issue_is_known_before_it(self):
        import mlperf_loadgen as lg

        def check(scenario, samples, seconds, mode="PerformanceOnly", **settings):
            test = lg.TestSettings()
            test.scenario, test.mode = getattr(lg.TestScenario, scenario), getattr(lg.TestMode, mode)
            test.min_duration_ms = 600000
            for name, value in settings.items():
                setattr(test, name, value)
            expected = benchwright_sut.Expected.of(test, 13368, 13368)
            self.assertEqual((expected.samples, expected.seconds), (samples, seconds))
            # An accuracy test is not judged by its rate.
            self.assertEqual(expected.is_open, (scenario, mode) == ("Server", "PerformanceOnly"))
            return expected.hint

        check("Server", 12000, 600.0, server_target_qps=20)
        check("Server", 13368, 600.0, server_target_qps=20, sample_concatenate_permutation=True)
        check("Server", 26736, 600.0, server_target_qps=23, sample_concatenate_permutation=True)
        check("Offline", None, 600.0)
        check("SingleStream", 100, 600.0)
        check("SingleStream", 5000, 600.0, single_stream_expected_latency_ns=600e6, sample_concatenate_permutation=True,
              performance_sample_count_override=5000)
        check("Offline", 13368, 0.0, mode="AccuracyOnly")
        check("Server", None, 0.0, mode="SubmissionRun")
        # As LoadGen 5 has them.
        old = types.SimpleNamespace(scenario=lg.TestScenario.Server, mode=lg.TestMode.PerformanceOnly, min_duration_ms=600000,
                                    server_target_qps=20.0, performance_sample_count_override=0)
        self.assertEqual(benchwright_sut.Expected.of(old, 40, 40), benchwright_sut.Expected(None, 600.0, is_open=True))
        old.mode = lg.TestMode.AccuracyOnly
        self.assertEqual(benchwright_sut.Expected.of(old, 40, 40).samples, 40)
        hint = check("Server", 13368, 0.0, mode="AccuracyOnly", server_target_qps=20)
        self.assertIn("takes 668 s; --set server_target_qps=N changes that", hint)

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
        self.file.write_text(RUN.replace("TARGET", "{simulator: {preset: Tiny}}").replace("streaming: true", "streaming: false"))
        for scenario, tokens, status in [("Server", 1, 10), ("SingleStream", 1, 10), ("Server", 0, 0), ("Offline", 1, 0)]:
            _, told = self.loadgen(scenario, "AccuracyOnly", "server_target_qps=200", status=status, tokens=tokens)
            self.assertEqual("streaming is false, but LoadGen judges first tokens" in told, status != 0, told)

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
