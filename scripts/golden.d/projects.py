"""What is kept and of what: the inputs of a corpus, and the calls that are made on each of them.

`write_inputs` copies and generates the inputs once; `jobs` lists what runs over them. A corpus keeps its inputs, so that a later
binary is run over the same files even when the repository's own have changed.
"""

import ast
import json
import re
import shutil
import subprocess

import events
import suites
from calls import Job

REPORTS = ("terminal", "json", "markdown", "html", "junit", "comment")
PAGES = ("human", "markdown", "html", "comment")
COMPARISONS = ("json", *PAGES)
# Of runs that other jobs render in every format.
SHORT = ("terminal", "json")
SHELLS = ("bash", "elvish", "fish", "powershell", "zsh")
VERBS = (
    "init", "new", "validate", "list", "run", "regrade", "report", "compare", "power", "history", "phase", "export", "baseline",
    "baseline capture", "baseline diff", "baseline review", "baseline accept", "baseline reject", "baseline list", "baseline prune",
    "cache", "cache stats", "cache prune", "cache clear", "schema", "doctor", "completions",
)  # fmt: skip
DRAWS = ("--resamples", "1000", "--seed", "3")
# As the binary under test takes runs: one sample after the other, so that journals have one order.
QUIET = ("-j", "1", "--progress", "none")


# A key that definitions begin with.
DEFINITION = re.compile(r"^(- id|eval_suite|metadata|phases?|eval_trigger|graders|thresholds):", re.MULTILINE)


# The inputs


def write_inputs(to, source, seed, families):
    """Writes the inputs of a corpus: projects of the repository at `source`, and random runs and suites of `seed`."""
    for folder in ("evals", "baselines"):
        shutil.copytree(source / folder, to / "bundled" / folder)
    shutil.copytree(source / "tests/fixtures/seeds", to / "seeds")
    for name, texts in definitions(source).items():
        for at, (origin, text) in enumerate(texts):
            path = to / "definitions" / name / f"{at:03}-{origin}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for family, runs in events.families(seed, families):
        folder = to / "families" / f"{family.number:02}"
        folder.mkdir(parents=True)
        for at, (run, run_events) in enumerate(runs):
            lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in run_events]
            (folder / f"{at:02}-{run.kind}.events.jsonl").write_text("".join(lines), encoding="utf-8")
    for number in range(suites.SUITES):
        folder = to / "suites" / f"{number:02}"
        folder.mkdir(parents=True)
        for name, text in suites.suite(seed, number).items():
            (folder / name).write_text(text, encoding="utf-8")


def definitions(source):
    """Definitions without a project: the YAML of the docs, broken files of the tests, and further ones that tests write."""
    docs, broken, tests = [], [], []
    for page in sorted((source / "docs").glob("*.md")):
        docs += [(page.stem, text) for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)]
    for file in sorted((source / "tests").rglob("*.rs")):
        text = file.read_text()
        if re.search(r"\bBroken \{", text):
            broken += [(file.stem, unescaped(written)) for written in re.findall(r'\btext: "((?:[^"\\]|\\.)*)"', text, re.DOTALL)]
            continue
        found = re.findall(r'\br(#+)"(.*?)"\1|"((?:[^"\\]|\\.)*)"', re.sub(r"//.*|'\"'", "", text), re.DOTALL)
        for _, raw, written in found:
            literal = raw or unescaped(written)
            if DEFINITION.search(literal) and "\n" in literal:
                tests.append((file.stem, literal))
    return {"docs": docs, "broken": broken, "tests": tests}


def unescaped(written):
    """A Rust text as it is meant; what is not understood stays as it is written."""
    joined = re.sub(r"\\\n\s*", "", written)
    joined = re.sub(r"\\u\{(\w+)\}", lambda match: f"\\U{int(match[1], 16):08x}", joined)
    try:
        return ast.literal_eval('"""' + joined.replace('"""', r"\"\"\"").removesuffix('"') + ('\\""""' if joined.endswith('"') else '"""'))
    except (SyntaxError, ValueError):
        return joined


# Calls that several jobs make


