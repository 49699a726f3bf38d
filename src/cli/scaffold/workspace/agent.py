"""Replaces a coding agent: a scripted edit in the current folder. Replace it by your own agent."""

import pathlib
import sys

task = sys.stdin.read()
if "separators" not in task:
    sys.exit(f"this script has no edit for the task: {task}")
path = pathlib.Path("slug.py")
code = path.read_text()
code = code.replace(
    'title.strip().lower().replace(" ", "-").replace("_", "-")',
    '"-".join(title.lower().replace("_", " ").split())',
)
path.write_text(code)
print("Corrected slug.py.")
