"""Sends what LibreChat sends for a chat with a file, and prints what its model reads."""

import json
import os
import sys
import urllib.request

URL = os.environ["LIBRECHAT_CODE_BASEURL"].rstrip("/")
KEY = os.environ.get("BRIG_API_KEY", "")
BOUNDARY = "librechat-example"


def ask(method, path, body=None, kind="application/json"):
    headers = {"Content-Type": kind, "User-Agent": "LibreChat/1.0"}
    if KEY:
        headers["X-API-Key"] = KEY
    request = urllib.request.Request(URL + path, data=body, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def upload(name, content):
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    answer = json.loads(ask("POST", "/upload", body, f"multipart/form-data; boundary={BOUNDARY}"))
    return {"id": answer["files"][0]["fileId"], "storage_session_id": answer["storage_session_id"], "name": name}


def execute(lang, code, files):
    return json.loads(ask("POST", "/exec", json.dumps({"lang": lang, "code": code, "files": files}).encode()))


def shown(answer):
    """What LibreChat makes of an answer: it reads no other field for its text."""
    text = f"stdout:\n{answer['stdout']}\n" if answer["stdout"] else "stdout: Empty.\n"
    return text + (f"stderr:\n{answer['stderr']}\n" if answer["stderr"] else "")


def main():
    sales = upload("sales.csv", b"city,sold\nBonn,40\nUlm,2\n")
    where = f"/sessions/{sales['storage_session_id']}/objects/{sales['id']}?kind=user&id=me"
    print("still kept:", "lastModified" in json.loads(ask("GET", where)))

    total = """
import csv
total = sum(int(row["sold"]) for row in csv.DictReader(open("/mnt/data/sales.csv")))
open("/mnt/data/total.txt", "w").write(str(total))
print("sold:", total)
"""
    answer = execute("py", total, [sales])
    print(shown(answer), end="")
    made = next(f for f in answer["files"] if f["name"] == "total.txt")
    print("total.txt:", ask("GET", f"/download/{made['storage_session_id']}/{made['id']}").decode())

    print(shown(execute("py", "import os; os._exit(3)", [])), end="")
    print(shown(execute("py", "print(1)", [dict(sales, id="gone")])), end="")
    for command in sys.argv[1:]:
        print(shown(execute("bash", command, [])), end="")


if __name__ == "__main__":
    main()
