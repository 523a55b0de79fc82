"""Benchwright as the system under test of MLCommons' own LoadGen: docs/loadgen-bridge.md tells how to use it.

`Sut` starts `benchwright sut`, hands it the samples that LoadGen issues, and gives LoadGen the tokens that come back. The
frames between the two are those of launcher/src/sut/frames.rs: length (u32), kind (u8), content; all little-endian.

Pure Python 3.9; needs mlcommons-loadgen for `Sut.issue_queries` and for the command line, and nothing else.
"""

import argparse
import ctypes
import math
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

VERSION = 1
HELLO, ISSUE = 1, 2
READY, FIRST, DONE, FAILED = 129, 130, 131, 132
HEADER, NUMBER, DONE_HEAD = struct.Struct("<IB"), struct.Struct("<Q"), struct.Struct("<QQ")
# Of what the launcher sends: the longest answer that it keeps has 16 MB.
MAX_FRAME = 32 << 20
# Samples in one frame to the launcher, which reads 1 MiB at most.
SAMPLES_A_FRAME = 4096
READ_BYTES = 1 << 20
# How long the launcher may take to end once it has answered everything.
END_TIMEOUT_S = 30.0


class SutError(Exception):
    """The launcher cannot be used; its own words stand on stderr."""


@dataclass(frozen=True)
class Summary:
    """What became of the samples. A failed one was completed with an empty response."""

    answered: int
    failed: int
    first_failure: str
    # Median time from the launcher's send to the last token, by the launcher's clock; None where nothing was answered.
    median_took_ns: "float | None"
    # Exit status of the launcher.
    status: int

    @property
    def is_whole(self):
        """Every sample was answered, and the launcher ended well."""
        return self.failed == 0 and self.status == 0


