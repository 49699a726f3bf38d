"""Random runs as events, in families: runs of one suite that differ in what went well and in how the run ended.

An event is a dictionary of the shape that journals of version 2 have. `journal_text` writes events for the version that a
binary reads, so that the same runs serve later versions: add a function to `CONVERTERS`.
"""

import hashlib
import json
import random

# How a run of each family ends, in the order of its runs.
KINDS = (
    "whole", "whole", "whole", "worse", "interrupted", "resumed", "torn", "shard", "shard", "shard",
    "regraded", "pending", "errored", "filtered", "target", "changed",
)  # fmt: skip
FAMILIES = 14

CAUSES = {
    "failed": (
        "wrong_answer", "exception", "syntax_error", "timeout", "memory_limit", "output_limit", "crashed", "sandbox_violation",
        "exited", "forged", "no_code", "refused", "threshold",
    ),
    "errored": (
        "target_unreachable", "target_failed", "target_timeout", "missing_output", "judge_unreachable", "judge_unparseable",
        "executor_missing", "sandbox_unavailable", "no_baseline", "grader_timeout", "harness",
    ),
    "skipped": ("budget", "max_fail", "global_timeout", "interrupted"),
}  # fmt: skip
NO_ANSWER = ("target_unreachable", "target_failed", "target_timeout", "missing_output")
METHODS = (
    "exact_match", "contains", "regex", "numeric", "json", "structural_match", "function_output", "code_execution", "similarity",
    "command",
)  # fmt: skip
METRICS = ("lint_warnings", "edit_rate", "rouge_l", "style")
JUDGE_FAULTS = ("no_json", "cut", "refused", "wrong_token", "missing_score", "wrong_type", "off_scale", "missing_verdict")
# Texts that a page must escape, wrap or cut, among ordinary ones.
WORDS = (
    "release", "notes", "version", "2.4.1", "harbor", "deploy", "`code`", "<b>bold</b>", "a|b", "*star*", "& so on", "# heading",
    "naïve", "日本語", "🚀", "\"quoted\"", "it's", "[link](x)", "line\nbreak", "tab\tstop", "https://example.org/a?b=c", "x" * 90,
)  # fmt: skip


def words(dice, most):
    """A text of up to `most` words."""
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, most)))


def some(dice, share, value):
    """A dictionary's part that is there with a chance of `share`."""
    return value if dice.random() < share else {}


def stamp(day, second):
    """A moment of March 2026."""
    return f"2026-03-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{second * 37 % 1000:03}Z"


def hexes(dice, digits):
    return "".join(dice.choice("0123456789abcdef") for _ in range(digits))


def stored_content(head):
    """The content of an output that is stored beside the journal and begins with `head`."""
    return (head + "\n").encode() * 300


def usage(dice):
    return {"input_tokens": dice.randint(0, 4000), "output_tokens": dice.randint(0, 900)} | some(
        dice, 0.6, {"cost_usd": dice.randint(0, 999) / 8192}
    )


def model_call(dice, model):
    """How a model was called, over the network or from what was kept."""
    call = {"model": model, "source": dice.choice(("network", "network", "cache", "recording"))}
    if call["source"] != "network":
        return call | {"answered_at": stamp(dice.randint(1, 9), 0)}
    call["requests"] = dice.randint(1, 4)
    if call["requests"] > 1:
        call |= {"faults": {dice.choice(("429", "500", "timeout", "reset")): call["requests"] - 1}, "backoff_ms": 512.5}
    return call | some(dice, 0.2, {"throttled_ms": dice.randint(1, 9000) / 8}) | some(dice, 0.1, {"wasted": usage(dice)})


