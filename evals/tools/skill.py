"""Stands for a coding agent that runs a skill: `skill.py NAME PARAMETERS`, the input as JSON on stdin."""

import json
import sys


def release_summary(parameters: dict, given: dict) -> str:
    kinds = {"feat": "new feature", "fix": "fix"}
    counts = {word: sum(s.startswith(prefix + ":") for s in given["commits"]) for prefix, word in kinds.items()}
    parts = [f"{n} {word}{'' if n == 1 else 's' if word != 'fix' else 'es'}" for word, n in counts.items() if n]
    text = f"{given['product']} {given['version']} brings {' and '.join(parts)}."
    if parameters.get("tone") == "warm":
        text += " Thank you to everybody who reported a problem."
    return text


SKILLS = {"release-summary": release_summary}

if __name__ == "__main__":
    name, parameters = sys.argv[1], json.loads(sys.argv[2])
    print(SKILLS[name](parameters, json.load(sys.stdin)))