class Sut:
    """The callbacks of `ConstructSUT` and `ConstructQSL`. A context manager: it ends the launcher, and keeps `summary`."""

    def __init__(self, command, first_tokens):
        """Starts the launcher and waits until its target is ready. `command`: see `launcher`. `first_tokens`: LoadGen is told
        of them, as it needs with token latencies in all scenarios but Offline.
        """
        import mlperf_loadgen

        self._loadgen = mlperf_loadgen
        self._tells_first = first_tokens
        command = [*command, "--first-tokens"] if first_tokens else command
        self._lock = threading.Lock()
        # Samples under way by id: whether LoadGen was told of their first token.
        self._outstanding = {}
        self._ended = False
        self._issued, self._answered, self._failed, self._first_failure = 0, 0, 0, ""
        self._first_issue = None
        self._took_ns = array("Q")
        self.summary = None
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._in, self._out = self._process.stdin, self._process.stdout.fileno()
        self._rest = b""
        try:
            self._write(HEADER.pack(3, HELLO) + struct.pack("<H", VERSION))
            self.sample_count, self.model = self._wait_until_ready()
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        self._reader = threading.Thread(target=self._read_answers, name="benchwright-answers", daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def issue_queries(self, samples):
        """LoadGen's IssueQuery: the launcher sends these at once."""
        if self._first_issue is None:
            self._first_issue = time.monotonic()
        self._issued += len(samples)
        for start in range(0, len(samples), SAMPLES_A_FRAME):
            numbers = [number for it in samples[start:start + SAMPLES_A_FRAME] for number in (it.id, it.index)]
            self._issue(numbers)

    def flush_queries(self):
        """LoadGen's FlushQueries: nothing is held back."""

    def load_samples(self, indices):
        """LoadGen's LoadSamplesToRam: the launcher has them already. One that it has not fails when it is issued: an exception
        here would end in LoadGen's own code, which crashes of it."""

    def unload_samples(self, indices):
        """LoadGen's UnloadSamplesFromRam."""

    def answered(self, _sample, took_ns):
        """The answer to the sample of this id took so long, by the launcher's clock. To be overridden by who wants to know."""
        self._took_ns.append(took_ns)

    def counts(self):
        """Samples issued, answered and failed, and the seconds since the first was issued."""
        elapsed = 0.0 if self._first_issue is None else time.monotonic() - self._first_issue
        return self._issued, self._answered, self._failed, elapsed

    def close(self):
        """Waits for what is under way, ends the launcher, and returns what became of the samples."""
        if self.summary:
            return self.summary
        self._in.close()
        self._reader.join()
        try:
            status = self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process.stdout.close()
        median = statistics.median(self._took_ns) if self._took_ns else None
        self.summary = Summary(self._answered, self._failed, self._first_failure, median, status)
        return self.summary

    def _issue(self, numbers):
        ids = numbers[::2]
        with self._lock:
            self._outstanding.update(dict.fromkeys(ids, False))
            ended = self._ended
        if not ended:
            content = struct.pack(f"<{len(numbers)}Q", *numbers)
            try:
                return self._write(HEADER.pack(len(content) + 1, ISSUE) + content)
            except OSError:
                # Its answers end, too, and with them all that is outstanding fails; this may come after it.
                pass
        self._fail(ids, "the launcher has ended")

    def _write(self, data):
        data = memoryview(data)
        while data:
            data = data[self._in.write(data):]

    def _wait_until_ready(self):
        while True:
            data = os.read(self._out, READ_BYTES)
            if not data:
                status = self._process.wait()
                raise SutError(f"benchwright sut ended with status {status} before its target was ready")
            self._rest += data
            for kind, start, end in frames(self._rest):
                version, = struct.unpack_from("<H", self._rest, start)
                if kind != READY or version != VERSION:
                    raise SutError(f"the launcher does not speak version {VERSION} of the frames; use launcher and bridge of one release")
                count, = NUMBER.unpack_from(self._rest, start + 2)
                model = self._rest[start + 10:end].decode()
                self._rest = self._rest[end:]
                return count, model

    def _read_answers(self):
        why = "the launcher has ended"
        try:
            while data := os.read(self._out, READ_BYTES):
                # The responses point into it, so it must not move.
                batch = bytearray(self._rest + data)
                self._rest = bytes(batch[self._take(batch):])
        except Exception as error:  # Whatever it is, LoadGen must not wait for ever.
            why = f"the answers cannot be read: {error}"
            self._process.kill()
        with self._lock:
            self._ended = True
            left = list(self._outstanding)
        self._fail(left, why)

    def _take(self, batch):
        """Gives LoadGen all that came together in one call each; returns how many bytes that were."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(batch))
        response = self._loadgen.QuerySampleResponse
        firsts, dones, failures, read = [], [], [], 0
        try:
            for kind, start, end in frames(batch):
                if kind not in (FIRST, DONE, FAILED):
                    raise SutError(f"a frame of kind {kind} came, which version {VERSION} does not have")
                sample, = NUMBER.unpack_from(batch, start)
                if kind == FIRST:
                    self._open(sample)
                    start += NUMBER.size
                    firsts.append(response(sample, address + start, end - start, (end - start) // 4))
                    self._outstanding[sample] = True
                elif kind == DONE:
                    self._open(sample)
                    _, took_ns = DONE_HEAD.unpack_from(batch, start)
                    start += DONE_HEAD.size
                    dones.append(response(sample, address + start, end - start, (end - start) // 4))
                    del self._outstanding[sample]
                    self.answered(sample, took_ns)
                else:
                    failures.append((sample, bytes(batch[start + NUMBER.size:end]).decode(errors="replace")))
                read = end
        finally:
            # After an error as well: who would tell LoadGen of these later?
            if firsts and self._tells_first:
                self._loadgen.FirstTokenComplete(firsts)
            if dones:
                self._answered += len(dones)
                self._loadgen.QuerySamplesComplete(dones)
            for sample, why in failures:
                self._fail([sample], why)
        return read

    def _open(self, sample):
        if sample not in self._outstanding:
            raise SutError("an answer came for a sample that waits for no answer")

    def _fail(self, samples, why):
        """Completes samples with nothing, those that are not complete yet."""
        with self._lock:
            told = {it: self._outstanding.pop(it) for it in samples if it in self._outstanding}
            if not told:
                return
            self._failed += len(told)
            self._first_failure = self._first_failure or why
        response = self._loadgen.QuerySampleResponse
        # Without a first token LoadGen would reckon with memory that nobody wrote.
        firsts = [response(it, 0, 0, 0) for it, first in told.items() if not first]
        if firsts and self._tells_first:
            self._loadgen.FirstTokenComplete(firsts)
        self._loadgen.QuerySamplesComplete([response(it, 0, 0, 0) for it in told])


def frames(data):
    """Kind, start and end of the content of each whole frame."""
    at = 0
    while len(data) - at >= HEADER.size:
        length, kind = HEADER.unpack_from(data, at)
        if not 1 <= length <= MAX_FRAME:
            raise SutError(f"a frame of {length} bytes came")
        end = at + 4 + length
        if end > len(data):
            return
        yield kind, at + HEADER.size, end
        at = end


def launcher(file, *arguments):
    """The command of `Sut` for a BenchmarkRun file: BENCHWRIGHT, or else the benchwright of the PATH."""
    program = os.environ.get("BENCHWRIGHT") or shutil.which("benchwright")
    if not program:
        raise SutError("no benchwright on the PATH; install it, or name it in BENCHWRIGHT")
    return [program, "sut", "-f", str(file), *arguments]


def spellings(name):
    """A name, and LoadGen's for it: folders of submissions have dots, and llama2-70b-99.9 for llama2-70b."""
    return [name, name.lower().replace("-99.9", "", 1).replace("-99", "", 1).replace(".", "_")]


def has_rules(name):
    """LoadGen's built-in mlperf.conf has lines for this very name."""
    import mlperf_loadgen as lg

    settings = lg.TestSettings()
    settings.FromConfig("", name, "Offline", 0)
    return settings.performance_sample_count_override != 0


def benchmark(name, user_conf):
    """LoadGen's name of a benchmark. One without rules is refused: LoadGen would go by those of all models without a word."""
    lines = user_conf.read_text(errors="replace").splitlines() if user_conf and user_conf.is_file() else []
    keys = [it.split()[0].rsplit(".", 2) for it in lines if it.strip()]
    named = {it[0] for it in keys if len(it) == 3}
    if name == "*":
        return name
    known = next((it for it in spellings(name) if has_rules(it)), None)
    if known is None and name in named:
        return name
    if known is None:
        raise SutError(f"--benchmark is {name}, for which neither LoadGen's mlperf.conf nor user.conf has a line; write "
                       "LoadGen's name of it, such as llama3_1-8b, or '*' for the rules of no benchmark")
    for other in sorted(it for it in named if it != known and known in spellings(it)):
        raise SutError(f"{user_conf} has lines for {other}, whose name is {known} to LoadGen; write that one")
    if known != name:
        say(f"{name} is {known} to LoadGen")
    return known


def test_settings(given):
    """LoadGen's settings of a command line: benchmark, scenario and mode, then user.conf, then `--set`."""
    import mlperf_loadgen as lg

    name = benchmark(given.benchmark, given.user_conf)
    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, given.scenario)
    settings.mode = getattr(lg.TestMode, given.mode)
    # The first file of a process brings the built-in mlperf.conf with it.
    if given.user_conf and settings.FromConfig(str(given.user_conf), name, given.scenario, 1) != 0:
        raise SutError(f"{given.user_conf} cannot be read, or has a line that LoadGen does not understand")
    if not given.user_conf and name != "*":
        settings.FromConfig("", name, given.scenario, 0)
    for setting in given.settings:
        name, _, value = setting.partition("=")
        kind = type(getattr(settings, name, None))
        if kind not in (bool, int, float):
            raise SutError(f"--set {setting}: {name} is no setting of LoadGen that takes a number")
        try:
            setattr(settings, name, bool(int(value)) if kind is bool else kind(value))
        except (TypeError, ValueError) as error:
            form = {bool: "0 or 1", int: "a whole number", float: "a number"}[kind]
            raise SutError(f"--set {setting}: {value!r} is no value of {name}; write {form}") from error
    return settings


