#!/usr/bin/env python3
"""Memory and CPU of eval-harness while many agents work at once: `load.py BINARY [AGENTS] [TURNS]`.

Runs AGENTS (64) stand-in agents, one sample each, all at once, in the sandbox. Each holds a conversation of TURNS (40)
turns that grows to about 200 KB, over streamed answers of a scripted model on 127.0.0.1, and prints what it does as Claude
Code does. Prints the largest memory of the harness's process (VmHWM) and its CPU (user and system) as a share of two
cores, apart from what the agents and the model use. RECORD=1 records the run.

An answer is PIECES (60) pieces with PAUSE (0.05) seconds between them, and the agent's tool takes TOOL (1) seconds: about
what real models and agents take.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIECES = int(os.environ.get("PIECES", "60"))
PAUSE = float(os.environ.get("PAUSE", "0.05"))
TOOL = float(os.environ.get("TOOL", "1"))
# Of a tool's result: 40 of them, and 30 KB of instructions and tools, are 200 KB.
RESULT_BYTES = int(os.environ.get("RESULT_BYTES", "4200"))

AGENT = r'''
import http.client, json, os, sys, time
base = os.environ["ANTHROPIC_BASE_URL"].split("//")[1]
host, path = base.split("/", 1)
prompt, turns, tool, size = sys.stdin.read(), int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
line = "    {} | the next line of a file that is not like any other: {}\n"
filler = "Follow the rules of the repository, and be brief about what you did. " * 220
tools = [{"name": f"Tool{n}", "description": filler[:1400], "input_schema": {"type": "object", "properties": {
    "command": {"type": "string"}}}} for n in range(10)]
system = [{"type": "text", "text": filler[:14000] + "Today is " + time.strftime("%Y-%m-%d"), "cache_control": {"type": "ephemeral"}}]
messages = [{"role": "user", "content": prompt}]
def show(**event):
    print(json.dumps(event), flush=True)
show(type="system", subtype="init", model="m", cwd=os.getcwd(), tools=["Bash"], session_id="1")
connection = http.client.HTTPConnection(host)
turn = 0
while True:
    body = {"model": "m", "max_tokens": 4096, "stream": True, "system": system, "tools": tools, "messages": messages,
            "metadata": {"user_id": "u"}}
    connection.request("POST", f"/{path}/v1/messages", json.dumps(body).encode(), {
        "x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json", "turns": str(turns)})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(answer.read().decode())
    text, usage = "", {}
    for data in answer:
        if data.startswith(b"data:"):
            event = json.loads(data[5:])
            text += event.get("delta", {}).get("text", "")
            usage.update(event.get("usage", {}))
    turn += 1
    content = [{"type": "text", "text": text}]
    if turn < turns:
        content.append({"type": "tool_use", "id": f"toolu_{turn:04}", "name": "Bash", "input": {"command": f"sed -n {turn}p file"}})
    show(type="assistant", session_id="1", message={"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "m",
         "content": content, "usage": {"input_tokens": 1000, "output_tokens": 100}})
    if turn == turns:
        break
    messages.append({"role": "assistant", "content": content})
    time.sleep(tool)
    printed = "".join(line.format(n, hash((turn, n))) for n in range(size // 80))
    result = [{"type": "tool_result", "tool_use_id": f"toolu_{turn:04}", "content": printed}]
    show(type="user", session_id="1", message={"role": "user", "content": result})
    messages.append({"role": "user", "content": result})
show(type="result", subtype="success", is_error=False, session_id="1", num_turns=turns, result=text)
'''

SUITE = """eval_suite:
  name: Load
  evals: [{{$ref: tasks.yaml}}]
  target:
    type: agent
    agent: command
    command: [{python}, agent.py, "{turns}", "{tool}", "{size}"]
    stream: claude-code
    model: "anthropic:m"
    base_url: "http://127.0.0.1:{port}/v1"
    api_key_env: LOAD_KEY
    limits: {{wall_seconds: 3000, turns: {turns}}}
