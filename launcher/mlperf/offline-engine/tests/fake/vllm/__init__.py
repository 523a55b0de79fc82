"""A stand-in for vLLM 0.32 with the names and signatures that the runner uses. It computes nothing: token i of an answer is the length
of the prompt plus i, one for each request and step."""

import os
import sys
import time

from . import sampling_params
from .sampling_params import SamplingParams

__version__ = "0.0-fake"


class ValidationError(Exception):
    """As vLLM's own, it is no ValueError."""


class Completion:
    def __init__(self, token_ids, text, finish_reason):
        self.index, self.token_ids, self.text, self.finish_reason = 0, token_ids, text, finish_reason


class RequestOutput:
    def __init__(self, request_id, prompt_token_ids, completion, finished):
        self.request_id, self.prompt_token_ids, self.outputs, self.finished = request_id, prompt_token_ids, [completion], finished


class ModelConfig:
    max_model_len = 100

    def get_diff_sampling_param(self):
        return {"temperature": 0.5}


class LLMEngine:
    def __init__(self):
        self.model_config = ModelConfig()
        self._running = {}
        self._steps = 0

    def add_request(self, request_id, prompt, params, arrival_time=None, priority=0):
        assert isinstance(request_id, str)
        ids = prompt.get("prompt_token_ids")
        ids = [len(it) for it in prompt["prompt"].split()] if ids is None else ids
        if len(ids) + (params.max_tokens or 0) > self.model_config.max_model_len:
            raise ValidationError(f"the prompt has {len(ids)} tokens, and the context 100")
        # How a test sees what became of a request.
        print("fake: added", request_id, params.temperature, params.output_kind.name, file=sys.stderr, flush=True)
        self._running[request_id] = (ids, params, [])

    def abort_request(self, request_ids, internal=False):
        for it in request_ids:
            print("fake: aborted", it, file=sys.stderr, flush=True)
            self._running.pop(it, None)

    def has_unfinished_requests(self):
        return bool(self._running)

    def step(self):
        time.sleep(float(os.environ.get("FAKE_STEP_S", "0.001")))
        self._steps += 1
        if os.environ.get("FAKE_DIES_AT") == str(self._steps):
            raise RuntimeError("the fake engine was told to die")
        outputs = []
        for request_id, (ids, params, made) in list(self._running.items()):
            made.append(len(ids) + len(made))
            is_last = len(made) >= params.max_tokens
            if is_last:
                del self._running[request_id]
            if params.output_kind is sampling_params.RequestOutputKind.DELTA:
                new = made[-1:]
            elif is_last:
                new = made
            else:
                continue
            completion = Completion(new, "".join(f" {it}" for it in new), "length" if is_last else None)
            outputs.append(RequestOutput(request_id, ids, completion, is_last))
        return outputs


class LLM:
    def __init__(self, model, **named):
        # Libraries print to stdout; the frames must not be disturbed.
        print("fake: loading", model, sorted(named.items()), flush=True)
        if os.environ.get("FAKE_NO_MODEL"):
            raise OSError(f"{model} is no model")
        self.llm_engine = LLMEngine()
