#!/usr/bin/env python3
"""A scripted model behind the APIs of four providers, for trials of coding agents without a key.

It calls the agent's shell tool with one command after the other, and then ends with a text.
`python3 model.py PORT [--log FILE] [--script FILE]` listens on 127.0.0.1 (port 0: a free one, which
it prints) and appends each request to the log as a JSON line. A script is a JSON list of tasks:
`{"if": TEXT OF THE PROMPT, "do": [COMMANDS], "end": TEXT, "repeat": true}`; the first that fits is
done, with `repeat` its commands for ever. `usage` adds fields to the usage of Anthropic's answers.
"""

import argparse
import http.server
import json

COMMAND = "echo 'hello from the agent' > hello.txt"
SCRIPT = [{"if": "", "do": [COMMAND], "end": "I wrote hello.txt."}]
# The first of these that an agent offers is called with the command.
SHELLS = ["Bash", "bash", "shell", "local_shell", "exec_command", "run_shell_command", "shell_command"]


def task_of(conversation):
    said = json.dumps(conversation)
    return next(task for task in SCRIPT if json.dumps(task["if"])[1:-1] in said)


def step_of(conversation, done):
    """The next command and the final text, after so many commands."""
    task = task_of(conversation)
    commands = task["do"]
    if commands and (task.get("repeat") or done < len(commands)):
        return commands[done % len(commands)], task["end"]
    return None, task["end"]


def arguments_for(command, schema):
    """Arguments of a shell tool after its schema."""
    properties = (schema or {}).get("properties", {})
    found = {}
    for key in ("command", "cmd"):
        if key in properties:
            is_list = properties[key].get("type") == "array"
            found[key] = ["bash", "-lc", command] if is_list else command
    if "description" in (schema or {}).get("required", []):
        found["description"] = "Next step"
    return found


def shell_of(tools, command):
    """The call of a shell tool, if there is a command and a tool; `tools`: (name, schema) pairs."""
    known = dict(tools)
    for name in SHELLS:
        if command and name in known:
            return name, arguments_for(command, known[name])
    return None