class Family:
    """A suite to be: its evals with their cases, and what every run says of itself."""

    def __init__(self, seed, number):
        self.seed = f"{seed} family {number}"
        self.dice = dice = random.Random(self.seed)
        self.number = number
        self.name = f"Family {number} {dice.choice(('desk', 'tools', '<suite>', 'ünïcode'))}"
        self.samples = dice.choice((1, 1, 2, 3, 5))
        self.models = dice.sample(("openai:gpt-x", "anthropic:claude-y", "local:z"), 2)
        self.live = dice.random() < 0.7
        # Every third suite is solved but for a few cases, so that gates pass.
        self.strong = number % 3 == 0
        self.evals = [self.eval(at) for at in range(dice.choice((1, 2, 3, 5, 8, 12)))]
        self.started = self.header()

    def eval(self, at):
        dice = self.dice
        regression = dice.random() < 0.35
        one = dice.random() < 0.3
        info = {
            "id": f"{'reg' if regression else 'cap'}-{at}-{dice.choice(('sort', 'notes', 'parse'))}",
            "name": words(dice, 4).replace("\n", " "),
            "type": "regression" if regression else "capability",
            "category": dice.choice((None, "writing", "code", "facts")),
            "tags": dice.sample(("fast", "slow", "a|b", "core"), dice.randint(0, 3)),
            "weight": dice.choice((0.0, 0.5, 1.0, 1.0, 2.0)),
            "difficulty": dice.choice((None, "easy", "medium", "hard")),
            "criticality": dice.choice(("low", "medium", "high", "critical")) if regression else None,
            "pass_rate_threshold": dice.choice((1.0, 1.0, 0.6, 0.5)),
            "score_threshold": dice.choice((None, None, 0.7)),
            "source": {"file": f"evals/{at}.yaml", "line": dice.randint(1, 99)},
        } | some(dice, 0.3, {"description": words(dice, 9)})
        count = 1 if one else dice.choice((2, 2, 3, 3, 5, 5, 9, 30 if at == 0 else 4))
        return {"info": info, "cases": [self.case(info["id"] if one else f"case-{n}") for n in range(count)]}

    def case(self, name):
        """A case: what is planned, which graders look at it (methods by type), and its chance to pass."""
        dice = self.dice
        graders = dice.choice((["code"], ["code"], ["code"], ["model"], ["code", "model"], ["human"], ["code", "code"]))
        kinds = ("prompt", "messages", "data", "api_call", "file")
        values = (words(dice, 12), [{"role": "user", "content": words(dice, 6)}], {"n": dice.randint(0, 9)})
        requests = {"method": "GET", "endpoint": "/v2/x", "headers": {"accept": "*/*"}, "body": None}
        kind = dice.choice(kinds)
        value = dict(zip(kinds, (*values, requests, words(dice, 30))))[kind]
        shown = {"type": kind, "value": value} | ({"path": "data/in.md"} if kind == "file" else {})
        planned = {
            "id": name,
            "samples": self.samples,
            "graders": sorted(set(graders)),
            "input_hash": hexes(dice, 32),
            "grading_hash": hexes(dice, 32),
            "data_hash": hexes(dice, 32),
        }
        planned |= some(dice, 0.4, {"name": words(dice, 5).replace("\n", " ")})
        planned |= some(dice, 0.3, {"tags": ["edge", "core"][: dice.randint(1, 2)]})
        planned |= some(dice, 0.8, {"input": shown})
        if len(graders) > 1:
            how = dice.choice(("any", {"weighted": {"pass_threshold": 0.5}}, {"at_least": {"n": 1}}))
            planned |= some(dice, 0.6, {"combine": {"how": how, "weights": [1.0, 0.5]}})
        methods = [dice.choice(METHODS) if kind == "code" else kind for kind in graders]
        return {"planned": planned, "graders": list(zip(graders, methods)), "chance": self.chance()}

    def chance(self):
        """The chance of a case's samples to pass."""
        if self.strong:
            return 1.0 if self.dice.random() < 0.97 else 0.7
        return self.dice.betavariate(1.6, 0.5)

    def header(self):
        """What `run_started` says in every run of the family."""
        dice = self.dice
        metrics = ("pass_at_1", "pass_rate", "score", "weighted_score", "case_pass_rate", "latency_p95_ms", "cost_usd", "edit_rate")
        thresholds = []
        for metric in dice.sample(metrics, dice.randint(0, 4)):
            low = metric not in ("latency_p95_ms", "cost_usd", "edit_rate")
            value = dice.choice((0.25, 0.5) if self.strong else (0.5, 0.75, 0.9)) if low else dice.choice((0.25, 800.0))
            on = dice.choice(("value", "value", "ci_lower" if low else "ci_upper"))
            thresholds.append({"metric": metric, "bound": "min" if low else "max", "value": value, "on": on})
        components = [
            {"metric": "pass_at_1", "weight": 0.75, "invert": False, "range": [0.0, 1.0]},
            {"metric": "edit_rate", "weight": 0.25, "invert": True, "range": [0.0, 2.0]},
        ]
        return {
            "harness_version": "0.1.0",
            "suite_name": self.name,
            "suite_version": dice.choice((None, "1.4.0")),
            "suite_description": dice.choice((None, words(dice, 8))),
            "suite_path": "eval-suite.yaml",
            "gate": {"thresholds": thresholds, "max_regressions": dice.choice((None, None, 1))}
            | some(dice, 0.2, {"require_all_evals": True}),
            "ks": sorted({1, dice.randint(1, self.samples)}),
            "seed": 7,
            "formats": ["json"],
            "include_details": dice.random() < 0.85,
            "filters": [],
            "target_hash": hexes(dice, 32),
            "score_metrics": ["rouge_l", "style"],
            "arguments": ["--suite", "eval-suite.yaml"],
            "cwd": "/project",
            "rules_recorded": True,
        } | some(dice, 0.4, {"composites": [{"name": "quality", "components": components}]}) | some(
            dice, 0.3, {"interval_scope": dice.choice(("these_cases", "similar_evals"))}
        )