"""

TASKS = """metadata: {id: load, name: Load}
config: {timeout_seconds: 3000}
test_cases:
  - id: one
    input: "Read the file line by line."
    graders:
      - type: code
        config: {method: trajectory, used: [Bash]}
"""


def events(calls, turn):
    """The pieces of an answer: the events of Messages."""
    message = {"type": "message", "role": "assistant", "model": "m", "content": [], "id": f"msg_{turn}",
               "usage": {"input_tokens": 1000, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for number in range(PIECES):
        delta = {"type": "text_delta", "text": f"word {turn} {number} of it "}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    if calls:
        call = {"type": "tool_use", "id": f"toolu_{turn + 1:04}", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": f"sed -n {turn + 1}p file"})}
        yield {"type": "content_block_start", "index": 1, "content_block": call}
        yield {"type": "content_block_delta", "index": 1, "delta": delta}
        yield {"type": "content_block_stop", "index": 1}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}, "usage": {"output_tokens": 100}}
    yield {"type": "message_stop"}


async def serve(reader, writer, turns, counts):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            body = await reader.readexactly(length)
            turn = body.count(b'"tool_result"')
            counts["turns"] += 1
            counts["longest"] = max(counts["longest"], length)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for event in events(turn + 1 < turns, turn):
                text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(text), text))
                if event["type"] == "content_block_delta":
                    await writer.drain()
                    await asyncio.sleep(PAUSE)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def cpu_of(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


async def measure(binary, agents, turns):
    counts = {"turns": 0, "longest": 0}
    server = await asyncio.start_server(lambda r, w: serve(r, w, turns, counts), "127.0.0.1", 0, limit=1 << 24, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        (work / "agent.py").write_text(AGENT)
        python = os.environ.get("PYTHON", "python3")
        (work / "eval-suite.yaml").write_text(
            SUITE.format(turns=turns, tool=TOOL, size=RESULT_BYTES, port=port, python=python))
        (work / "tasks.yaml").write_text(TASKS)
        argv = [binary, "run", "--suite", "eval-suite.yaml", "--samples", str(agents), "--jobs", str(agents), "--progress", "none",
                "--output-dir", str(work / "results")]
        if os.environ.get("RECORD"):
            argv += ["--record", str(work / "exchanges")]
        with open(work / "said", "w") as said:
            began = time.monotonic()
            harness = subprocess.Popen(argv, cwd=work, stdout=said, stderr=said, env=dict(os.environ, LOAD_KEY="sk-a-key-of-the-load-0123456789"))
            cpu = peak = 0.0
            trace = os.environ.get("TRACE")
            while harness.poll() is None:
                await asyncio.sleep(0.25)
                try:
                    cpu, peak = cpu_of(harness.pid), max(peak, memory_of(harness.pid, "VmHWM"))
                    if trace:
                        now = memory_of(harness.pid, "VmRSS")
                        print(f"{time.monotonic() - began:6.1f} s: {now:5.0f} MB, CPU {cpu:6.2f} s, {counts['turns']} turns", file=sys.stderr)
                except (OSError, IndexError):
                    pass
            wall = time.monotonic() - began
        if harness.returncode != 0 or counts["turns"] != agents * turns:
            sys.exit(f"exit code {harness.returncode}, {counts['turns']} turns\n" + (work / "said").read_text()[-3000:])
    print(f"{agents} agents at once, {turns} turns each, requests of up to {counts['longest'] // 1000} KB, {wall:.0f} s, "
          f"{counts['turns'] / wall:.1f} turns a second")
    print(f"memory of the harness: at most {peak:.0f} MB")
    print(f"CPU of the harness: {cpu:.1f} s, {100 * cpu / wall / 2:.1f} % of two cores, {1000 * cpu / counts['turns']:.1f} ms a turn")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:]] + [64, 40][len(sys.argv) - 2:]
    asyncio.run(measure(os.path.realpath(sys.argv[1]), *numbers))