def arguments():
    """The command line's."""
    parser = argparse.ArgumentParser(description="Runs MLCommons' own LoadGen with Benchwright as its system under test.")
    parser.add_argument("-f", "--file", type=Path, required=True, help="a BenchmarkRun: all but its load is used")
    parser.add_argument("--benchmark", required=True,
                        help="such as llama3_1-8b or llama3.1-8b; '*': go by the rules of no benchmark")
    parser.add_argument("--scenario", required=True, choices=["SingleStream", "MultiStream", "Server", "Offline"])
    modes = ["PerformanceOnly", "AccuracyOnly", "SubmissionRun", "FindPeakPerformance"]
    parser.add_argument("--mode", default="PerformanceOnly", choices=modes)
    parser.add_argument("--user-conf", type=Path, help="is applied after LoadGen's built-in mlperf.conf")
    parser.add_argument("--audit", "--audit-conf", dest="audit", type=Path, metavar="FILE",
                        help="the audit.config of a compliance test; none is applied unasked")
    parser.add_argument("--network", nargs="?", const="", metavar="NAME",
                        help="log as MLPerf's network division wants it, under the SUT name 'Network SUT NAME'; default: the model's")
    parser.add_argument("--samples", type=int, help="of the data set; default: as many as the launcher has")
    parser.add_argument("--performance-samples", type=int, help="that fit into memory; default: all")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=NUMBER",
                        help="a field of LoadGen's TestSettings, after all files")
    parser.add_argument("--output", type=Path, default=Path("."), help="the folder of LoadGen's logs")
    parser.add_argument("--progress", type=float, default=10.0, metavar="SECONDS",
                        help="between two lines on stderr that tell how far the test is; 0: none")
    parser.add_argument("--max-in-flight", type=int, help="maximum requests in flight; see benchwright sut")
    return parser.parse_args()


