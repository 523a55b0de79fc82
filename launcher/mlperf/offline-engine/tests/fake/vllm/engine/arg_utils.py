from dataclasses import dataclass


@dataclass
class EngineArgs:
    model: str = "default"
    max_model_len: "int | None" = None
    enforce_eager: bool = False

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model", default="default")
        parser.add_argument("--max-model-len", type=int)
        parser.add_argument("--enforce-eager", action="store_true")
        return parser
