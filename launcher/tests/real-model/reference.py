"""Compares the figures of two runs with those that the reference's own programs compute of the same answers, and prints a table.

Scores: rouge_score 0.1.2 with NLTK's stemmer and Punkt. Questions: the prompts are built here anew, the server is asked again, and the
letter is chosen here. Ends with 1 where a figure differs.
"""

import csv
import json
import pathlib
import sys
import urllib.request

import nltk
from rouge_score import rouge_scorer

server, data, articles, questions, punkt = sys.argv[1:]
data, articles, questions = map(pathlib.Path, (data, articles, questions))
# The folder that has tokenizers/punkt_tab/english.
nltk.data.path = [punkt]
failures = []


def compare(name, ours, reference):
    equal = ours == reference
    print(f"{name:<34} {ours!s:>12} {reference!s:>12}  {'equal' if equal else 'DIFFERENT'}")
    if not equal:
        failures.append(name)


print(f"{'figure':<34} {'ours':>12} {'reference':>12}")

rows = json.loads((data / "articles.json").read_text())
log = json.loads((articles / "mlperf_log_accuracy.json").read_text())
joined = lambda text: "\n".join(nltk.sent_tokenize(text.strip()))
scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)
predictions = [(joined(bytes.fromhex(it["data"]).decode()), joined(rows[it["qsl_idx"]]["output"])) for it in log]
scores = [scorer.score(expected, predicted) for predicted, expected in predictions]
found = json.loads((articles / "rouge.json").read_text())
for key in ["rouge1", "rouge2", "rougeL", "rougeLsum"]:
    compare(key, found["scores"].get(key), round(sum(it[key].fmeasure for it in scores) / len(scores) * 100, 4))
compare("gen_len", found["run_gen_len"], sum(len(predicted) for predicted, _ in predictions))
compare("gen_num", found["run_gen_num"], len(rows))


def lines(name):
    return [json.loads(line) for line in (data / "questions" / name).read_text().splitlines()]


def asked(it):
    choices = "".join(f"{letter}. {choice}\n" for letter, choice in zip("ABCD", it["choices"]))
    return f"{it['question']}\n{choices}Answer:"


def letter(prompt):
    body = json.dumps({"prompt": prompt, "max_tokens": 1, "temperature": 0, "logprobs": 20}).encode()
    request = urllib.request.Request(f"{server}/v1/completions", body, {"content-type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))
    tokens = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    chances = {}
    for token in tokens:
        name = token["token"].removeprefix(" ")
        if name in list("ABCD"):
            chances[name] = max(chances.get(name, -1e9), token["logprob"])
    return max(chances, key=chances.get) if chances else ""


samples = list(csv.DictReader((questions / "samples.csv").open()))
dev = lines("dev.jsonl")
right = same = 0
for sample, it in zip(samples, lines("test.jsonl")):
    subject = it["subject"]
    shots = [shot for shot in dev if shot["subject"] == subject][:5]
    head = "The following are multiple choice questions (with answers) about  " + " ".join(subject.split("_")) + ".\n\n"
    prompt = head + "".join(f"{asked(shot)} {'ABCD'[shot['answer']]}\n\n" for shot in shots) + asked(it)
    chosen = letter(prompt)
    right += chosen == "ABCD"[it["answer"]]
    same += chosen == sample["pred"]
overall = json.loads((questions / "overall.json").read_text())
compare("MMLU, questions", overall["total"], 50)
compare("MMLU, right in samples.csv", overall["correct"], sum(it["correct"] == "1" for it in samples))
compare("MMLU, right when asked again", overall["correct"], right)
compare("MMLU, letters when asked again", len(samples), same)
sys.exit(1 if failures else 0)
