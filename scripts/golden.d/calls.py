"""Calls a binary and keeps what it writes: one file for each call, `JOB/VERB/NAME.FORMAT`, without what differs between two runs.

`stderr` is a format of its own, and the exit codes of a job are in `JOB/exit/codes.json`.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import namedtuple
from datetime import datetime, timezone
from pathlib import Path

Rule = namedtuple("Rule", "name pattern replacement reason")

# The bundled changelog tool prints both.
TOOL_RULES = (
    Rule("build", r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b", "UUID", "a random id of each call"),
    Rule("generated", r"DASHEDT\d\d:\d\d:\d\d(\.\d+)?\+00:00", "2026-03-04T05:06:07+00:00", "the tool's clock"),
)

# What a journal holds that no flag fixes. The rules change text and not JSON, so that every other byte stays.
JOURNAL_RULES = (
    *TOOL_RULES,
    Rule("moment", r'"(timestamp|finished_at)":"[^"]+"', r'"\1":"2026-03-04T05:06:07.000Z"', "the clock has no flag"),
    Rule("duration", r'"((?:duration|latency|throttled|backoff)_ms)":[-+.e\d]+', r'"\1":12.5', "wall time"),
    Rule("call", r'"(ms|slowest_ms)":[-+.e\d]+', r'"\1":0.5', "wall time of a call of graded code"),
    Rule("seconds", r'"duration_seconds":[-+.e\d]+', '"duration_seconds":1.5', "wall time"),
    Rule("graces", r'"expired_graces":\d+', '"expired_graces":0', "depends on the load of the machine"),
)

# What pages hold that are written while something runs. Pages that are made from a journal need none of these.
LIVE_RULES = (
    *TOOL_RULES,
    Rule("run id", r"eval-DAY-\d{6}(-\d+)?", "eval-RUN", "a run is named by the clock"),
    Rule("run file", r"results/DASHED/(run-\d{6})(-\d+)?", "results/run-RUN", "a run's files are named by the clock"),
    Rule("moment", r"DASHED[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z)?", "MOMENT", "the clock has no flag"),
    Rule("call", r'"(ms|slowest_ms)": ?[-+.e\d]+', r'"\1": 0.5', "wall time of a call of graded code"),
    Rule("varied", r"(themselves: build), generated_at", r"\1", "whether two calls of the tool fall into one second"),
    Rule("json latency", r'("latency_\w+_ms": ?)\{[^{}]*(\{[^{}]*\}[^{}]*)?\}', r"\1{}", "figures of wall times"),
    Rule("json time", r'"((?:\w*duration|latency|elapsed)\w*)": ?[-+.e\d]+', r'"\1": 1.5', "wall time"),
    Rule("junit time", r' time="[.\d]+"', ' time="1.5"', "wall time"),
    Rule("time", r" *(?<![-\w.])(<|< )?\d[\d,]*(\.\d+)? ?(ms|s)\b", " TIME", "wall time; the blanks before it align a column"),
    Rule("minutes", r" *\b\d+ min( \d+ s)?\b", " TIME", "wall time"),
)

# Parts of an HTML page that every page shares: each is kept once, in `assets/`.
ASSET = re.compile(r'(<style>|<script type="module">)(.{2000,}?)(</style>|</script>)', re.DOTALL)


def renewed(rules, text):
    """`text` under these rules, whose `DAY` and `DASHED` are today as `20260304` and `2026-03-04`."""
    now = datetime.now(timezone.utc)
    for rule in rules:
        pattern = rule.pattern.replace("DAY", f"{now:%Y%m%d}").replace("DASHED", f"{now:%Y-%m-%d}")
        text = re.sub(pattern, rule.replacement, text)
    return text


class Job:
    """A project in a temporary folder, and the calls that are made in it."""

    def __init__(self, binary, outputs, name):
        self.binary, self.outputs, self.name = binary, outputs, name
        # Always of the same length, since pages wrap paths.
        self.work = Path(tempfile.mkdtemp(prefix="golden-", dir="/tmp"))
        self.codes, self.frozen = {}, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write("exit/codes.json", json.dumps(self.codes, indent=1, sort_keys=True) + "\n")
        shutil.rmtree(self.work, ignore_errors=True)

    def write(self, name, text):
        path = self.outputs / self.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")

    def execute(self, arguments):
        """(exit code, stdout, stderr) of the binary."""
        environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        environment |= {"TZ": "UTC", "LC_ALL": "C.UTF-8", "EVAL_HARNESS_CACHE_DIR": str(self.work / "answers")}
        done = subprocess.run(
            [self.binary, *map(str, arguments)], cwd=self.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
        )
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def call(self, name, page_format, *arguments, live=False, show=True):
        """Calls the binary and keeps stdout as `name.page_format`. `live`: the page shows this run's clock. `show` false keeps
        only the exit code and stderr."""
        code, stdout, stderr = self.execute(arguments)
        self.codes[f"{name}.{page_format}"] = code
        if show:
            self.write(f"{name}.{page_format}", self.page(stdout, live))
        if stderr:
            self.write(f"{name}.{page_format}.stderr", self.page(stderr, live))

    def page(self, text, live=False):
        text = text.replace(str(self.work), "/project")
        if live:
            text = renewed(LIVE_RULES, text)
        return ASSET.sub(self.asset, text) if text.startswith("<!") else text

    def asset(self, match):
        kind = "css" if match[1] == "<style>" else "js"
        digest = f"{hashlib.sha256(match[2].encode()).hexdigest()[:16]}.{kind}"
        path = self.outputs / "assets" / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(match[2], encoding="utf-8", newline="")
        return f"{match[1]}[{kind}]{match[3]}"

    def freeze(self):
        """Gives the journals that the last call wrote fixed ids and times, and removes its reports. Returns the new ids."""
        results, ids = self.work / "results", []
        fresh = [path for path in results.glob("20*/*.journal.jsonl") if not path.parent.name.startswith("2026-03-04")]
        for path in sorted(fresh, key=lambda path: (path.parent.name, path.name.split(".")[0].count("-"), path.name)):
            stem = path.name.split(".")[0]
            old = f"eval-{path.parent.name.replace('-', '')}-{stem.removeprefix('run-')}"
            self.frozen += 1
            new = f"eval-20260304-05{self.frozen // 60:02}{self.frozen % 60:02}"
            to = results / "2026-03-04" / f"run-{new[14:]}.journal.jsonl"
            to.parent.mkdir(exist_ok=True)
            to.write_text(path.read_text(encoding="utf-8").replace(f'"run_id":"{old}"', f'"run_id":"{new}"'), encoding="utf-8")
            self.set_clock(to)
            if (apart := path.with_name(f"{stem}.outputs")).exists():
                apart.rename(to.with_name(f"run-{new[14:]}.outputs"))
            ids.append(new)
        for folder in {path.parent for path in fresh}:
            shutil.rmtree(folder)
        for report in (results / "2026-03-04").glob("*.*"):
            if report.name.endswith((".json", ".md", ".html", ".xml")):
                report.unlink()
        return ids

    def set_clock(self, journal):
        journal.write_text(renewed(JOURNAL_RULES, journal.read_text(encoding="utf-8")), encoding="utf-8")

    def journal(self, run):
        return self.work / "results/2026-03-04" / f"run-{run[14:]}.journal.jsonl"

    def keep_journal(self, name, run):
        """Keeps a frozen journal as it is."""
        self.write(f"{name}.jsonl", self.journal(run).read_text(encoding="utf-8").replace(str(self.work), "/project"))