class Run:
    """A run of a family. `kind` is one of `KINDS`; `part` counts the shards from 1."""

    def __init__(self, family, number, kind, part):
        self.family, self.kind, self.part = family, kind, part
        self.dice = random.Random(f"{family.seed} run {number}")
        # The shards of a run began in one minute, and its runs on days that follow each other.
        self.day, self.second = 1 + number // 3, 3600 * (number % 3 + 1) + number
        clock = stamp(self.day, self.second)
        self.file = f"2026-03-{self.day:02}/run-{clock[11:19].replace(':', '')}"
        self.id = f"eval-202603{self.day:02}-{clock[11:19].replace(':', '')}"
        # How much less likely samples are to pass than in other runs.
        self.drop = 0.0
        if kind == "worse" or not family.strong:
            chance = self.dice.choice((0.0, 0.0, 0.05, -0.05))
            self.drop = {"worse": 0.35, "changed": 0.1, "target": 0.15}.get(kind, chance)

    def header(self, clock, first_id):
        dice, family = random.Random(f"{self.family.seed} header"), self.family
        environment = {
            "target": "small" if self.kind == "target" else "main",
            "target_type": "model" if family.live else "recorded",
            "git": {"commit": hexes(random.Random(self.day), 40), "dirty": self.day % 3 == 0},
            "os": "linux",
            "arch": "x86_64",
            "cpus": 2,
            "interpreters": {"python": "3.11.7"},
        } | ({"model": family.models[0]} if family.live else {})
        tier = dice.choice(("userns", "rootns", "landlock", "none"))
        notes = {"notes": ["file reads are not limited"]} if tier in ("landlock", "none") else {}
        environment |= some(dice, 0.6, {"sandbox": {"tier": tier, "enforced": tier != "none"} | notes})
        head = {"journal_version": 2, "run_id": self.id, "timestamp": clock} | family.started | {"environment": environment}
        if not family.live:
            head["recordings"] = [{"path": "outputs.jsonl", "bytes": 4096, "sha256": hexes(dice, 32)}]
        if self.kind == "shard":
            head |= {"shard": {"index": self.part, "of": 3}, "whole_hash": hexes(dice, 32)}
        if self.kind == "regraded":
            head["regrade_of"] = first_id
        if self.kind == "filtered":
            head |= {"filters": ["tag core"], "arguments": ["--suite", "eval-suite.yaml", "--tag", "core"]}
        if self.kind == "target":
            head["arguments"] = ["--suite", "eval-suite.yaml", "--target", "small"]
            head["target_hash"] = hexes(self.dice, 32)
        return head

    def plan(self):
        """(eval's info, its cases) of this run: a shard's third, a filter's part, or cases that changed."""
        for eval in self.family.evals:
            cases = list(enumerate(eval["cases"]))
            if self.kind == "shard":
                cases = [(at, case) for at, case in cases if (at + len(eval["info"]["id"])) % 3 + 1 == self.part]
            if self.kind == "filtered" and "core" not in eval["info"]["tags"]:
                cases = [(at, case) for at, case in cases if "core" in case["planned"].get("tags", [])]
            if cases or self.kind != "filtered":
                yield eval["info"], [self.planned(at, case) for at, case in cases]

    def planned(self, at, case):
        planned = dict(case["planned"])
        if self.kind == "shard":
            planned["position"] = at
        if self.kind == "changed" and at % 3 == 0:
            planned[self.dice.choice(("input_hash", "grading_hash", "data_hash"))] = hexes(self.dice, 32)
        return case | {"planned": planned}

    def grade(self, kind, method, passed, outcome):
        """One grader's grade in a sample that ended so."""
        dice = self.dice
        grade = {"type": kind, "method": method}
        if kind == "human" and (self.kind == "pending" or outcome == "pending"):
            return grade | {"outcome": "pending", "reason": "graded by a person"}
        if outcome == "errored" and dice.random() < 0.5:
            return grade | {"outcome": "errored", "cause": dice.choice(CAUSES["errored"][4:]), "reason": words(dice, 6)}
        score = 1.0 if passed else dice.choice((0.0, 0.0, 0.25, 0.5))
        grade |= {"outcome": "passed" if passed else "failed", "score": score}
        if not passed:
            grade |= {"cause": dice.choice(CAUSES["failed"]), "reason": words(dice, 8)}
        grade |= some(dice, 0.4, {"expected": dice.choice((words(dice, 5), {"a": [1, 2.5, None]}, 42))})
        grade |= some(dice, 0.4, {"actual": dice.choice((words(dice, 5), {"a": [1, 3.5, None], "b": "x"}, "41"))})
        if method in ("function_output", "code_execution"):
            grade |= {"trust": dice.choice(("harness", "harness", "split", "in_process", "unsandboxed"))}
            grade |= some(dice, 0.1, {"adjudicated": True}) | {"details": {"passed": 3 if passed else 1, "total": 3}}
        grade |= some(dice, 0.3, {"metrics": {name: dice.choice((0.0, 0.25, 0.5, 1.0)) for name in sorted(dice.sample(METRICS, 2))}})
        grade |= some(dice, 0.05, {"unmeasured": ["style"]} if "style" not in grade.get("metrics", {}) else {})
        grade |= some(dice, 0.1, {"grader": "house style"}) | some(dice, 0.05, {"negated": True}) | some(dice, 0.05, {"informative": True})
        return grade | ({"judged": self.judged(passed, score)} if kind == "model" else {})

    def judged(self, passed, score):
        """A judge's verdict with its votes, repairs and calls."""
        dice = self.dice
        names = ("accuracy", "tone")
        points = {name: (5 if passed else 1 + round(4 * score)) for name in names}
        votes = []
        for at in range(dice.choice((1, 1, 3))):
            reply = {"text": json.dumps({"scores": points}), "finish": "stop"}
            faulty = {"text": words(dice, 4), "finish": "length", "fault": dice.choice(JUDGE_FAULTS), "why": words(dice, 3)}
            faulty["repair"] = "Answer with JSON."
            vote = {"model": self.family.models[1], "index": at, "outcome": "passed" if passed else "failed", "score": score}
            vote |= {"scores": points, "justification": words(dice, 8), "replies": [faulty, reply] if dice.random() < 0.15 else [reply]}
            if at == 2 and dice.random() < 0.3:
                vote = {"model": vote["model"], "index": at, "outcome": "errored", "cause": "judge_unparseable"}
                vote |= {"reason": words(dice, 3), "replies": [faulty | {"repair": ""}]}
            vote["calls"] = [
                {"call": model_call(dice, vote["model"]), "usage": usage(dice), "answered": True, "latency_ms": dice.randint(1, 9999) / 8}
                for _ in vote["replies"]
            ]
            votes.append(vote | some(dice, 0.4, {"said_passed": dice.random() < 0.8}))
        criteria = [
            {"name": name, "weight": 0.5, "score": points[name], "share": (points[name] - 1) / 4, "scale": [1.0, 5.0]} for name in names
        ]
        judged = {"criteria": criteria, "score": sum(points.values()) / 2, "scale": [1.0, 5.0], "pass_threshold": 0.7}
        judged |= {"justification": words(dice, 9), "feedback": [words(dice, 5)], "votes": votes}
        judged |= {"panel": "median of 3 votes"} if len(votes) > 1 else {}
        judged |= some(dice, 0.2, {"checks": [{"text": words(dice, 2), "wanted": True, "met": passed}]})
        judged |= some(dice, 0.1, {"cut": True, "notices": ["the output was cut"]}) | some(dice, 0.05, {"neutralised": True})
        return judged | {"asked": {"id": hexes(dice, 16), "system": "You are a judge.", "prompt": words(dice, 20)}}

    def attempt(self, case):
        dice, family = self.dice, self.family
        errored = dice.random() < (0.3 if self.kind == "errored" else 0.0 if family.strong else 0.03)
        pending = any(kind == "human" for kind, _ in case["graders"]) and (self.kind == "pending" or dice.random() < 0.02)
        outcome = "errored" if errored else "pending" if pending else "graded"
        passed = dice.random() < max(0.0, case["chance"] - self.drop)
        attempt, cause = {}, None
        if errored:
            cause = dice.choice(CAUSES["errored"])
        if cause not in NO_ANSWER:
            texts = ({"text": words(dice, 25)}, {"text": words(dice, 25)})
            value = dice.choice((*texts, {"json": {"a": [1, 2.50, "x"]}}, {"program": "def f(x):\n    return x\n"}))
            said = {} if not family.live else some(dice, 0.9, {"usage": usage(dice), "model": family.models[0].split(":")[1]})
            said |= some(dice, 0.1, {"finish": dice.choice(("stop", "length", "refused"))}) | some(dice, 0.05, {"thoughts": words(dice, 6)})
            said |= some(dice, 0.05, {"truncated": True})
            if dice.random() < 0.04:
                head = words(dice, 30)
                content = stored_content(head)
                digest = hashlib.sha256(content).hexdigest()
                attempt["stored"] = {"sha256": digest, "bytes": len(content), "kind": "text", "head": head} | said
            else:
                attempt["output"] = {"value": value} | said
            attempt |= some(dice, 0.1, {"extracted": words(dice, 3)})
        verdict = {"outcome": "passed" if passed else "failed", "score": 1.0 if passed else dice.choice((0.0, 0.25, 0.5))}
        if errored:
            verdict = {"outcome": "errored", "cause": cause, "reason": words(dice, 6)}
        elif pending:
            verdict = {"outcome": "pending", "reason": "graded by a person"}
        elif not passed:
            verdict |= {"cause": dice.choice(CAUSES["failed"]), "reason": words(dice, 9)}
        if cause not in NO_ANSWER:
            verdict["grades"] = [self.grade(kind, method, passed, outcome) for kind, method in case["graders"]]
        attempt["verdict"] = verdict
        attempt |= {"latency_ms": dice.randint(1, 30_000) / 8} if family.live and dice.random() < 0.9 else {}
        attempt["duration_ms"] = attempt.get("latency_ms", 0.0) + dice.randint(1, 900) / 8
        attempt |= some(dice, 0.05, {"infrastructure_retries": dice.randint(1, 3)}) | some(dice, 0.02, {"redacted": True})
        return attempt | ({"call": model_call(dice, family.models[0])} if family.live and dice.random() < 0.8 else {})

    def finished(self, eval_id, case, sample):
        attempts = [self.attempt(case)]
        while attempts[-1]["verdict"]["outcome"] == "failed" and len(attempts) < 3 and self.dice.random() < 0.1:
            attempts.append(self.attempt(case))
        event = {"eval": eval_id, "case": case["planned"]["id"], "sample": sample, "attempts": attempts}
        return {"sample_finished": event | {"finished_at": stamp(self.day, self.second + 1 + sample)}}

    def skipped(self, eval_id, case, sample, cause):
        return {"sample_skipped": {"eval": eval_id, "case": case["planned"]["id"], "sample": sample, "cause": cause}}

    def events(self, first_id):
        """All events of the run; `first_id` is the family's first run, which a regrade graded again."""
        head = self.header(stamp(self.day, self.second), first_id)
        plan = list(self.plan())
        planned = []
        for info, cases in plan:
            planned.append({"eval_planned": {"eval": info, "cases": len(cases)}})
            for at in range(0, len(cases), 8):
                chunk = [case["planned"] for case in cases[at : at + 8]]
                planned.append({"cases_planned": {"eval": info["id"], "cases": chunk}})
        samples = [(info["id"], case, n) for info, cases in plan for case in cases for n in range(case["planned"]["samples"])]
        self.dice.shuffle(samples)
        reached = len(samples) if self.kind not in ("interrupted", "resumed", "torn") else self.dice.randint(0, len(samples))
        done = [self.finished(*sample) for sample in samples[:reached]]
        rest = samples[reached:]
        end = {"timestamp": stamp(self.day, self.second + 60), "duration_seconds": self.dice.randint(8, 4000) / 8}
        end["interrupted"] = self.kind in ("interrupted", "resumed")
        events = [{"run_started": head}, *planned, *done]
        if self.kind in ("interrupted", "resumed"):
            cause = self.dice.choice(CAUSES["skipped"])
            events += [self.skipped(*sample, cause) for sample in rest]
        if self.kind == "errored":
            # A later word on a sample takes the place of an earlier one, and a skip is none.
            events += [self.finished(*sample) for sample in samples[:2]] + [self.skipped(*sample, "max_fail") for sample in samples[2:4]]
        if self.kind != "torn":
            events.append({"run_finished": end})
        if self.kind == "resumed":
            again = self.header(stamp(self.day, self.second + 90), first_id)
            events += [{"run_resumed": again}, *planned, *[self.finished(*sample) for sample in rest]]
            events.append({"run_finished": end | {"interrupted": False, "timestamp": stamp(self.day, self.second + 120)}})
        return events


