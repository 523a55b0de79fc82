"""What transformers makes of texts and chats with the tokenizers in FOLDER/models: a file MODEL.json beside that folder for each.

usage: reference.py FOLDER
"""

import datetime
import json
import os
import pathlib
import random
import sys
import unicodedata

os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_NO_ADVISORY_WARNINGS="1", TRANSFORMERS_VERBOSITY="error")

import tokenizers
import transformers
from transformers.utils import chat_template_utils

# The time that templates may ask for: the test gives the same one.
NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)

TEXTS = [
    "", " ", "  ", "\n", "\r\n\t ", "a", " a", "a ", "Hello, world!", "It is n't , he 's said ' so ' . Is it ? Yes !",
    "we 've , they 're , I 'm", "Le café était fermé à Noël.", "Die Straße heißt Weißgerbergasse.", "Привет, мир!",
    "今日は天気がいいです。明日は雨でしょう。", "中文字符测试，没有空格。", "안녕하세요 세계", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "👩‍👩‍👧‍👦 family 🇩🇪 flag 👍🏽", "e\u0301 and é", "ﬁ ligature ½ ² ™", "\u200b\u200d\ufeff zero width", "tab\tand\vvertical\fform",
    "1234567890", "1 12 123 1234 12345 3.14159 1,000,000 0x1F 1e-5", "١٢٣ ४५६", "a" * 200, "ab" * 100, " " * 50 + "x", "\n" * 12 + "x",
    "def f(x):\n    return {'a': x, \"b\": [1, 2]}  # note\n", "<html><body class=\"x\">&amp;</body></html>", "SELECT * FROM t WHERE a<>'b';",
    "https://example.org/a?b=c&d=%20#e", "C:\\path\\file.txt", "I'm you're he'll WE'VE Don'T", "CamelCaseWord snake_case_word kebab-case-word",
    "<|begin_of_text|>x<|eot_id|>", "<|im_start|>user\nhi<|im_end|>", "<|start|>user<|message|>hi<|end|>", "<｜User｜>hi<｜Assistant｜>", "<s>[INST] x [/INST]</s>",
    "<|endoftext|><think>hm</think>", "\ud7ff\ue000\U0010ffff\ufffd", "\x00\x01\x7f\x80", "Zalgo t̸͎e̶x̷t", "…—–‘’“”«»", "The quick brown fox jumps over the lazy dog. " * 20,
]


def texts():
    """Those above, and random ones of all kinds of characters that every library knows."""
    draw = random.Random(17)
    ranges = [(0x20, 0x7E)] * 6 + [(0xA0, 0x24F), (0x370, 0x5FF), (0x900, 0xDFF), (0x2000, 0x2BFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F53D)]
    # Oniguruma, which splits texts in Python, knows an older Unicode than Rust's regex: a character that is newer than that, such as
    # U+1F6DC, is a symbol for one of them alone.
    known = lambda it: ord(it) > 0xFFFF or unicodedata.ucd_3_2_0.category(it) != "Cn"
    letter = lambda: next(it for it in iter(lambda: chr(draw.randint(*draw.choice(ranges))), None) if known(it))
    word = lambda: "".join(letter() for _ in range(draw.randint(1, 9)))
    spaces = [" ", " ", " ", "  ", "\n", "\n\n", "\t", ""]
    return TEXTS + ["".join(word() + draw.choice(spaces) for _ in range(draw.randint(1, 30))) for _ in range(200)]


TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "It's <the> weather & more: ü 😀", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1.5}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
CALL = {"type": "function", "id": "c1", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2}}}
TEXT_CALL = {"type": "function", "id": "c1", "function": {"name": "weather", "arguments": "{\"city\": \"Köln\"}"}}
user, assistant, system = (lambda role: lambda text, **more: {"role": role, "content": text, **more})("user"), (lambda text, **more: {"role": "assistant", "content": text, **more}), (lambda text: {"role": "system", "content": text})
CHATS = [
    [user("Hi")],
    [user("  spaces around \n")],
    [system("Be brief."), user("Q1 & <b>\"x\"</b>")],
    [system("  "), user("a"), assistant(" b "), user("c")],
    [user("a"), assistant("<think>\nhm\n</think>\n\nanswer"), user("b"), assistant("<think>x</think>y")],
    [user("a"), assistant("answer", reasoning_content="\nbecause\n"), user("b")],
    [user("/no_think 😀 ünï"), assistant("")],
    [user("What is the weather?"), assistant("", tool_calls=[CALL]), {"role": "tool", "content": "{\"sun\": true}"}, {"role": "tool", "content": "second"}, assistant("Sunny."), user("Thanks")],
    [user("What is the weather?"), assistant("I look.", tool_calls=[TEXT_CALL, TEXT_CALL]), {"role": "tool", "content": "sun"}],
    [user("What is the weather?"), {"role": "assistant", "content": None, "tool_calls": [TEXT_CALL]}, {"role": "tool", "content": "sun"}],
    [{"role": "tool", "content": "starts wrong"}],
    [system("one"), system("two"), user("x")],
    [assistant("starts with the assistant"), user("x")],
    [{"role": "user", "content": [{"type": "text", "text": "a list"}]}],
]


def chats(tokenizer):
    for messages in CHATS:
        for tools in (None, TOOLS):
            for prompt in (True, False):
                for variables in ({}, {"enable_thinking": False}):
                    case = {"messages": messages, "tools": tools, "add_generation_prompt": prompt, "variables": variables}
                    try:
                        case["rendered"] = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=prompt, tokenize=False, **variables)
                    except Exception as error:
                        case["error"] = f"{type(error).__name__}: {error}"
                    yield case


def main(folder):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return NOW

    chat_template_utils.datetime = Clock
    for model in sorted((folder / "models").iterdir()):
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        draw = random.Random(23)
        encoded = []
        for text in texts():
            with_special = tokenizer.encode(text)
            encoded.append({"text": text, "ids": with_special, "ids_no_special": tokenizer.encode(text, add_special_tokens=False),
                            "decoded": tokenizer.decode(with_special), "decoded_skip_special": tokenizer.decode(with_special, skip_special_tokens=True)})
        size = len(tokenizer)
        lists = [[draw.randrange(size) for _ in range(draw.randint(0, 40))] for _ in range(200)]
        decoded = [{"ids": ids, "decoded": tokenizer.decode(ids), "decoded_skip_special": tokenizer.decode(ids, skip_special_tokens=True)} for ids in lists]
        document = {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__, "encode": encoded, "decode_random_ids": decoded,
                    "chats": list(chats(tokenizer)) if tokenizer.chat_template else []}
        (folder / f"{model.name}.json").write_text(json.dumps(document))
        print(f"{model.name}: {len(encoded)} texts, {len(decoded)} lists of ids, {len(document['chats'])} chats")


main(pathlib.Path(sys.argv[1]))
