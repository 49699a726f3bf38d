"""The house style of release notes. Reads notes on stdin and answers with a verdict as JSON."""

import json
import re
import sys


def complaints(notes: str) -> list[str]:
    lines = notes.strip().splitlines()
    found = []
    if not lines or not re.fullmatch(r"# Harbor \d+\.\d+\.\d+", lines[0]):
        found.append("the first line is not '# Harbor X.Y.Z'")
    if "!" in notes:
        found.append("exclamation mark")
    for line in lines:
        if line.startswith("- ") and not line.endswith("."):
            found.append(f"entry without a full stop: {line}")
        if len(line) > 120:
            found.append(f"line of {len(line)} characters")
    return found


found = complaints(sys.stdin.read())
verdict = {
    "passed": not found,
    "score": 0.0 if found else 1.0,
    "reason": "; ".join(found),
    "metrics": {"style_complaints": len(found)},
}
json.dump(verdict, sys.stdout)
