"""Measures the execution engine against a fresh interpreter a program and against bare forks of a warm one.

Usage: engine.py BINARY HumanEval.jsonl [PROGRAMS-A-TASK]. Works in a temporary folder and prints Markdown tables.

Everything of a table is measured in one run, alternating, so that the ratios are valid on a machine whose speed varies. CPU is that of
all processes together (see meter.py).
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from meter import Meter

BINARY = os.path.realpath(sys.argv[1])
HUMANEVAL = Path(sys.argv[2])
EACH = int(sys.argv[3]) if len(sys.argv) > 3 else 20
ROUNDS = int(os.environ.get("ROUNDS", "3"))
# Programs of a run, by the number of calls that each makes: equal, so that the start of a run cancels out between them.
CALLS = {1: 600, 10: 600, 100: 600}
CALLS_ROUNDS = int(os.environ.get("CALLS_ROUNDS", "10"))
NODE_PROGRAMS = 1000
PYTHON = os.path.realpath(
    subprocess.check_output(["python3", "-c", "import sys; print(sys.executable)"], text=True).strip()
)


# The two yardsticks run in processes of their own, so that their CPU is measured as ours is.

PLAIN = r"""
import concurrent.futures, subprocess, sys
argv, paths = sys.argv[2:], [line.strip() for line in open(sys.argv[1])]
def one(path):
    return subprocess.run(argv + [path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode
with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
    bad = sum(code != 0 for code in pool.map(one, paths))
print(bad)
"""

BARE = r"""
import json, os, sys, typing, math, collections, re, itertools, functools, string, copy, random, gc
paths = [line.strip() for line in open(sys.argv[1])]
gc.collect(); gc.freeze()
def serve(part):
    bad = 0
    for path in part:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                null = os.open('/dev/null', os.O_RDWR)
                os.dup2(null, 1)
                with open(path) as f:
                    source = f.read()
                exec(compile(source, path, 'exec'), {'__name__': '__main__'})
                code = 0
            finally:
                os._exit(code)
        bad += os.waitpid(pid, 0)[1] != 0
    return bad
pids = []
for k in range(WORKERS):
    pid = os.fork()
    if pid == 0:
        os._exit(1 if serve(paths[k::WORKERS]) else 0)
    pids.append(pid)
print(sum(os.waitpid(pid, 0)[1] != 0 for pid in pids))
"""


def suite(folder, evals, workers=2, **config):
    spec = {
        "name": "bench",
        "config": {"max_workers": workers, **config},
        "target": {"type": "recorded", "path": "outputs.jsonl"},
        "evals": evals,
        "reporting": {"format": ["json", "markdown"]},
    }
    (folder / "suite.yaml").write_text(json.dumps({"eval_suite": spec}))


# Grace periods that expired in all runs: half a second of a worker each, and none for honest programs.
expired_graces = 0


def ours(meter, folder):
    global expired_graces
    done = meter.run_or_exit([BINARY, "run", "--suite", "suite.yaml", "--progress", "none"], folder)
    for journal in (folder / "results").rglob("*.journal.jsonl"):
        last = json.loads(journal.read_text().splitlines()[-1])
        expired_graces += last["run_finished"].get("expired_graces", 0)
    shutil.rmtree(folder / "results")
    return done.wall, done.cpu


def yardstick(meter, folder, program, paths, *argv, workers=2):
    (folder / "list").write_text("\n".join(paths))
    program = program.replace("WORKERS", str(workers))
    done = meter.run_or_exit([PYTHON, "-I", "-S", "-c", program, str(folder / "list"), *argv], folder)
    if done.stdout.split()[-1] != b"0":
        sys.exit(f"a yardstick failed: {done.stdout.decode()}")
    return done.wall, done.cpu


def table(title, programs, names, rounds, base):
    """Medians over rounds, a row a contender; ratios to `base`'s figures of the same round."""
    print(f"\n**{title}** ({programs:,} programs, {ROUNDS} alternating rounds, medians)\n")
    print("| Programs | CPU ms per program | wall ms per program | CPU / bare fork | wall / bare fork | CPU / plain | wall / plain |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for i, name in enumerate(names):
        wall = statistics.median(r[i][0] for r in rounds) * 1000 / programs
        cpu = statistics.median(r[i][1] for r in rounds) * 1000 / programs
        ratios = []
        for k in base:
            for figure in (1, 0):
                ratio = "" if k is None else f"{statistics.median(r[i][figure] / r[k][figure] for r in rounds):.2f}"
                ratios.append(ratio)
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {' | '.join(ratios)} |", flush=True)


def humaneval(meter, folder):
    shutil.copy(HUMANEVAL, folder / "HumanEval.jsonl")
    tasks = [json.loads(line) for line in HUMANEVAL.read_text().splitlines() if line]
    (folder / "eval.yaml").write_text(
        json.dumps({"metadata": {"id": "humaneval"}, "dataset": {"path": "HumanEval.jsonl", "format": "humaneval"}})
    )
    suite(folder, [{"$ref": "eval.yaml"}], samples=EACH)
    programs, lines = [], []
    (folder / "programs").mkdir()
    for n, task in enumerate(tasks):
        text = task["prompt"] + task["canonical_solution"] + "\n" + task["test"] + f"\ncheck({task['entry_point']})\n"
        path = folder / "programs" / f"{n}.py"
        path.write_text(text)
        for _ in range(EACH):
            programs.append(str(path))
            lines.append(json.dumps({"task_id": task["task_id"], "completion": task["canonical_solution"]}) + "\n")
    (folder / "outputs.jsonl").write_text("".join(lines))
    rounds = []
    for _ in range(ROUNDS):
        rounds.append(
            [
                ours(meter, folder),
                yardstick(meter, folder, BARE, programs),
                yardstick(meter, folder, PLAIN, programs, PYTHON, "-I", "-S"),
            ]
        )
    names = ["eval-harness run, journal and reports included", "bare fork of a warm Python", "plain `python3 -I -S`, two at a time"]
    table(f"HumanEval, canonical solutions, n = {EACH}", len(programs), names, rounds, (1, 2))


def calls(meter, folder):
    print(f"\n**Calls of a function** ({CALLS_ROUNDS} alternating runs: median, worst)\n")
    print("| workers | calls per program | programs | wall ms per program | wall / bare fork | CPU / bare fork | wall us per additional call |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for workers in (1, 2):
        rounds = {count: [] for count in CALLS}
        for _ in range(CALLS_ROUNDS):
            for count, programs in CALLS.items():
                rounds[count].append(calls_once(meter, folder, workers, count, programs))
        first = {n: run[0][0] / CALLS[1] for n, run in enumerate(rounds[1])}
        for count, programs in CALLS.items():
            walls = [ours[0] * 1000 / programs for ours, _ in rounds[count]]
            ratios = [ours[0] / bare[0] for ours, bare in rounds[count]]
            used = [ours[1] / bare[1] for ours, bare in rounds[count]]
            # Of one worker: several make their calls at the same time.
            more = [
                (ours[0] / programs - first[n]) * workers * 1e6 / (count - 1)
                for n, (ours, _) in enumerate(rounds[count])
                if count > 1
            ]
            cells = [spread(walls), spread(ratios), spread(used), spread(more, 1) if more else ""]
            print(f"| {workers} | {count} | {programs} | {' | '.join(cells)} |", flush=True)


def spread(figures, digits=2):
    return f"{statistics.median(figures):.{digits}f}, {max(figures):.{digits}f}"


def calls_once(meter, folder, workers, count, programs):
    """(wall, CPU) of our run and of the bare fork that runs the same calls as asserts."""
    cases = [{"args": [i, 10_000 * (i + 1)], "expected": 10_000 * (i + 1) + i} for i in range(count)]
    config = {"method": "function_output", "function_name": "add", "test_cases": cases}
    ids = [{"id": f"p{n}", "input": "x"} for n in range(programs)]
    evaluation = {"metadata": {"id": "bench-calls"}, "grader": {"type": "code", "config": config}, "test_cases": ids}
    (folder / "eval.yaml").write_text(json.dumps(evaluation))
    program = "def add(a, b):\n    return a + b\n"
    lines = [json.dumps({"case": case["id"], "output": program}) + "\n" for case in ids]
    (folder / "outputs.jsonl").write_text("".join(lines))
    suite(folder, [{"$ref": "eval.yaml"}], workers=workers)
    whole = program + "".join(f"assert add({i}, {10_000 * (i + 1)}) == {10_000 * (i + 1) + i}\n" for i in range(count))
    (folder / "program.py").write_text(whole)
    paths = [str(folder / "program.py")] * programs
    return ours(meter, folder), yardstick(meter, folder, BARE, paths, workers=workers)


def node(meter, folder):
    found = shutil.which("node")
    if not found:
        print("\nnode is not here: not measured")
        return
    found = os.path.realpath(found)
    config = {"method": "code_execution", "executor": "javascript", "stdio": [{"stdin": "", "stdout": "1"}]}
    ids = [{"id": f"p{n}", "input": "x"} for n in range(NODE_PROGRAMS)]
    evaluation = {"metadata": {"id": "bench-node"}, "grader": {"type": "code", "config": config}, "test_cases": ids}
    (folder / "eval.yaml").write_text(json.dumps(evaluation))
    lines = [json.dumps({"case": case["id"], "output": "console.log(1)"}) + "\n" for case in ids]
    (folder / "outputs.jsonl").write_text("".join(lines))
    suite(folder, [{"$ref": "eval.yaml"}])
    (folder / "program.js").write_text("console.log(1)\n")
    paths = [str(folder / "program.js")] * NODE_PROGRAMS
    rounds = [[ours(meter, folder), yardstick(meter, folder, PLAIN, paths, found)] for _ in range(ROUNDS)]
    names = ["eval-harness, `executor: javascript`", "plain `node`, two at a time"]
    table("Tiny node programs", NODE_PROGRAMS, names, rounds, (None, 1))


def main():
    meter = Meter()
    version = subprocess.check_output([BINARY, "--version"], text=True).strip()
    cores = len(os.sched_getaffinity(0))
    print(
        f"{version}, {platform.system()} {platform.release()}, {cores} cores, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}; {meter.how()}"
    )
    wanted = os.environ.get("ONLY", "humaneval,calls,node").split(",")
    try:
        for measure in (humaneval, calls, node):
            if measure.__name__ in wanted:
                with tempfile.TemporaryDirectory() as folder:
                    measure(meter, Path(folder))
        print(f"\ngrace periods that expired: {expired_graces}")
    finally:
        meter.close()


main()
