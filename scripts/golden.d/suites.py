"""Random suites with recorded outputs, which the binary under test runs itself: their journals are always of its own version."""

import json
import random

from events import words

SUITES = 8
NAMES = ("red", "green", "blue", "grey", "pink", "teal", "gold", "plum")


def exact(dice, name):
    expected = {"type": "exact", "value": name} | ({"alternatives": [name.upper()]} if dice.random() < 0.4 else {})
    return {"expected": expected}, name, dice.choice(NAMES) + " and more"


def contains(dice, name):
    return {"expected": {"type": "contains", "value": {"must_include": [name], "must_not_include": ["TODO"]}}}, f"so {name} it is", "TODO"


def pattern(dice, name):
    config = {"method": "regex", "pattern": rf"(?P<colour>{name})\s+\d+", "flags": ["ignorecase"], "capture_groups": ["colour"]}
    return {"grader": {"type": "code", "config": config}}, f"{name.upper()} 42", f"{name} none"


def numeric(dice, _):
    value = dice.randint(1, 9999) / 8
    return {"expected": {"type": "numeric", "value": value, "tolerance": 0.01}}, f"{value + 0.005}", f"{value + 1}"


def json_schema(dice, name):
    schema = {"type": "object", "required": ["colour"], "properties": {"colour": {"enum": [name]}, "n": {"type": "integer"}}}
    right = f'Here: {{"colour": "{name}", "n": 3}}'
    return {"extract": "json", "expected": {"type": "json", "schema": schema}}, right, '{"colour": 7, "n": 1.5}'


def structural(dice, name):
    value = {"name": name, "tags": ["a", "b"], "n": dice.randint(1, 99), "id": "{{any_uuid}}"}
    right = value | {"id": "0b5e9f3a-3f0a-4d5c-9a39-1f8f2b5f7a11"}
    return {"expected": {"type": "structural", "value": value}}, json.dumps(right), json.dumps(right | {"tags": ["b", "a"], "n": -1})


def similarity(dice, name):
    text = f"the {name} house stands by the old river since {dice.randint(1500, 1999)}"
    metric = dice.choice(("levenshtein", "token_f1", "rouge_l", "bleu"))
    config = {"method": "similarity", "metric": metric, "threshold": 0.7, "value": text}
    return {"grader": {"type": "code", "config": config}}, text.replace("old ", ""), words(dice, 9)


def several(dice, name):
    alike = {"method": "similarity", "metric": "edit_rate", "value": f"a {name} b", "threshold": 0.3}
    graders = [
        {"type": "code", "weight": 2, "config": {"method": "contains", "must_include": [name]}},
        {"type": "code", "weight": 1, "metric": "edit_rate", "config": alike},
        {"type": "code", "negate": True, "informative": dice.random() < 0.5, "config": {"method": "regex", "pattern": "TODO"}},
    ]
    combine = dice.choice(("all", "any", {"weighted": {"pass_threshold": 0.6}}))
    return {"graders": graders, "combine": combine}, f"a {name} b", f"TODO {name}"


def human(dice, name):
    return {"grader": {"type": "human", "config": {"time_limit_minutes": 5}}}, name, name


MAKERS = (exact, exact, contains, pattern, numeric, json_schema, structural, similarity, several)


def suite(seed, number):
    """The files of one suite, by path: the suite (JSON is YAML), and the outputs of two targets."""
    dice = random.Random(f"{seed} suite {number}")
    samples = dice.choice((1, 2, 3, 5))
    # Every third suite is solved, so that gates pass or are pending.
    chances = {"a": (1.0, 1.0), "b": (0.9, 1.0)} if number % 3 == 0 else {"a": (0.5, 1.0), "b": (0.2, 0.9)}
    evals, outputs = [], {"a": [], "b": []}

    def outputs_of(eval_id, case, right, wrong):
        """Records the outputs of both targets for one case; now and then one is missing."""
        for name, (low, high) in chances.items():
            chance = dice.uniform(low, high)
            for sample in range(samples):
                line = {"eval": eval_id, "case": case, "sample": sample, "output": right if dice.random() < chance else wrong}
                if dice.random() < 0.5:
                    line |= {"usage": {"input_tokens": dice.randint(1, 900), "output_tokens": dice.randint(1, 90)}, "model": "recorded-1"}
                if low == 1.0 or dice.random() > 0.02:
                    outputs[name].append(json.dumps(line, ensure_ascii=False) + "\n")

    for at in range(dice.randint(2, 7)):
        make = human if number % 3 == 0 and at == 0 else dice.choice(MAKERS)
        metadata = {
            "id": f"cap-{at}-{make.__name__}",
            "name": words(dice, 3).replace("\n", " "),
            "tags": dice.sample(("core", "fast", "slow"), 2),
            "category": dice.choice(("writing", "code")),
            "difficulty": dice.choice(("easy", "hard")),
            "weight": dice.choice((0.5, 1, 2)),
        }
        cases = []
        for n in range(dice.choice((1, 3, 6))):
            keys, right, wrong = make(dice, dice.choice(NAMES))
            cases.append({"id": f"case-{n}", "input": words(dice, 8)} | keys)
            outputs_of(metadata["id"], f"case-{n}", right, wrong)
        rate = {"pass_rate_threshold": dice.choice((1.0, 0.5))}
        evals.append({"eval_type": "capability", "metadata": metadata, "config": rate, "test_cases": cases})
    for at in range(dice.randint(0, 3)):
        right = {"status": "ok", "items": [1, 2, {"name": dice.choice(NAMES)}]}
        regression = {"id": f"reg-{at}", "name": f"Answer {at}", "baseline": {"output": right}, "current": {"input": {"n": at}}}
        regression |= {"extract": "json", "comparison": {"type": "structural"}}
        regression["metadata"] = {"criticality": dice.choice(("low", "high", "critical"))}
        evals.append(regression)
        outputs_of(f"reg-{at}", f"reg-{at}", json.dumps(right), json.dumps(right | {"items": []}))
    thresholds = {"pass@1": dice.choice((0.5, 0.9)), "score": {"min": 0.4, "on": "ci_lower"}, "pass_rate": 0.5}
    spec = {
        "name": f"Suite {number}",
        "description": words(dice, 9),
        "config": {"samples": samples, "k": [1, samples], "seed": number, "max_workers": 1},
        "targets": {
            name: {"type": "recorded", "path": f"outputs-{file}.jsonl"} for name, file in (("a", "a"), ("b", "b"), ("default", "a"))
        },
        "thresholds": {name: thresholds[name] for name in dice.sample(sorted(thresholds), dice.randint(0, 3))},
        "evals": evals,
        "reporting": {"format": ["json"]},
    }
    files = {"eval-suite.yaml": json.dumps({"eval_suite": spec}, indent=1, ensure_ascii=False) + "\n"}
    files |= {f"outputs-{name}.jsonl": "".join(lines) for name, lines in outputs.items()}
    return files | {".gitignore": "results/\nanswers/\n"}