def anthropic(body):
    tools = [(tool["name"], tool.get("input_schema")) for tool in body.get("tools", [])]
    parts = [part for message in body["messages"] if isinstance(message["content"], list)
             for part in message["content"]]
    done = sum(part.get("type") == "tool_result" for part in parts)
    command, end = step_of(body["messages"], done)
    shell = shell_of(tools, command)
    usage = {"input_tokens": 1000, "output_tokens": 50,
             "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200,
             **task_of(body["messages"]).get("usage", {})}
    if shell:
        content = [{"type": "text", "text": "Next step."},
                   {"type": "tool_use", "id": f"toolu_{done + 1:02}", "name": shell[0], "input": shell[1]}]
    else:
        content = [{"type": "text", "text": end}]
    whole = {"id": f"msg_{done + 1:02}", "type": "message", "role": "assistant", "model": body.get("model"),
             "content": content, "stop_reason": "tool_use" if shell else "end_turn",
             "stop_sequence": None, "usage": usage}
    if not body.get("stream"):
        return whole, None
    start = dict(whole, content=[], stop_reason=None, usage=dict(usage, output_tokens=1))
    events = [("message_start", {"type": "message_start", "message": start})]
    for index, part in enumerate(content):
        if part["type"] == "text":
            empty, delta = dict(part, text=""), {"type": "text_delta", "text": part["text"]}
        else:
            empty = dict(part, input={})
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        events.append(("content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}))
        events.append(("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}))
        events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    events.append(("message_delta", {"type": "message_delta", "usage": {"output_tokens": 50},
                                     "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}}))
    events.append(("message_stop", {"type": "message_stop"}))
    return whole, events


def chat(body):
    tools = [(tool["function"]["name"], tool["function"].get("parameters")) for tool in body.get("tools", [])]
    done = sum(message["role"] == "tool" for message in body["messages"])
    command, text = step_of(body["messages"], done)
    submit = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    if not command and submit in json.dumps(body["messages"]):
        command = f"echo {submit}"
    shell = shell_of(tools, command)
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
             "prompt_tokens_details": {"cached_tokens": 200}}
    if not tools:
        # Aider reads the answer, in two formats: a whole file, or a change of one.
        change = "<<<<<<< SEARCH\n=======\nhello from the agent\n>>>>>>> REPLACE"
        written = change if "SEARCH/REPLACE" in json.dumps(body["messages"]) else "hello from the agent"
        text = f"hello.txt\n```\n{written}\n```\n"
    message = {"role": "assistant", "content": None if shell else text}
    if shell:
        message["tool_calls"] = [{"id": f"call_{done + 1:02}", "type": "function",
                                  "function": {"name": shell[0], "arguments": json.dumps(shell[1])}}]
    finish = "tool_calls" if shell else "stop"
    frame = {"id": "chatcmpl-01", "created": 1700000000, "model": body.get("model")}
    whole = dict(frame, object="chat.completion", usage=usage,
                 choices=[{"index": 0, "message": message, "finish_reason": finish}])
    if not body.get("stream"):
        return whole, None
    delta = dict(message)
    if shell:
        delta["tool_calls"] = [dict(call, index=0) for call in message["tool_calls"]]
    frame["object"] = "chat.completion.chunk"
    events = [(None, dict(frame, choices=[{"index": 0, "delta": delta, "finish_reason": None}])),
              (None, dict(frame, choices=[{"index": 0, "delta": {}, "finish_reason": finish}])),
              (None, dict(frame, choices=[], usage=usage)), (None, "[DONE]")]
    return whole, events


def responses(body):
    tools = [(tool.get("name", tool["type"]), tool.get("parameters")) for tool in body.get("tools", [])]
    items = body["input"] if isinstance(body["input"], list) else []
    done = sum(item.get("type", "").endswith("_output") for item in items)
    command, end = step_of(items, done)
    shell = shell_of(tools, command)
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 200},
             "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1050}
    if shell:
        item = {"type": "function_call", "id": f"fc_{done + 1:02}", "call_id": f"call_{done + 1:02}", "name": shell[0],
                "arguments": json.dumps(shell[1]), "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_01", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": end, "annotations": []}]}
    whole = {"id": "resp_01", "object": "response", "created_at": 1700000000, "status": "completed",
             "model": body.get("model"), "output": [item], "usage": usage, "error": None}
    if not body.get("stream"):
        return whole, None
    begun = dict(whole, status="in_progress", output=[], usage=None)
    events = [("response.created", {"response": begun}),
              ("response.output_item.added", {"output_index": 0, "item": dict(item, status="in_progress")})]
    if not shell:
        events.append(("response.output_text.delta",
                       {"output_index": 0, "content_index": 0, "item_id": "msg_01", "delta": end}))
    events.append(("response.output_item.done", {"output_index": 0, "item": item}))
    events.append(("response.completed", {"response": whole}))
    numbered = [(name, dict(data, type=name, sequence_number=at)) for at, (name, data) in enumerate(events)]
    return whole, numbered


def gemini(body, stream):
    tools = []
    for tool in body.get("tools", []):
        for declared in tool.get("functionDeclarations", []):
            tools.append((declared["name"], declared.get("parametersJsonSchema") or declared.get("parameters")))
    parts = [part for content in body["contents"] for part in content.get("parts", [])]
    done = sum("functionResponse" in part for part in parts)
    command, end = step_of(body["contents"], done)
    shell = shell_of(tools, command)
    part = {"functionCall": {"name": shell[0], "args": shell[1]}} if shell else {"text": end}
    wanted = body.get("generationConfig", {}).get("responseJsonSchema") or body.get("generationConfig", {}).get("responseSchema")
    if wanted:
        part = {"text": json.dumps({"reasoning": "short", "next_speaker": "user", "model_choice": "flash",
                                    "complexity_reasoning": "short", "complexity_score": 10})}
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050, "cachedContentTokenCount": 200}
    whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": usage, "modelVersion": "scripted", "responseId": "r-01"}
    return whole, [(None, whole)] if stream else None


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = "scripted"
        self.answer({"object": "list", "data": [{"id": name, "object": "model", "type": "model"}]}, None)

    def do_HEAD(self):
        self.answer({}, None)

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(text or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if ARGS.log:
            with open(ARGS.log, "a") as log:
                log.write(json.dumps({"path": self.path, "headers": dict(self.headers), "body": body}) + "\n")
        if path.endswith("/messages/count_tokens") or path.endswith(":countTokens"):
            self.answer({"input_tokens": 1000, "totalTokens": 1000}, None)
        elif path.endswith("/messages"):
            self.answer(*anthropic(body))
        elif path.endswith("/chat/completions"):
            self.answer(*chat(body))
        elif path.endswith("/responses"):
            self.answer(*responses(body))
        elif "enerateContent" in path:
            self.answer(*gemini(body, "streamGenerateContent" in path))
        else:
            self.answer({"error": {"message": f"unknown path {path}"}}, None, 404)

    def answer(self, whole, events, status=200):
        if events is None:
            data, kind = json.dumps(whole).encode(), "application/json"
        else:
            kind, text = "text/event-stream", ""
            for name, event in events:
                text += f"event: {name}\n" if name else ""
                text += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
            data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--log")
    parser.add_argument("--script")
    ARGS = parser.parse_args()
    if ARGS.script:
        with open(ARGS.script) as script:
            SCRIPT = json.load(script)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", ARGS.port), Model)
    print(server.server_address[1], flush=True)
    server.serve_forever()