def reports(job, name, *runs, pages=REPORTS):
    """Every page that `report` makes of these runs."""
    chosen = [part for run in runs for part in ("--run", run)]
    for page in pages:
        job.call(f"report/{name}", page, "report", *chosen, "--format", page)
    if pages == REPORTS:
        job.call(f"report/{name}-verbose", "terminal", "report", *chosen, "--verbose")


def comparisons(job, name, *arguments, pages=COMPARISONS):
    """Every page that `compare` makes of these sides."""
    for page in pages:
        job.call(f"compare/{name}", page, "compare", *arguments, *DRAWS, "--format", page)


def plans(job, name, *arguments):
    """What can be said of a suite that does not run."""
    for page in ("human", "json", "github"):
        job.call(f"validate/{name}", page, "validate", *arguments, "--format", page)
    for page in ("human", "json"):
        job.call(f"list/{name}", page, "list", *arguments, "--format", page)
        job.call(f"power/{name}", page, "power", *arguments, "--format", page)
    job.call(f"list/{name}-verbose", "human", "list", *arguments, "--verbose")
    job.call(f"run/{name}-dry", "terminal", "run", *arguments, "--dry-run")


def histories(job, name, *arguments):
    """What `history` says of the runs of a job."""
    for page in ("human", "json"):
        job.call(f"history/{name}", page, "history", *arguments, "--format", page)
    if name == "suite":
        job.call(f"history/{name}-verbose", "human", "history", *arguments, "--verbose")


def commit(job):
    """Commits all files of the job, under a name that is the same on every machine."""
    who = ["-c", "user.name=Golden", "-c", "user.email=golden@example.org", "-c", "commit.gpgsign=false"]
    when = {"GIT_AUTHOR_DATE": "2026-03-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-03-01T00:00:00Z", "GIT_CONFIG_GLOBAL": "/dev/null"}
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "corpus"]):
        subprocess.run(["git", *arguments], cwd=job.work, env={"PATH": "/usr/local/bin:/usr/bin:/bin"} | when, check=True)


# The jobs


