"""Runs vLLM's LLM class for `benchwright offline-engine`: docs/managed-servers.md says when, and why.

It takes the arguments of `vllm serve`, loads the model once, reads requests from stdin, and writes what the engine makes of
them to stdout, each piece with the time at which its step ended. The frames are those of launcher/mlperf/offline-engine/src/frames.rs:
length (u32), kind (u8), content; all little-endian. What vLLM itself prints goes to stderr.

Pure Python 3.9; needs vllm, and nothing else.
"""

import json
import os
import queue
import struct
import sys
import threading
import time

VERSION = 1
START, ABORT = 1, 2
READY, PIECE, FAILED = 129, 130, 131
HEADER, START_HEAD, PIECE_HEAD = struct.Struct("<IB"), struct.Struct("<QBI"), struct.Struct("<QQBII")
NUMBER = struct.Struct("<Q")
# Of what the launcher sends: a prompt of two million tokens.
MAX_FRAME = 64 << 20
# Why an answer ended; 0: it goes on.
ENDS = {None: 0, "stop": 1, "length": 2, "abort": 3}
OTHER_END = 4


def frame(kind, content):
    return HEADER.pack(len(content) + 1, kind) + content


def read_exactly(source, count):
    """So many bytes; None at the end of the pipe."""
    parts = []
    while count:
        data = source.read(count)
        if not data:
            return None
        parts.append(data)
        count -= len(data)
    return b"".join(parts)


def read_messages(source, messages):
    """Puts kind and content of each frame into the queue, and None at the end."""
    try:
        while head := read_exactly(source, HEADER.size):
            length, kind = HEADER.unpack(head)
            if not 1 <= length <= MAX_FRAME:
                print(f"benchwright: a frame of {length} bytes came; use launcher and runner of one release", file=sys.stderr)
                break
            content = read_exactly(source, length - 1)
            if content is None:
                break
            messages.put((kind, content))
    finally:
        messages.put(None)


class Runner:
    """An engine, and the requests that it works on. `engine` has add_request, abort_request, step and has_unfinished_requests, as
    vLLM's LLMEngine has them. `defaults`: the sampling parameters that the model's own configuration names."""

    def __init__(self, vllm, engine, defaults, write):
        self._vllm = vllm
        self._engine = engine
        self._defaults = defaults
        self._write = write

    def run(self, messages):
        """Works until the pipe ends."""
        while self._take(messages):
            if self._engine.has_unfinished_requests():
                outputs = self._engine.step()
                ended = time.monotonic_ns()
                frames = [self._piece(it, ended) for it in outputs]
                if frames:
                    self._write(b"".join(frames))

    def _take(self, messages):
        """Takes all that waits, and waits where the engine has nothing to do. False: the pipe has ended."""
        wait = not self._engine.has_unfinished_requests()
        while True:
            try:
                message = messages.get(block=wait)
            except queue.Empty:
                return True
            if message is None:
                return False
            wait = False
            kind, content = message
            if kind == START:
                self._start(content)
            elif kind == ABORT:
                number, = NUMBER.unpack(content)
                self._engine.abort_request([str(number)])
            else:
                raise ValueError(f"a message of kind {kind} came; use launcher and runner of one release")

    def _start(self, content):
        number, streams, length = START_HEAD.unpack_from(content)
        at = START_HEAD.size
        try:
            fields = json.loads(content[at:at + length])
            text = fields.pop("prompt", None)
            ids = struct.unpack(f"<{(len(content) - at - length) // 4}I", content[at + length:])
            prompt = {"prompt_token_ids": list(ids)} if text is None else {"prompt": text}
            kinds = self._vllm.sampling_params.RequestOutputKind
            kind = kinds.DELTA if streams else kinds.FINAL_ONLY
            params = self._vllm.SamplingParams(**{**self._defaults, **fields}, output_kind=kind)
            self._engine.add_request(str(number), prompt, params)
        except Exception as error:  # vLLM's own errors of a request have no base in common. A dead engine fails in its next step.
            self._write(frame(FAILED, NUMBER.pack(number) + str(error).encode()))

    def _piece(self, output, ended):
        answer = output.outputs[0]
        end = ENDS.get(answer.finish_reason, OTHER_END)
        ids, text = list(answer.token_ids), answer.text.encode()
        prompt = len(output.prompt_token_ids or ())
        head = PIECE_HEAD.pack(int(output.request_id), ended, end, prompt, len(ids))
        return frame(PIECE, head + struct.pack(f"<{len(ids)}I", *ids) + text)


def load(arguments):
    """The LLM of these arguments of `vllm serve`, and vLLM itself."""
    import vllm
    from vllm.engine.arg_utils import EngineArgs

    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    parser = EngineArgs.add_cli_args(FlexibleArgumentParser(prog="benchwright offline-engine"))
    parser.add_argument("model_tag", nargs="?")
    written = parser.parse_args(arguments)
    model = written.model_tag or written.model
    # Only what was written: the LLM class has defaults of its own, which differ from those of the API's server.
    unwritten = vars(parser.parse_args([]))
    known = {it for it in EngineArgs.__dataclass_fields__}
    named = {
        name: value
        for name, value in vars(written).items()
        if name in known and name != "model" and value != unwritten.get(name)
    }
    return vllm.LLM(model=model, **named), vllm


def main(arguments):
    # vLLM and the libraries below it print to stdout, which belongs to the frames.
    frames_out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    frames_in = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())

    def write(data):
        data = memoryview(data)
        while data:
            data = data[frames_out.write(data):]

    llm, vllm = load(arguments)
    engine = llm.llm_engine
    config = getattr(engine, "model_config", None)
    defaults = config.get_diff_sampling_param() if hasattr(config, "get_diff_sampling_param") else {}
    facts = {"engine": f"vllm {vllm.__version__}", "maxModelLen": getattr(config, "max_model_len", None)}
    messages = queue.SimpleQueue()
    threading.Thread(target=read_messages, args=(frames_in, messages), name="requests", daemon=True).start()
    # In vLLM's form, for who reads in the log how long the start took.
    print(time.strftime("INFO %m-%d %H:%M:%S [benchwright_engine.py:1] the engine is ready, without its API"), file=sys.stderr, flush=True)
    write(frame(READY, struct.pack("<H", VERSION) + json.dumps(facts).encode()))
    Runner(vllm, engine, defaults, write).run(messages)


if __name__ == "__main__":
    main(sys.argv[1:])
