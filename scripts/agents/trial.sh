#!/bin/sh
# Runs the agents that are in PATH with a scripted model, in the sandbox: records each and replays it
# without the model. Usage: scripts/agents/trial.sh PROGRAM-OF-EVAL-HARNESS [TARGET...]
set -u
here=$(cd "$(dirname "$0")" && pwd)
harness=$1
shift
[ $# -gt 0 ] || set -- claude-code codex gemini-cli opencode opencode-anthropic aider mini-swe-agent
work=$(mktemp -d)
for target in "$@"; do
    python3 "$here/model.py" 0 > "$work/port" &
    model=$!
    while [ ! -s "$work/port" ]; do sleep 0.1; done
    export MODEL_URL="http://127.0.0.1:$(cat "$work/port")"
    run() {
        "$harness" run --suite "$here/suite.yaml" --target "$target" --output-dir "$work/results" "$@" \
            > "$work/said" 2>&1 && echo "$target $1: passed" || { echo "$target $1: exit code $?"; cat "$work/said"; }
    }
    run --record "$work/exchanges"
    kill "$model"
    run --replay "$work/exchanges"
    : > "$work/port"
done
rm -rf "$work"
