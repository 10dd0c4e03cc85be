"""Runs the test programs of Piston's packages at a URL: each must print OK and nothing else, with a name and
without."""

import json
import pathlib
import sys
import urllib.error
import urllib.request

url, packages = sys.argv[1], pathlib.Path(sys.argv[2])
# Programs of these packages are for another program than the language of their extension.
ELSEWHERE = {"dash", "deno"}


def languages():
    """Which versions there are of each language, by its names."""
    there = {}
    for runtime in json.load(urllib.request.urlopen(url + "/runtimes")):
        for name in [runtime["language"], *runtime["aliases"]]:
            there.setdefault(name, []).append(runtime["version"])
    return there


def execute(language, version, file):
    body = {"language": language, "version": version, "files": [file], "run_timeout": 25000, "compile_timeout": 25000}
    ask = urllib.request.Request(url + "/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(ask))
    except urllib.error.HTTPError as e:
        return {"status": e.code, "body": e.read().decode()}


there = languages()
passed, failed, elsewhere = [], [], []
for path in sorted(packages.glob("*/*/test.*")):
    package, release = path.parts[-3], path.parts[-2]
    language, version = path.name.split(".")[1], "*"
    if package == "mono":
        version = "<9"
    if package in ELSEWHERE or package == "python" and release[0] == "2" or language not in there:
        elsewhere.append(f"{package}-{release}")
        continue
    if package == "mono" and not any(v.startswith("6.") for v in there[language]):
        elsewhere.append(f"{package}-{release}")
        continue
    try:
        source = path.read_text()
    except UnicodeDecodeError:  # the package file has a program of its own format
        elsewhere.append(f"{package}-{release}")
        continue

    files = {"content": source}, {"content": source, "name": path.name}
    answers = [execute(language, version, file) for file in files]
    wrong = [a for a in answers if a.get("run", {}).get("stdout") not in ("OK", "OK\n") or a["run"]["code"] != 0]
    (failed if wrong else passed).append(f"{package}-{release}")
    for answer in wrong:
        print("FAILED", package, release, json.dumps(answer)[:600])

print("passed:", *passed)
print("of languages that are not here:", *elsewhere)
print(len(passed), len(passed) + len(failed))
