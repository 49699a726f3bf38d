"""Measures eval-harness: start-up, validation, grading of recorded outputs, interpreter starts, HumanEval.

Usage: measure.py BINARY [HumanEval.jsonl]. Works in a temporary folder and prints a Markdown table.
Times are the best and the median of several runs: on a machine with other work the best is nearer to the truth. Memory is the
largest resident set of the process and what it waited for.
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
SCALES = [(10_000, 5), (100_000, 5), (1_000_000, 3)]
PROGRAMS = 200


class Run:
    """One run of a command: seconds, peak megabytes, exit code, stdout, stderr."""

    def __init__(self, argv, cwd):
        # A shell between us and the command makes RUSAGE_CHILDREN of that shell the command's own.
        probe = (
            "import json,resource,subprocess,sys,time;t=time.perf_counter();"
            "p=subprocess.run(sys.argv[1:],stdin=subprocess.DEVNULL,stdout=subprocess.PIPE,stderr=subprocess.PIPE);"
            "e=time.perf_counter()-t;r=resource.getrusage(resource.RUSAGE_CHILDREN);"
            "print(json.dumps([e,r.ru_maxrss/1024,p.returncode,"
            "p.stdout.decode(errors='replace'),p.stderr.decode(errors='replace')]))"
        )
        done = subprocess.run([sys.executable, "-I", "-c", probe, *argv], cwd=cwd, capture_output=True, check=True)
        self.seconds, self.megabytes, self.code, self.stdout, self.stderr = json.loads(done.stdout)


def repeat(times, argv, cwd, code=0):
    runs = [Run(argv, cwd) for _ in range(times)]
    for run in runs:
        if run.code != code:
            sys.exit(f"{' '.join(argv)} ended with {run.code}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return runs


def best(runs):
    return min(run.seconds for run in runs)


def median(runs):
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
    how = f"50 runs; `/bin/true`: {best(floor) * 1000:.1f} ms, {median(floor) * 1000:.1f} ms"
    return [("`--version`", f"{best(runs) * 1000:.1f} ms", f"{median(runs) * 1000:.1f} ms", how)]


def validation(folder):
    lines = ["metadata: {id: bench-validate, name: Many cases}", "test_cases:"]
    for n in range(CASES):
        lines += [
            f"  - id: case-{n:05}",
            "    input:",
            "      type: prompt",
            f"      content: What is {n} plus {n + 1}? Answer with the number alone, without a word before it.",
            "    expected:",
            "      type: exact",
            f'      value: "{2 * n + 1}"',
        ]
    text = "\n".join(lines) + "\n"
    (folder / "cases.yaml").write_text(text)
    runs = repeat(5, [BINARY, "validate", "cases.yaml"], folder)
    size = f"{len(text) / 1e6:.1f} MB, {CASES:,} cases"
    return [("`validate` of one YAML file", f"{best(runs):.2f} s", f"{median(runs):.2f} s", f"{size}; peak {megabytes(runs):.0f} MB; 5 runs")]


def recorded_suite(folder, cases):
    """Cases of a data file, each with a recorded output that is right."""
    with open(folder / "rows.jsonl", "w") as rows, open(folder / "outputs.jsonl", "w") as outputs:
        for n in range(cases):
            rows.write(json.dumps({"id": f"case-{n}", "question": f"What is {n} + 1?", "answer": str(n + 1)}) + "\n")
            outputs.write(json.dumps({"case": f"case-{n}", "output": str(n + 1)}) + "\n")
    case = {"id": "{{ row.id }}", "input": "{{ row.question }}", "expected": {"type": "exact", "value": "{{ row.answer }}"}}
    dataset = {"path": "rows.jsonl", "format": "jsonl", "case": case}
    (folder / "eval.yaml").write_text(json.dumps({"metadata": {"id": "bench-exact"}, "dataset": dataset}))
    suite(folder, [{"$ref": "eval.yaml"}])


def recorded(folder):
    rows = []
    for cases, times in SCALES:
        recorded_suite(folder, cases)
        runs = repeat(times, [BINARY, "run", "--suite", "suite.yaml", "--progress", "none"], folder)
        rate = cases / best(runs)
        rows.append(
            (
                f"`run`, {cases:,} recorded outputs, `exact_match`",
                f"{best(runs):.2f} s",
                f"{median(runs):.2f} s",
                f"{rate:,.0f} cases/s at best; loading, journal and JSON report included; peak {megabytes(runs):.0f} MB; {times} runs",
            )
        )
        shutil.rmtree(folder / "results")
    return rows


def interpreter(folder):
    """Trivial programs one after the other, alternating with as many plain interpreters."""
    cases = [{"id": f"p{n}", "input": "x"} for n in range(PROGRAMS)]

    def prepare(name, grader, output):
        (folder / name).mkdir()
        evaluation = {"metadata": {"id": "bench-start"}, "grader": {"type": "code", "config": grader}, "test_cases": cases}
        (folder / name / "eval.yaml").write_text(json.dumps(evaluation))
        lines = [json.dumps({"case": case["id"], "output": output}) + "\n" for case in cases]
        (folder / name / "outputs.jsonl").write_text("".join(lines))
        suite(folder / name, [{"$ref": "eval.yaml"}], max_workers=1)

    prepare("programs", {"method": "code_execution", "stdio": [{"stdin": "", "stdout": "1"}]}, "print(1)")
    prepare("texts", {"method": "contains", "must_include": "1"}, "1")
    find = "import sys; print(sys.executable)"
    python = os.path.realpath(subprocess.check_output(["python3", "-c", find], text=True).strip())
    argv = [BINARY, "run", "--suite", "suite.yaml", "--progress", "none"]
    sandboxed, bare, plain = [], [], []
    for _ in range(5):
        sandboxed += repeat(1, argv, folder / "programs")
        bare += repeat(1, argv, folder / "texts")
        start = time.perf_counter()
        for _ in range(PROGRAMS):
            subprocess.run([python, "-I", "-S", "-c", "print(1)"], stdout=subprocess.DEVNULL, check=True)
        plain.append(time.perf_counter() - start)
    per = 1000 / PROGRAMS
    ours = [(best(sandboxed) - best(bare)) * per, (median(sandboxed) - median(bare)) * per]
    theirs = [min(plain) * per, statistics.median(plain) * per]
    how = f"mean of {PROGRAMS}, 5 alternating rounds"
    return [
        ("One program in the sandbox, one worker", *[f"{ms:.1f} ms" for ms in ours], f"{how}, without the run's own start"),
        ("A plain `python3 -I -S -c`", *[f"{ms:.1f} ms" for ms in theirs], f"{how}, the same interpreter"),
        ("Time that the sandbox adds to a start", *[f"{a - b:+.1f} ms" for a, b in zip(ours, theirs)], "the difference"),
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
    return [
        (
            f"HumanEval, {len(tasks)} canonical solutions, all pass",
            f"{best(runs):.1f} s",
            f"{median(runs):.1f} s",
            f"{best(runs) / len(tasks) * 1000:.0f} ms per task; the harness's own peak {megabytes(runs):.0f} MB; 3 runs",
        )
    ]


def main():
    version = subprocess.check_output([BINARY, "--version"], text=True).strip()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    print(f"{version}, {platform.system()} {platform.release()}, {cores} cores, Python {platform.python_version()}, load {load:.1f}\n")
    print("| Measurement | Best | Median | Details |")
    print("| --- | --- | --- | --- |")
    for measure in (start_up, validation, recorded, interpreter, humaneval):
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(Path(folder)):
                print("| " + " | ".join(row) + " |", flush=True)


main()
