from enum import Enum


class RequestOutputKind(Enum):
    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


class SamplingParams:
    def __init__(self, *, max_tokens=16, temperature=1.0, ignore_eos=False, seed=None, output_kind=RequestOutputKind.CUMULATIVE):
        if temperature < 0:
            raise ValueError(f"temperature must be non-negative, got {temperature}.")
        self.max_tokens, self.temperature, self.output_kind = max_tokens, temperature, output_kind
