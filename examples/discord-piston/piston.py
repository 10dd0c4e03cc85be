"""What a bot does with a message that has a block of code: standard library only."""

import json
import os
import re
import urllib.error
import urllib.request

_BLOCK = re.compile(r"```(\w+)[ \t]*\n(.*?)```(?:\s*```\n?(.*?)```)?", re.DOTALL)


def read(message):
    """Language, code and input of a message: its first block with a language, and the block after it; None: there is none."""
    found = _BLOCK.search(message)
    return found and (found[1], found[2], found[3] or "")


def execute(server, language, code, stdin=""):
    """Has a Piston address run a program, and returns its answer: its fields, or message alone."""
    body = {"language": language, "version": "*", "files": [{"content": code}], "stdin": stdin}
    headers = {"Content-Type": "application/json"}
    if os.environ.get("BRIG_API_KEY"):
        headers["Authorization"] = os.environ["BRIG_API_KEY"]
    request = urllib.request.Request(server + "/api/v2/execute", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=90) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        return json.load(e)


def reply(answer, room=1900):
    """The text of a reply, which Discord bounds to 2,000 characters; what a program printed cannot end the block."""
    if "run" not in answer:
        return "Not run: " + answer.get("message", "no reason was given")
    compiled = answer.get("compile") or {}
    stage = compiled if compiled.get("code") not in (None, 0) else answer["run"]
    output = stage["output"].replace("```", "`\u200b`\u200b`")
    if len(output) > room:
        output = output[:room] + "\n(cut)"
    status = stage.get("message") or (f"exit code {stage['code']}" if stage["code"] else "")
    return (f"```\n{output}\n```" if output.strip() else "No output.") + (f"\n{status}" if status else "")
