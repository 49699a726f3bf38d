"""A small coding agent: one tool, `Bash`, over Anthropic's Messages or OpenAI's Chat Completions.

It reads the prompt from stdin, calls the model at ANTHROPIC_BASE_URL or OPENAI_BASE_URL until it
requests no further command, and prints what happens as JSON lines, as Claude Code does with
`--output-format stream-json`.
"""

import json
import os
import subprocess
import sys
import urllib.request

SYSTEM = "You are a coding agent. Work in the current folder with the tool Bash. Be brief."
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
ABOUT = "Runs a shell command and returns what it prints."


def post(url, headers, body):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Anthropic:
    """The conversation in the form of Messages."""

    def __init__(self, model, prompt):
        self.url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        self.headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
        tool = {"name": "Bash", "description": ABOUT, "input_schema": SCHEMA}
        self.body = {"model": model, "max_tokens": 4096, "system": SYSTEM, "tools": [tool],
                     "messages": [{"role": "user", "content": prompt}]}

    def ask(self):
        answer = post(self.url, self.headers, self.body)
        self.body["messages"].append({"role": "assistant", "content": answer["content"]})
        return answer["content"], answer["usage"]

    def tell(self, results):
        self.body["messages"].append({"role": "user", "content": results})


class OpenAI:
    """The same in the form of Chat Completions."""

    def __init__(self, model, prompt):
        self.url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        self.headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
        tool = {"type": "function", "function": {"name": "Bash", "description": ABOUT, "parameters": SCHEMA}}
        self.body = {"model": model, "tools": [tool], "messages": [
            {"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]}

    def ask(self):
        answer = post(self.url, self.headers, self.body)
        message, usage = answer["choices"][0]["message"], answer["usage"]
        self.body["messages"].append(message)
        content = [{"type": "text", "text": message["content"]}] if message.get("content") else []
        for call in message.get("tool_calls") or []:
            content.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                            "input": json.loads(call["function"]["arguments"])})
        return content, {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}

    def tell(self, results):
        for result in results:
            self.body["messages"].append({"role": "tool", "tool_call_id": result["tool_use_id"],
                                          "content": result["content"]})


def show(**event):
    print(json.dumps(event), flush=True)


def run(command):
    """A command's exit code and what it prints, both streams together."""
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def main():
    model, prompt = os.environ["AGENT_MODEL"], sys.stdin.read()
    chat = (Anthropic if "ANTHROPIC_BASE_URL" in os.environ else OpenAI)(model, prompt)
    show(type="system", subtype="init", model=model, cwd=os.getcwd(), tools=["Bash"], session_id="1")
    turns = 0
    while True:
        content, usage = chat.ask()
        turns += 1
        show(type="assistant", session_id="1", message={
            "id": f"msg_{turns}", "type": "message", "role": "assistant", "model": model,
            "content": content, "usage": usage})
        calls = [part for part in content if part["type"] == "tool_use"]
        if not calls:
            break
        results = []
        for call in calls:
            code, printed = run(call["input"]["command"])
            results.append({"type": "tool_result", "tool_use_id": call["id"],
                            "content": printed, "is_error": code != 0})
        show(type="user", session_id="1", message={"role": "user", "content": results})
        chat.tell(results)
    text = "".join(part["text"] for part in content if part["type"] == "text")
    show(type="result", subtype="success", is_error=False, session_id="1", num_turns=turns, result=text)


main()