def family(job, inputs, version):
    """Pages of the journals of one family, alone and together."""
    (job.work / ".git").mkdir()
    files, runs = sorted(inputs.glob("*.events.jsonl")), {}
    for file in files:
        name = file.name.removesuffix(".events.jsonl")
        run_events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        run_id = run_events[0]["run_started"]["run_id"]
        path = job.work / "results" / f"{run_id[5:9]}-{run_id[9:11]}-{run_id[11:13]}" / f"run-{run_id[14:]}.journal.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(events.journal_text(run_events, version, name.endswith("torn")), encoding="utf-8")
        runs[name] = path.relative_to(job.work)
        folder = path.with_name(path.name.replace(".journal.jsonl", ".outputs"))
        attempts = [attempt for event in run_events for attempt in event.get("sample_finished", {}).get("attempts", [])]
        for stored in (attempt["stored"] for attempt in attempts if "stored" in attempt):
            folder.mkdir(exist_ok=True)
            (folder / stored["sha256"]).write_bytes(events.stored_content(stored["head"]))
        suite_name = run_events[0]["run_started"]["suite_name"]
    stub = {"eval_suite": {"name": suite_name, "target": {"type": "echo"}, "evals": [{"id": "cap-stub", "input": "x", "expected": "x"}]}}
    (job.work / "eval-suite.yaml").write_text(json.dumps(stub))
    for name, path in runs.items():
        reports(job, name, path)
        job.call(f"export/{name}", "jsonl", "export", "--run", path)
    first, second, worse = (runs[name] for name in ("00-whole", "01-whole", "03-worse"))
    shards = [path for name, path in runs.items() if name.endswith("shard")]
    changed, other = (next(path for name, path in runs.items() if name.endswith(kind)) for kind in ("changed", "target"))
    reports(job, "joined", *shards)
    reports(job, "side-by-side", first, other)
    job.call("report/colour", "terminal", "report", "--run", worse, "--color", "always")
    # A comparison draws at least 1,000 resamples: each pair has its data, and every other one a page of a format that changes.
    for at, (name, path) in enumerate(runs.items()):
        if path != first and path not in shards[1:]:
            page = PAGES[(at // 2 + int(inputs.name)) % len(PAGES)]
            comparisons(job, name, first, path, pages=("json", page) if at % 2 else ("json",))
    comparisons(job, "joined", first, "+".join(map(str, shards)), pages=("json", PAGES[int(inputs.name) % len(PAGES)]))
    comparisons(job, "changed-allowed", first, changed, "--allow-changed", pages=("json", "human"))
    comparisons(job, "several", first, second, changed, pages=("json", PAGES[int(inputs.name) % 3]))
    variants = {
        "groups": ("--by", "category", "--by", "tag"), "metrics": ("--metric", "score", "--metric", "pass@1"), "any": ("--fail-on", "any"),
        "critical": ("--fail-on", "critical"), "verbose": ("--verbose", "--effect", "0.02", "--color", "always"),
    }  # fmt: skip
    for name, arguments in variants.items():
        comparisons(job, f"worse-{name}", first, worse, *arguments, pages=("human",))
    comparisons(job, "previous", "previous", pages=("human",))
    histories(job, "suite")
    histories(job, "all", "--all-suites")
    parts = {"evals": ("--eval", "cap-*"), "last": ("--last", "3"), "since": ("--since", "2026-03-03"), "target": ("--target", "main")}
    for name, arguments in parts.items():
        histories(job, name, *arguments)
    job.call("export/failed", "jsonl", "export", "--run", first, "--outcome", "failed")


def damaged(job, inputs, version):
    """What is said of journals that can't be read."""
    file = min(inputs.glob("*.events.jsonl"))
    text = events.journal_text([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()], version, False)
    lines = text.splitlines(keepends=True)
    texts = {
        "empty": "", "headless": "".join(lines[1:]), "garbage": "".join([*lines[:5], "garbage\n", *lines[5:]]), "head": lines[0],
        "later": text.replace(f'"journal_version":{version}', '"journal_version":99', 1), "torn-head": lines[0][:99],
    }  # fmt: skip
    for name, text in texts.items():
        path = job.work / f"{name}.journal.jsonl"
        path.write_text(text, encoding="utf-8")
        for page in ("terminal", "json"):
            job.call(f"report/{name}", page, "report", "--run", path.name, "--format", page)
        comparisons(job, name, path.name, path.name, pages=("human",))
    job.call("report/missing", "terminal", "report", "--run", "none.journal.jsonl")


def random_suite(job, inputs, _):
    """Runs a random suite in every way: whole, on another target, side by side, cut off and resumed, in shards, graded again."""
    shutil.copytree(inputs, job.work, dirs_exist_ok=True)
    commit(job)
    plans(job, "suite")

    def run(name, *arguments):
        job.call(f"run/{name}", "terminal", "run", *arguments, *QUIET, live=True)
        return keep(name)

    def keep(name):
        ids = job.freeze()
        for at, run_id in enumerate(ids):
            job.keep_journal(f"journal/{name}-{at}", run_id)
        return ids

    whole = run("whole")[0]
    reports(job, "whole", whole)
    job.call("export/whole", "jsonl", "export", "--run", whole)
    job.call("export/completions", "jsonl", "export", "--run", whole, "--format", "completions")
    for page in ("human", "json"):
        job.call(f"power/run-{page}", page, "power", "--run", whole, "--format", page)
    compared = run("compared", "--target", "b", "--compare-to", whole, "--fail-on", "any")
    both = run("both", "--target", "a", "--target", "b")
    reports(job, "compared", *compared)
    reports(job, "both", *both)
    parts = [run(f"shard-{at}", "--shard", f"{at}/2")[0] for at in (1, 2)]
    reports(job, "joined", *parts)
    reports(job, "filtered", *run("filtered", "--tag", "core"), pages=SHORT)
    stopped = run("stopped", "--target", "b", "--max-fail", "1")[0]
    reports(job, "stopped", stopped, pages=SHORT)
    # As if the program was killed half-way.
    cut = job.journal(run("cut")[0])
    lines = cut.read_text(encoding="utf-8").splitlines(keepends=True)
    cut.write_text("".join(lines[: len(lines) * 2 // 3]) + '{"sample_fin', encoding="utf-8")
    reports(job, "cut", cut, pages=SHORT)
    for name, run_id in {"stopped": stopped, "cut": f"eval-20260304-{cut.name[4:10]}"}.items():
        job.call(f"run/{name}-resumed", "terminal", "run", "--resume", run_id, *QUIET, live=True)
        job.freeze()
        job.set_clock(job.journal(run_id))
        job.keep_journal(f"journal/{name}-resumed", run_id)
        reports(job, f"{name}-resumed", run_id, pages=SHORT)
    again = run("again", "--failed-in", whole)
    if again:
        reports(job, "again", *again, pages=SHORT)
    job.call("regrade/strict", "terminal", "regrade", "--run", whole, "--threshold", "pass@1=0.99", *QUIET, live=True)
    strict = keep("regraded")[0]
    reports(job, "regraded", strict, pages=SHORT)
    job.call("baseline/scores-capture", "terminal", "baseline", "capture", "--scores", "--run", both[0], live=True)
    for page in ("human", "json", "markdown"):
        job.call("baseline/scores-diff", page, "baseline", "diff", "--scores", "--format", page, live=True)
    job.call("baseline/scores-accept", "terminal", "baseline", "accept", "--scores", "--all", live=True)
    reports(job, "against-scores", *run("against-scores", "--target", "a", "--baseline", "--fail-on", "significant"))
    comparisons(job, "targets", *both, "--allow-changed")
    histories(job, "suite")
    job.call("run/events", "jsonl", "run", "--events", *QUIET, show=False)


def bundled(job, inputs, _):
    """The suites that come with the repository: plans, a run on each recording with all pages, and a regrade."""
    shutil.copytree(inputs, job.work, dirs_exist_ok=True)
    (job.work / ".gitignore").write_text("results/\nanswers/\n")
    commit(job)
    for name in ("eval-suite", "api-suite"):
        plans(job, name, "--suite", f"evals/{name}.yaml")
    job.call("run/capabilities", "terminal", "run", "--category", "capability", *QUIET, live=True)
    job.freeze()
    runs = []
    for recording in ("assistant", "assistant-next"):
        job.call(f"run/{recording}", "terminal", "run", "-q", "--var", f"assistant={recording}", *QUIET, live=True)
        runs += job.freeze()
        job.keep_journal(f"journal/{recording}", runs[-1])
        reports(job, recording, runs[-1])
    job.call("regrade/next", "terminal", "regrade", "-q", "--run", runs[1], *QUIET, live=True)
    reports(job, "regraded", *job.freeze())
    comparisons(job, "next", *runs)
    histories(job, "suite")
    job.call("baseline/list", "json", "baseline", "list", "--format", "json")
    for page in ("human", "json"):
        job.call("power/run", page, "power", "--run", runs[0], "--format", page)


def baselines(job, inputs, _):
    """The cycle of baselines of the repository's suite: captured with another recording, shown, and accepted."""
    shutil.copytree(inputs, job.work, dirs_exist_ok=True)
    (job.work / ".gitignore").write_text("results/\nanswers/\n")
    commit(job)
    job.call("baseline/capture", "terminal", "baseline", "capture", "--force", *QUIET, live=True)
    job.freeze()
    for page in ("human", "json", "markdown"):
        job.call("baseline/diff", page, "baseline", "diff", "--format", page, live=True)
    for verb in ("list", "prune", "accept", "list"):
        more = {"prune": ["--dry-run"], "accept": ["--all", "--force"]}.get(verb, [])
        job.call(f"baseline/{verb}-{len(job.codes)}", "human", "baseline", verb, *more, live=True)
    for file in sorted((job.work / "baselines").rglob("*.yaml")):
        job.write(f"baseline/{file.stem}.yaml", job.page(file.read_text(encoding="utf-8"), live=True))


def phases(job, inputs, _):
    """The plan and the trigger that come with the repository."""
    shutil.copytree(inputs, job.work, dirs_exist_ok=True)
    (job.work / ".gitignore").write_text("results/\nanswers/\n")
    commit(job)
    gates = {"plan": ("--plan", "evals/phases/plan.yaml"), "trigger": ("--trigger", "evals/phases/trigger.yaml", "--phase-id", "1")}
    for name, arguments in gates.items():
        job.call(f"phase/{name}-dry", "terminal", "phase", *arguments, "--dry-run")
        for page in ("terminal", "json", "markdown", "html"):
            files = ("--comment", "comment.md", "-o", "report.md")
            job.call(f"phase/{name}", page, "phase", *arguments, *files, *QUIET, "--format", page, live=True)
            job.freeze()
        job.write(f"phase/{name}.comment", job.page((job.work / "comment.md").read_text(encoding="utf-8"), live=True))


def seeds(job, inputs, _):
    """The seed documents: every shape of definition, without a target that could run."""
    shutil.copytree(inputs, job.work, dirs_exist_ok=True)
    commit(job)
    plans(job, "suite")
    for name, arguments in {"plan": ("--plan", "phase.yaml"), "trigger": ("--trigger", "trigger.yaml")}.items():
        job.call(f"phase/{name}-dry", "terminal", "phase", *arguments, "--dry-run")


def definition_files(job, inputs, _):
    """Each file checked on its own, and listed when it is a suite."""
    (job.work / ".git").mkdir()
    for file in sorted(inputs.glob("*.yaml")):
        shutil.copy(file, job.work)
        for page in ("human", "json"):
            job.call(f"validate/{file.stem}", page, "validate", file.name, "--format", page)
        if file.read_text(encoding="utf-8").startswith("eval_suite:"):
            job.call(f"list/{file.stem}", "json", "list", "--suite", file.name, "--format", "json")
    job.call("validate/all", "human", "validate", *sorted(file.name for file in inputs.glob("*.yaml")))


def program(job, _inputs, _version):
    """What needs no project: help, schemas, completions, an empty cache, and what `init` and `new` write."""
    job.call("help/program", "terminal", "--help")
    for verb in VERBS:
        job.call(f"help/{verb.replace(' ', '-')}", "terminal", *verb.split(), "--help")
    for shell in SHELLS:
        job.call(f"completions/{shell}", "terminal", "completions", shell)
    job.call("schema/write", "terminal", "schema", "--output", "schemas")
    for page in ("human", "json"):
        job.call("cache/stats", page, "cache", "stats", "--format", page)
    job.call("cache/clear", "human", "cache", "clear", "--yes")
    job.call("init/suite", "terminal", "init", "project")
    job.call("init/skill", "terminal", "init", "project", "--skill")
    job.call("new/capability", "terminal", "new", "capability", "cap-new", "-o", "project/evals/new.yaml")
    job.call("new/regression", "terminal", "new", "regression", "reg-new", "-o", "project/evals/new-regression.yaml")
    for file in sorted([*job.work.glob("project/**/*"), *job.work.glob("schemas/*")]):
        if file.is_file():
            name = str(file.relative_to(job.work)).replace("/", "-")
            job.write(f"{'schema' if file.parts[-2] == 'schemas' else 'init'}/{name}", file.read_text(encoding="utf-8"))
    (job.work / "project/.git").mkdir()
    plans(job, "scaffold", "--suite", "project/evals/eval-suite.yaml")


def jobs(inputs):
    """(name, function, its inputs), the longest first."""
    made = [("bundled", bundled, inputs / "bundled"), ("phases", phases, inputs / "bundled")]
    made += [(f"family-{folder.name}", family, folder) for folder in sorted((inputs / "families").iterdir())]
    made += [(f"suite-{folder.name}", random_suite, folder) for folder in sorted((inputs / "suites").iterdir())]
    made += [(f"definitions-{folder.name}", definition_files, folder) for folder in sorted((inputs / "definitions").iterdir())]
    made += [("baselines", baselines, inputs / "bundled"), ("seeds", seeds, inputs / "seeds"), ("program", program, inputs)]
    return made + [("damaged", damaged, inputs / "families/00")]


def run_job(binary, outputs, version, name, function, inputs):
    """Runs one job and keeps what it writes below `outputs`."""
    with Job(binary, outputs, name) as job:
        function(job, inputs, version)
    return name
