#!/usr/bin/env python3
"""A scripted model behind the APIs of four providers, for trials of coding agents without a key.

It asks for one command of the agent's shell tool, and then ends with a text. `python3 model.py PORT
[LOG]` listens on 127.0.0.1 and appends each request to LOG as a JSON line.
"""

import http.server
import json
import sys

COMMAND = "echo 'hello from the agent' > hello.txt"
END = "I wrote hello.txt."
# The first of these that an agent offers is called with the command.
SHELLS = ["Bash", "bash", "shell", "local_shell", "exec_command", "run_shell_command", "shell_command"]


def arguments_for(name, schema):
    """Arguments of a shell tool after its schema."""
    properties = (schema or {}).get("properties", {})
    found = {}
    for key in ("command", "cmd"):
        if key in properties:
            is_list = properties[key].get("type") == "array"
            found[key] = ["bash", "-lc", COMMAND] if is_list else COMMAND
    if "description" in (schema or {}).get("required", []):
        found["description"] = "Write hello.txt"
    return found


def shell_of(tools):
    """`tools`: (name, schema) pairs."""
    known = dict(tools)
    for name in SHELLS:
        if name in known:
            return name, arguments_for(name, known[name])
    return None


def anthropic(body):
    tools = [(tool["name"], tool.get("input_schema")) for tool in body.get("tools", [])]
    called = any(
        isinstance(message["content"], list)
        and any(part.get("type") == "tool_result" for part in message["content"])
        for message in body["messages"]
    )
    shell = None if called else shell_of(tools)
    usage = {"input_tokens": 1000, "output_tokens": 50,
             "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200}
    if shell:
        content = [{"type": "text", "text": "I will write the file."},
                   {"type": "tool_use", "id": "toolu_01", "name": shell[0], "input": shell[1]}]
    else:
        content = [{"type": "text", "text": END}]
    whole = {"id": "msg_01", "type": "message", "role": "assistant", "model": body.get("model"),
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
    called = any(message["role"] == "tool" for message in body["messages"])
    shell = None if called else shell_of(tools)
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
             "prompt_tokens_details": {"cached_tokens": 200}}
    text = END
    if not tools:
        # Agents without tools read the answer: aider's whole-file format, mini-swe-agent's blocks.
        said = json.dumps(body["messages"])
        answered = sum(message["role"] == "assistant" for message in body["messages"])
        if "swe_bash" in said or "mswea" in said or "COMPLETE_TASK_AND_SUBMIT" in said:
            done = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
            block = "mswea_bash_command" if "mswea_bash_command" in said else "bash"
            text = f"THOUGHT: I write the file.\n\n```{block}\n{done if answered else COMMAND}\n```"
        else:
            # Both of aider's formats: a whole file, and a change of one.
            change = "<<<<<<< SEARCH\n=======\nhello from the agent\n>>>>>>> REPLACE"
            written = change if "SEARCH/REPLACE" in said else "hello from the agent"
            text = f"hello.txt\n```\n{written}\n```\n"
    message = {"role": "assistant", "content": None if shell else text}
    if called and "COMPLETE_TASK_AND_SUBMIT" in json.dumps(body["messages"]):
        results = sum(message["role"] == "tool" for message in body["messages"])
        shell = shell_of(tools) if results == 1 else None
        if shell:
            shell = (shell[0], {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})
            message["content"] = None
    if shell:
        message["tool_calls"] = [{"id": "call_01", "type": "function",
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
    called = any(item.get("type", "").endswith("_output") for item in items)
    shell = None if called else shell_of(tools)
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 200},
             "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1050}
    if shell:
        item = {"type": "function_call", "id": "fc_01", "call_id": "call_01", "name": shell[0],
                "arguments": json.dumps(shell[1]), "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_01", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": END, "annotations": []}]}
    whole = {"id": "resp_01", "object": "response", "created_at": 1700000000, "status": "completed",
             "model": body.get("model"), "output": [item], "usage": usage, "error": None}
    if not body.get("stream"):
        return whole, None
    begun = dict(whole, status="in_progress", output=[], usage=None)
    events = [("response.created", {"response": begun}),
              ("response.output_item.added", {"output_index": 0, "item": dict(item, status="in_progress")})]
    if not shell:
        events.append(("response.output_text.delta",
                       {"output_index": 0, "content_index": 0, "item_id": "msg_01", "delta": END}))
    events.append(("response.output_item.done", {"output_index": 0, "item": item}))
    events.append(("response.completed", {"response": whole}))
    numbered = [(name, dict(data, type=name, sequence_number=at)) for at, (name, data) in enumerate(events)]
    return whole, numbered


def gemini(body, stream):
    tools = []
    for tool in body.get("tools", []):
        for declared in tool.get("functionDeclarations", []):
            tools.append((declared["name"], declared.get("parametersJsonSchema") or declared.get("parameters")))
    called = any("functionResponse" in part for content in body["contents"] for part in content.get("parts", []))
    shell = None if called else shell_of(tools)
    part = {"functionCall": {"name": shell[0], "args": shell[1]}} if shell else {"text": END}
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
        if len(sys.argv) > 2:
            with open(sys.argv[2], "a") as log:
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
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
