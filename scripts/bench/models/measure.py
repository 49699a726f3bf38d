"""Measures eval-harness calling models, alternating with a bare client that makes the same calls to a mock server.

Usage: measure.py BINARY MOCK [quick]. Works in a temporary folder and prints a Markdown table.
The ideal is what a client without any cost of its own would need: CALLS / AT_ONCE rounds of the server's delay. A run of the
harness is a whole process: start, loading, asking, grading, journal, cache and JSON report. Bounds are those of the project.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

BINARY, MOCK = sys.argv[1:3]
QUICK = "quick" in sys.argv[3:]


class Run:
    """One run of a command: wall seconds, CPU seconds, peak megabytes."""

    def __init__(self, argv, cwd, env):
        # A process between us and the command makes RUSAGE_CHILDREN the command's own.
        probe = (
            "import json,resource,subprocess,sys,time;t=time.perf_counter();"
            "p=subprocess.run(sys.argv[1:],stdin=subprocess.DEVNULL,stdout=subprocess.PIPE,stderr=subprocess.PIPE);"
            "e=time.perf_counter()-t;r=resource.getrusage(resource.RUSAGE_CHILDREN);"
            "print(json.dumps([e,r.ru_utime+r.ru_stime,r.ru_maxrss/1024,p.returncode,"
            "(p.stdout+p.stderr).decode(errors='replace')]))"
        )
        done = subprocess.run([sys.executable, "-I", "-c", probe, *argv], cwd=cwd, env=env, capture_output=True, check=True)
        self.seconds, self.cpu, self.megabytes, code, printed = json.loads(done.stdout)
        if code != 0:
            sys.exit(f"{' '.join(argv)} ended with {code}:\n{printed[-3000:]}")


@contextmanager
def server(ms):
    process = subprocess.Popen([MOCK, "--serve", str(ms)], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def suite(folder, url, calls, at_once, samples=1):
    folder.mkdir(exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    case = {"id": "c{{ row.n }}", "input": "case {{ row.n }}", "expected": {"type": "contains", "value": "right"}}
    dataset = {"path": "rows.jsonl", "format": "jsonl", "case": case}
    evaluation = {"metadata": {"id": "bench"}, "config": {"samples": samples}, "dataset": dataset}
    target = {"type": "model", "model": "openai:mock", "base_url": url, "max_concurrency": at_once}
    spec = {"name": "bench", "target": target, "evals": [{"$ref": "eval.yaml"}], "reporting": {"format": ["json"]}}
    (folder / "rows.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(calls // samples)))
    (folder / "eval.yaml").write_text(json.dumps(evaluation))
    (folder / "suite.yaml").write_text(json.dumps({"eval_suite": spec}))


def judged_suite(folder, url, calls, at_once):
    """Recorded outputs, each judged once."""
    folder.mkdir(exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    judge = {"model": "openai:mock", "base_url": url, "max_concurrency": at_once, "rubric": "Is the answer right and easy to read?"}
    case = {"id": "c{{ row.n }}", "input": "case {{ row.n }}", "grader": {"type": "model", "config": judge}}
    evaluation = {"metadata": {"id": "bench"}, "dataset": {"path": "rows.jsonl", "format": "jsonl", "case": case}}
    target = {"type": "recorded", "path": "outputs.jsonl"}
    spec = {"name": "bench", "target": target, "evals": [{"$ref": "eval.yaml"}], "reporting": {"format": ["json"]}}
    (folder / "rows.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(calls)))
    lines = (json.dumps({"case": f"c{n}", "output": f"The answer to case {n}, in a sentence."}) for n in range(calls))
    (folder / "outputs.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "eval.yaml").write_text(json.dumps(evaluation))
    (folder / "suite.yaml").write_text(json.dumps({"eval_suite": spec}))


def judging(folder, calls, at_once, ms, rounds, bound):
    # One call tests whether the API supports a schema of the answer, while the others wait.
    ideal = (1 + -(-(calls - 1) // at_once)) * ms / 1000
    with server(ms) as url:
        judged_suite(folder, url, calls, at_once)
        runs = [harness(folder, "--cache", "off") for _ in range(rounds)]
    row(f"`run --cache off`, {calls:,} judged outputs, judges of {ms} ms, {at_once} at once", runs, calls, ideal, bound)


def harness(folder, *arguments):
    env = {**os.environ, "EVAL_HARNESS_CACHE_DIR": str(folder / "answers")}
    return Run([BINARY, "run", "--suite", "suite.yaml", "--progress", "none", *arguments], folder, env)


def client(folder, url, calls, at_once):
    return Run([MOCK, "--client", url, str(calls), str(at_once)], folder, dict(os.environ))


def row(name, runs, calls, ideal, bound=""):
    walls = [run.seconds for run in runs]
    ratio = "" if ideal is None else f"{min(walls) / ideal:.3f} / {statistics.median(walls) / ideal:.3f}"
    cpu = min(run.cpu for run in runs) * 1000 / calls
    peak = max(run.megabytes for run in runs)
    cells = (name, f"{min(walls):.3f} s", f"{statistics.median(walls):.3f} s", ratio, f"{cpu:.3f}", f"{peak:.0f}", bound)
    print("| " + " | ".join(cells) + " |", flush=True)


def asking(folder, calls, at_once, ms, rounds, bound):
    """The harness with a cache that is empty each time, and without one, and the bare client, alternating."""
    ideal = -(-calls // at_once) * ms / 1000
    bare, cached, plain = [], [], []
    with server(ms) as url:
        suite(folder, url, calls, at_once)
        for _ in range(rounds):
            bare.append(client(folder, url, calls, at_once))
            shutil.rmtree(folder / "answers", ignore_errors=True)
            cached.append(harness(folder))
            plain.append(harness(folder, "--cache", "off"))
    what = f"{calls:,} calls of {ms} ms, {at_once} at once"
    row(f"bare client, {what}", bare, calls, ideal)
    row(f"`run --cache off`, {what}", plain, calls, ideal, bound)
    row(f"`run`, {what}", cached, calls, ideal, bound)


def warm(folder, prompts, rounds):
    with server(0) as url:
        suite(folder, url, prompts, 64)
        row(f"`run`, {prompts:,} prompts, nothing cached, a server without delay", [harness(folder)], prompts, None)
        runs = [harness(folder) for _ in range(rounds)]
    row(f"`run`, {prompts:,} prompts, all cached", runs, prompts, None, "< 0.5 s")


def memory(folder):
    """The largest resident set must not grow with the number of calls."""
    with server(0) as url:
        for calls in (2_000, 20_000) if QUICK else (2_000, 20_000, 100_000):
            suite(folder, url, calls, 64)
            row(f"`run --cache off`, {calls:,} calls, a server without delay", [harness(folder, "--cache", "off")], calls, None)
            row(f"bare client, {calls:,} calls, the same server", [client(folder, url, calls, 64)], calls, None)


def main():
    version = subprocess.check_output([BINARY, "--version"], text=True).strip()
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"{version}, {platform.system()} {platform.release()}, {cores} cores, load {load:.1f}\n")
    print("| Measurement | Best | Median | Wall / ideal (best / median) | CPU ms per call | Peak MB | Bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    measures = [
        lambda folder: asking(folder, 1_000, 64, 200, 5, "<= 1.05, then 1.03; < 0.5 ms"),
        lambda folder: judging(folder, 1_000, 64, 200, 5, "<= 1.05"),
        lambda folder: warm(folder, 10_000, 7),
        memory,
    ]
    if not QUICK:
        measures.insert(1, lambda folder: asking(folder, 10_000, 500, 1000, 2, "<= 1.05; < 0.5 ms"))
    for measure in measures:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder))


main()
