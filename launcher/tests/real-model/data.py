"""Writes the data of the test: summaries of invented news, and 50 questions of arithmetic in the columns of MMLU."""

import json
import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
draw = random.Random(17)
TOWNS = ["Marlow", "Eastbridge", "Port Amber", "Windle", "St. Orla"]
THINGS = ["bridge", "library", "harbour", "tram line", "school"]

rows = []
for number in range(24):
    town, thing, cost = draw.choice(TOWNS), draw.choice(THINGS), draw.randint(2, 90)
    year = draw.randint(2027, 2034)
    article = (
        f"The council of {town} decided on Tuesday to build a new {thing}. It will cost {cost} million dollars, said Mr. Hale, who leads the "
        f"council. Work begins next spring and ends in {year}. Some people of {town} asked for a smaller {thing}, e.g. one without a roof. "
        f"Others said that the old {thing} is not safe any more. The vote was 7 to 4."
    )
    prompt = (
        "Summarize the following news article in 128 tokens. Please output the summary only, without any other text."
        f"\n\nArticle:\n{article}\n\nSummary:"
    )
    rows.append({"input": prompt, "output": f"{town} builds a new {thing} for {cost} million dollars. It is ready in {year}."})
(folder / "articles.json").write_text(json.dumps(rows))

questions = folder / "questions"
questions.mkdir(exist_ok=True)


def question():
    left, right = draw.randint(2, 60), draw.randint(2, 60)
    choices = draw.sample(sorted({left + right, left + right + 1, left + right - 2, left + right + 10, left * 2 + right}), 4)
    if left + right not in choices:
        choices[draw.randrange(4)] = left + right
    return {
        "question": f"What is {left} + {right}?",
        "subject": draw.choice(["elementary_mathematics", "college_mathematics"]),
        "choices": [str(it) for it in choices],
        "answer": choices.index(left + right),
    }


for split, count in [("test", 50), ("dev", 40)]:
    (questions / f"{split}.jsonl").write_text("".join(json.dumps(question()) + "\n" for _ in range(count)))
