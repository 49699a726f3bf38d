#!/bin/sh
# Runs the agents that are in PATH with a scripted model: records each and replays it without the
# model. Usage: [ISOLATION=workspace] scripts/agents/trial.sh PROGRAM-OF-EVAL-HARNESS [TARGET...]
set -u
here=$(cd "$(dirname "$0")" && pwd)
harness=$1
shift
[ $# -gt 0 ] || set -- claude-code codex gemini-cli opencode opencode-anthropic aider mini-swe-agent
work=$(mktemp -d)
cp "$here/cases.yaml" "$work"
sed "s/type: agent,/type: agent, isolation: ${ISOLATION:-sandbox},/" "$here/suite.yaml" > "$work/suite.yaml"
for target in "$@"; do
    python3 "$here/model.py" 0 > "$work/port" &
    model=$!
    while [ ! -s "$work/port" ]; do sleep 0.1; done
    export MODEL_URL="http://127.0.0.1:$(cat "$work/port")"
    run() {
        "$harness" run --suite "$work/suite.yaml" --target "$target" --output-dir "$work/results" "$@" \
            > "$work/said" 2>&1 && echo "$target $1: passed" || { echo "$target $1: exit code $?"; cat "$work/said"; }
    }
    run --record "$work/exchanges"
    kill "$model"
    run --replay "$work/exchanges"
    : > "$work/port"
done
rm -rf "$work"