def families(seed, count=FAMILIES):
    """(family, its runs with their events) for each family."""
    for number in range(count):
        family, runs, parts = Family(seed, number), [], 0
        for at, kind in enumerate(KINDS):
            parts += kind == "shard"
            runs.append(Run(family, at, kind, parts if kind == "shard" else 0))
        yield family, [(run, run.events(runs[0].id)) for run in runs]


def version_2(event):
    """The events are kept in this version's shape."""
    return event


IDENTITY = (
    "suite_name suite_version run_id timestamp harness_version environment filters shard regrade_of against".split()
)
CONFIG = (
    "suite_description gate composites score_metrics ks interval_scope seed formats include_details".split()
)


def version_3(event):
    """What identifies a run and how it is configured is nested; that rules are recorded goes without saying."""
    event = version_2(event)
    for kind in ("run_started", "run_resumed"):
        if kind in event:
            said = {name: value for name, value in event[kind].items() if name != "rules_recorded"}
            run = {name: said.pop(name) for name in IDENTITY if name in said}
            config = {name: said.pop(name) for name in CONFIG if name in said}
            return {kind: said | {"journal_version": 3, "run": run, "config": config}}
    return event


# How an event is written for a journal version; a later version's function builds on the one before it.
CONVERTERS = {2: version_2, 3: version_3}


def journal_text(events, version, torn):
    """The journal of these events for readers of `version`; a torn one ends within a line."""
    convert = CONVERTERS[version]
    lines = [json.dumps(convert(event), ensure_ascii=False, separators=(",", ":")) for event in events]
    lines[0] = lines[0].replace('"journal_version":2', f'"journal_version":{version}', 1)
    text = "\n".join(lines) + "\n"
    return text + lines[-1][: len(lines[-1]) // 2] if torn else text
