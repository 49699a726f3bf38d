"""Measures eval-harness: start-up, validation, grading of recorded outputs, interpreter starts, HumanEval.

Usage: measure.py BINARY [HumanEval.jsonl]. Works in a temporary folder and prints a Markdown table.
Times are medians of several runs; memory is the largest resident set of the process and what it waited for.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BINARY = sys.argv[1]
HUMANEVAL = Path(sys.argv[2]) if len(sys.argv) > 2 else None
CASES = 20_000
EXACT = 10_000
PROGRAMS = 200


class Run:
    """One run of a command: seconds, peak megabytes, CPU seconds, exit code, stdout."""

    def __init__(self, argv, cwd):
        # A shell between us and the command makes RUSAGE_CHILDREN of that shell the command's own.
        probe = (
            "import json,resource,subprocess,sys,time;t=time.perf_counter();"
            "p=subprocess.run(sys.argv[1:],stdin=subprocess.DEVNULL,stdout=subprocess.PIPE,stderr=subprocess.PIPE);"
            "e=time.perf_counter()-t;r=resource.getrusage(resource.RUSAGE_CHILDREN);"
            "print(json.dumps([e,r.ru_maxrss/1024,r.ru_utime+r.ru_stime,p.returncode,"
            "p.stdout.decode(errors='replace'),p.stderr.decode(errors='replace')]))"
        )
        done = subprocess.run([sys.executable, "-I", "-c", probe, *argv], cwd=cwd, capture_output=True, check=True)
        self.seconds, self.megabytes, self.cpu, self.code, self.stdout, self.stderr = json.loads(done.stdout)


def repeat(times, argv, cwd, code=0):
    runs = [Run(argv, cwd) for _ in range(times)]
    for run in runs:
        if run.code != code:
            sys.exit(f"{' '.join(argv)} ended with {run.code}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return runs


def seconds(runs):
    return statistics.median(run.seconds for run in runs)


def megabytes(runs):
    return max(run.megabytes for run in runs)


def suite(folder, evals, target=None, **config):
    target = target or {"type": "recorded", "path": "outputs.jsonl"}
    spec = {"name": "bench", "config": config, "target": target, "evals": evals, "reporting": {"format": ["json"]}}
    (folder / "suite.yaml").write_text(json.dumps({"eval_suite": spec}))


def start_up(folder):
    runs = repeat(50, [BINARY, "--version"], folder)
    floor = repeat(50, ["/bin/true"], folder)
    return [("`--version`", f"{seconds(runs) * 1000:.1f} ms", f"`/bin/true`: {seconds(floor) * 1000:.1f} ms; 50 runs")]


def validation(folder):
    lines = ["metadata: {id: bench-validate, name: Many cases}", "test_cases:"]
    for n in range(CASES):
        lines += [
            f"  - id: case-{n:05}",
            "    input:",
            "      type: prompt",
            f"      content: What is {n} plus {n + 1}? Answer with the number alone.",
            "    expected:",
            "      type: exact",
            f'      value: "{2 * n + 1}"',
        ]
    text = "\n".join(lines) + "\n"
    (folder / "cases.yaml").write_text(text)
    runs = repeat(5, [BINARY, "validate", "cases.yaml"], folder)
    size = f"{len(text) / 1e6:.1f} MB, {CASES:,} cases"
    return [("`validate` of one YAML file", f"{seconds(runs):.2f} s", f"{size}; peak {megabytes(runs):.0f} MB; 5 runs")]


def recorded(folder):
    with open(folder / "rows.jsonl", "w") as rows, open(folder / "outputs.jsonl", "w") as outputs:
        for n in range(EXACT):
            rows.write(json.dumps({"id": f"case-{n}", "question": f"What is {n} + 1?", "answer": str(n + 1)}) + "\n")
            outputs.write(json.dumps({"case": f"case-{n}", "output": str(n + 1)}) + "\n")
    case = {"id": "{{ row.id }}", "input": "{{ row.question }}", "expected": {"type": "exact", "value": "{{ row.answer }}"}}
    dataset = {"path": "rows.jsonl", "format": "jsonl", "case": case}
    (folder / "eval.yaml").write_text(json.dumps({"metadata": {"id": "bench-exact"}, "dataset": dataset}))
    suite(folder, [{"$ref": "eval.yaml"}])
    argv = [BINARY, "run", "--suite", "suite.yaml", "--progress", "none"]
    runs = repeat(5, argv, folder)
    return [
        (
            f"`run`, {EXACT:,} recorded outputs, `exact_match`",
            f"{seconds(runs):.2f} s",
            f"journal and JSON report included; peak {megabytes(runs):.0f} MB; 5 runs",
        )
    ]


def interpreter(folder):
    """Trivial programs one after the other, against as many plain interpreters."""
    cases = [{"id": f"p{n}", "input": "x"} for n in range(PROGRAMS)]
    grader = {"type": "code", "config": {"method": "code_execution", "stdio": [{"stdin": "", "stdout": "1"}]}}
    (folder / "eval.yaml").write_text(
        json.dumps({"metadata": {"id": "bench-start"}, "grader": grader, "test_cases": cases})
    )
    (folder / "outputs.jsonl").write_text(
        "".join(json.dumps({"case": f"p{n}", "output": "print(1)"}) + "\n" for n in range(PROGRAMS))
    )
    suite(folder, [{"$ref": "eval.yaml"}], max_workers=1)
    argv = [BINARY, "run", "--suite", "suite.yaml", "--progress", "none"]
    runs = repeat(3, argv, folder)
    (folder / "outputs.jsonl").write_text("".join(f'{{"case": "p{n}", "output": "1"}}\n' for n in range(PROGRAMS)))
    text = {"type": "code", "config": {"method": "contains", "must_include": "1"}}
    (folder / "eval.yaml").write_text(json.dumps({"metadata": {"id": "bench-start"}, "grader": text, "test_cases": cases}))
    base = repeat(3, argv, folder)
    python = os.path.realpath(subprocess.check_output(["python3", "-c", "import sys; print(sys.executable)"], text=True).strip())
    plain = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(PROGRAMS):
            subprocess.run([python, "-I", "-S", "-c", "print(1)"], stdout=subprocess.DEVNULL, check=True)
        plain.append(time.perf_counter() - start)
    ours = (seconds(runs) - seconds(base)) / PROGRAMS * 1000
    bare = statistics.median(plain) / PROGRAMS * 1000
    return [
        ("One program in the sandbox, one worker", f"{ours:.1f} ms", f"mean of {PROGRAMS}, without the run's own start"),
        ("A plain `python3 -I -S -c`", f"{bare:.1f} ms", f"mean of {PROGRAMS}, same interpreter"),
        ("The sandbox's share", f"{ours - bare:+.1f} ms a start", "the difference"),
    ]


def humaneval(folder):
    if HUMANEVAL is None:
        return []
    shutil.copy(HUMANEVAL, folder / "HumanEval.jsonl")
    tasks = [json.loads(line) for line in HUMANEVAL.read_text().splitlines() if line]
    (folder / "outputs.jsonl").write_text(
        "".join(json.dumps({"task_id": t["task_id"], "completion": t["canonical_solution"]}) + "\n" for t in tasks)
    )
    (folder / "eval.yaml").write_text(
        json.dumps({"metadata": {"id": "humaneval"}, "dataset": {"path": "HumanEval.jsonl", "format": "humaneval"}})
    )
    suite(folder, [{"$ref": "eval.yaml"}])
    argv = [BINARY, "run", "--suite", "suite.yaml", "--progress", "none"]
    runs = repeat(3, argv, folder)
    cpu = statistics.median(run.cpu for run in runs)
    return [
        (
            f"HumanEval, {len(tasks)} canonical solutions, all pass",
            f"{seconds(runs):.1f} s",
            f"{cpu / len(tasks) * 1000:.0f} ms of CPU a task; peak {megabytes(runs):.0f} MB; 3 runs",
        )
    ]


def main():
    version = subprocess.check_output([BINARY, "--version"], text=True).strip()
    cores = len(os.sched_getaffinity(0))
    print(f"{version}, {platform.system()} {platform.release()}, {cores} cores, Python {platform.python_version()}\n")
    print("| What | Figure | How |")
    print("| --- | --- | --- |")
    for measure in (start_up, validation, recorded, interpreter, humaneval):
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(Path(folder)):
                print("| " + " | ".join(row) + " |", flush=True)


main()
