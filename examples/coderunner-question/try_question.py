"""Tries a question's answer, or a file, on the Jobe address of a service, with the requests that CodeRunner sends.

    python3 try_question.py http://127.0.0.1:4000 question.xml [ANSWER.py]

CodeRunner joins answer and test by the template of the question's type; this is the one of python3.
"""

import json
import os
import sys
import urllib.request
import xml.etree.ElementTree as xml


def ask(server, program, stdin, question):
    """One program, once: POST runs of Jobe's interface."""
    spec = {"language_id": "python3", "sourcecode": program, "sourcefilename": "__tester__.python3", "input": stdin,
            "parameters": {"cputime": int(question.findtext("cputimelimitsecs")), "memorylimit": int(question.findtext("memlimitmb"))}}
    headers = {"Content-Type": "application/json", "X-API-KEY": os.environ.get("BRIG_API_KEY", "")}
    request = urllib.request.Request(server + "/jobe/index.php/restapi/runs", json.dumps({"run_spec": spec}).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main(server, file, answer=None):
    question = xml.parse(file).getroot().find("question")
    if answer is None:
        code = question.findtext("answer")
    else:
        with open(answer) as f:
            code = f.read()
    passed = 0
    cases = question.findall("testcases/testcase")
    for n, case in enumerate(cases, 1):
        text = {name: case.findtext(name + "/text") or "" for name in ("testcode", "stdin", "expected")}
        result = ask(server, code + "\n" + text["testcode"] + "\n", text["stdin"], question)
        good = result["outcome"] == 15 and result["stdout"].rstrip() == text["expected"].rstrip()
        passed += good
        print(f"test {n}: outcome {result['outcome']}, {'passed' if good else 'failed'}")
    print(f"{passed} of {len(cases)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
