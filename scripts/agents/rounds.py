#!/usr/bin/env python3
"""Records and replays a stand-in agent often, and compares what is left: `rounds.py BINARY [SAMPLES] [JOBS]`.

Runs `evals/agents` with SAMPLES (100) samples of each case and JOBS (8) at once, with the scripted model of `model.py`:
once recorded, then replayed without the model. Prints how many samples have another diff, verdict or trajectory in the
replay, and the first of them. MODEL selects the API (`anthropic:m`, or `openai:m`).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# More than the bundled script does: what varies between two runs is in the agent's requests.
VARYING = [
    "date; date +%s; mktemp; echo $$ pid $$; uptime -p; ls -l --time-style=full-iso slug.py",
    "git init -q . && git -c user.name=a -c user.email=a@b add slug.py && git -c user.name=a -c user.email=a@b commit -qm one "
    "&& git log --oneline && git log -1 && git log -1 --format=%cr; rm -rf .git",
    "python3 -c 'import uuid, tempfile, time; print(object(), uuid.uuid4(), tempfile.mkdtemp(), time.time(), time.ctime())'",
    "stat slug.py; bash -c 'time true'; pwd; echo $HOME",
]


def samples(folder):
    """Outcome, cause, diff and calls of each sample of the only run in a folder."""
    (journal,) = folder.glob("**/*.journal.jsonl")
    found = {}
    for line in journal.read_text().splitlines():
        event = json.loads(line).get("sample_finished")
        if event:
            attempt = event["attempts"][-1]
            output = attempt.get("output") or {}
            trajectory = output.get("trajectory") or {}
            found[event["case"], event["sample"]] = {
                "outcome": attempt["verdict"]["outcome"],
                "cause": attempt["verdict"].get("cause"),
                "diff": ((output.get("workspace") or {}).get("diff") or {}).get("text"),
                "calls": trajectory.get("tool_calls"),
                "incomplete": trajectory.get("incomplete"),
                "reason": attempt["verdict"].get("reason"),
            }
    return found


def main():
    binary = os.path.realpath(sys.argv[1])
    count = sys.argv[2] if len(sys.argv) > 2 else "100"
    jobs = sys.argv[3] if len(sys.argv) > 3 else "8"
    model = os.environ.get("MODEL", "anthropic:m")
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        shutil.copytree(ROOT / "evals" / "agents", work / "agents")
        shutil.copytree(ROOT / "evals" / "workspaces" / "python", work / "agents" / "python")
        script = json.loads((HERE / "slugs.json").read_text())
        for task in script:
            task["do"] = VARYING + task["do"]
        (work / "script.json").write_text(json.dumps(script))
        server = subprocess.Popen([sys.executable, str(HERE / "model.py"), "0", "--script", str(work / "script.json")],
                                  stdout=subprocess.PIPE, text=True)
        port = server.stdout.readline().strip()
        suite = (work / "agents" / "eval-suite.yaml").read_text()
        suite = suite.replace('model: "anthropic:claude-sonnet-4-5"', f'model: "{model}"\n    base_url: "http://127.0.0.1:{port}/v1"')
        suite = suite.replace("    replay: recordings\n", "").replace("../workspaces/python", "python").replace("turns: 10", "turns: 20")
        (work / "agents" / "eval-suite.yaml").write_text(suite)

        def run(name, *more):
            done = subprocess.run(
                [binary, "run", "--suite", "eval-suite.yaml", "--samples", count, "--jobs", jobs, "--progress", "none",
                 "--output-dir", str(work / name), *more], cwd=work / "agents", capture_output=True, text=True,
                env=dict(os.environ, ANTHROPIC_API_KEY="sk-key-of-no-one-012345", OPENAI_API_KEY="sk-key-of-no-one-012345"))
            if not list((work / name).glob("**/*.journal.jsonl")):
                sys.exit(done.stdout + done.stderr)
            return samples(work / name)

        recorded = run("recorded", "--record", str(work / "exchanges"))
        server.kill()
        replayed = run("replayed", "--replay", str(work / "exchanges"))
        different = [key for key in recorded if recorded[key] != replayed.get(key)]
        errored = sum(one["outcome"] == "errored" for one in recorded.values())
        share = 100 * (1 - len(different) / max(len(recorded), 1))
        print(f"{model}: {len(recorded)} samples recorded ({errored} errored), {len(different)} different in the replay: {share:.1f} % equal")
        for key in different[:3]:
            print(key, json.dumps(recorded[key])[:600], json.dumps(replayed.get(key))[:600], sep="\n  ")
        sys.exit(1 if share < 99 or errored else 0)


main()