def audit_file(asked):
    """What LoadGen is told of an audit.config: it applies one that it finds without a word, so that none is its default here."""
    if asked:
        if not asked.is_file():
            raise SutError(f"--audit {asked}: there is no such file; name the audit.config of the compliance test")
        say(f"{asked} is applied: this is a compliance test, and its mode is that of the file, if it says one")
        return str(asked)
    if Path("audit.config").exists():
        say("audit.config lies in this folder and is not applied; --audit audit.config runs that compliance test")
    return ""


def construct(sut, network):
    """LoadGen's system under test, and what destroys it. `network`: behind a network, under this name; None: not."""
    import mlperf_loadgen as lg

    if network is None:
        return lg.ConstructSUT(sut.issue_queries, sut.flush_queries), lg.DestroySUT
    # The model is what the server itself told the launcher, unless the run names one.
    name = f"Network SUT {network or sut.model}"
    return lg.ConstructQDL(sut.issue_queries, sut.flush_queries, lambda: name), lg.DestroyQDL


@dataclass(frozen=True)
class Expected:
    """What a test will issue, as far as that can be known before it."""

    # None: all that is issued in its one query, or not known.
    samples: "int | None" = None
    # How long a VALID test takes at least.
    seconds: float = 0.0
    is_offline: bool = False
    # Queries have a rate of their own, which the server has to keep up with.
    is_open: bool = False
    hint: str = ""

    @staticmethod
    def of_audit():
        """An audit.config changes the settings inside LoadGen."""
        return Expected()

    @staticmethod
    def of(settings, total, performance):
        """The test of these settings, with so many samples in all and in memory."""
        import mlperf_loadgen as lg

        scenario = settings.scenario
        offline, server = scenario == lg.TestScenario.Offline, scenario == lg.TestScenario.Server
        if settings.mode == lg.TestMode.AccuracyOnly:
            # LoadGen 5 has no such setting.
            count = getattr(settings, "accuracy_sample_count_override", 0) or total
            seconds, hint = count / settings.server_target_qps if server else 0.0, ""
            if seconds > 60:
                hint = (f"AccuracyOnly in Server issues {count} samples at server_target_qps, {settings.server_target_qps:g}/s, "
                        f"and takes {seconds:.0f} s; --set server_target_qps=N changes that, and no answer")
            return Expected(count, hint=hint)
        if settings.mode != lg.TestMode.PerformanceOnly:
            return Expected()
        seconds = settings.min_duration_ms / 1e3
        if offline:
            return Expected(None, seconds, is_offline=True)
        loaded = settings.performance_sample_count_override or performance
        # LoadGen 5 has it, and does not tell.
        whole = getattr(settings, "sample_concatenate_permutation", None)
        if whole is None:
            return Expected(None, seconds, is_open=server)
        least = settings.min_query_count
        if server:
            least = max(least, math.ceil(settings.server_target_qps * seconds))
            return Expected(-(-least // loaded) * loaded if whole else least, seconds, is_open=True)
        if scenario == lg.TestScenario.MultiStream:
            return Expected(least * settings.multi_stream_samples_per_query, seconds)
        if whole:
            # One pass more where it is whole already: LoadGen's own rule.
            least = max(least, int(2 * seconds * 1e9 / settings.single_stream_expected_latency_ns))
            least += loaded - least % loaded
        return Expected(least, seconds)

    def outlook(self, issued, answered, elapsed, earlier):
        """What is to come, as text behind a line of progress. `earlier`: issued and answered at half of the time."""
        if not answered or not elapsed:
            return ""
        rate = answered / elapsed
        total = self.samples or (issued if self.is_offline else None)
        parts = []
        if total and answered < total:
            left = (total - answered) / rate
            if not self.is_offline:
                left = max(left, self.seconds - elapsed)
            parts.append(f"about {duration(left)} left")
        if self.is_offline and total / rate < self.seconds:
            parts.append(f"INVALID if it goes on like this: all samples take {total / rate:.0f} s, and a VALID test "
                         f"takes {self.seconds:.0f} s at least; raise target_qps of Offline")
        sent, done = issued - earlier[0], answered - earlier[1]
        if self.is_open and done < 0.9 * sent and sent - done > 3 * math.sqrt(sent):
            parts.append(f"the server falls behind: {done} answers to the last {sent} samples")
        return "".join(f"; {it}" for it in parts)


def duration(seconds):
    """For people."""
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


class Progress:
    """Tells on stderr how far a test is. A context manager around it."""

    def __init__(self, sut, expected, every):
        # An hour: a thread cannot wait for ever longer times.
        self._sut, self._expected, self._every = sut, expected, min(every, 3600.0)
        self._over = threading.Event()
        # Issued and answered at each line: two numbers every few seconds.
        self._past = [(0, 0)]
        self._thread = threading.Thread(target=self._run, name="benchwright-progress", daemon=True)

    def __enter__(self):
        if self._every > 0:
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self):
        while not self._over.wait(self._every):
            say(self.line())

    def line(self):
        """How far the test is now."""
        issued, answered, failed, elapsed = self._sut.counts()
        total = self._expected.samples or issued
        rate = answered / elapsed if elapsed else 0.0
        outlook = self._expected.outlook(issued, answered, elapsed, self._past[len(self._past) // 2])
        self._past.append((issued, answered))
        return (f"{duration(elapsed)}: {answered} of {total} samples answered, {rate:.1f}/s, "
                f"{issued - answered - failed} in flight, {failed} failed{outlook}")


def say(text):
    """A line on stderr; nobody may read it any more."""
    try:
        print(f"benchwright: {text}", file=sys.stderr, flush=True)
    except OSError:
        pass


def main():
    """Runs one test; the exit status is 0 when every sample was answered."""
    import mlperf_loadgen as lg

    given = arguments()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C ends this at once: a KeyboardInterrupt in a callback would crash LoadGen, too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    settings = test_settings(given)
    audit = audit_file(given.audit)
    output = lg.LogOutputSettings()
    output.outdir = str(given.output)
    output.copy_summary_to_stdout = True
    log = lg.LogSettings()
    log.log_output, log.enable_trace = output, False
    given.output.mkdir(parents=True, exist_ok=True)
    more = ["--max-in-flight", str(given.max_in_flight)] if given.max_in_flight else []
    first_tokens = settings.use_token_latencies and given.scenario != "Offline"
    with Sut(launcher(given.file, *more), first_tokens) as sut:
        samples = given.samples or sut.sample_count
        if not samples:
            raise SutError("the profile generates any number of requests; set the number of samples with --samples")
        if sut.sample_count and samples > sut.sample_count:
            raise SutError(f"--samples is {samples}, and the launcher's data set has {sut.sample_count}; lower it")
        system, destroy = construct(sut, given.network)
        library = lg.ConstructQSL(
            samples, given.performance_samples or samples, sut.load_samples, sut.unload_samples
        )
        of_test = Expected.of_audit() if audit else Expected.of(settings, samples, given.performance_samples or samples)
        if of_test.hint:
            say(of_test.hint)
        with Progress(sut, of_test, given.progress):
            lg.StartTestWithLogSettings(system, library, settings, log, audit)
        lg.DestroyQSL(library)
        destroy(system)
    summary = sut.summary
    say(f"{summary.answered} samples answered, {summary.failed} failed")
    if summary.failed:
        say(f"the first because: {summary.first_failure}")
    return 0 if summary.is_whole else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SutError as error:
        print(f"benchwright_sut: {error}", file=sys.stderr)
        sys.exit(10)
