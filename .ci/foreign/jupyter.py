"""Jupyter clients at brig's dialect: jupyter_server as a client of a gateway, through which a program executes code as
Open WebUI does, with websockets; and the protocol of AutoGen's and smolagents' clients, with websocket-client.

python3 jupyter.py JUPYTER GATEWAY: the address of the dialect, and that of a jupyter server with --gateway-url of it."""

import base64
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

import requests
import websocket

passed = failed = 0


def check(name, got, want):
    global passed, failed
    if got == want:
        passed += 1
    else:
        failed += 1
        print(f"failed {name}: {got!r:.300}, want {want!r:.300}", flush=True)


class Client:
    """A client of one kernel, as jupyter_server and its clients are: REST by requests, and a WebSocket."""

    def __init__(self, base, name=None, token="", subprotocols=()):
        self.base, self.token = base, token
        self.headers = {"Authorization": f"token {token}"} if token else {}
        body = {"json": {"name": name}} if name else {}
        made = requests.post(f"{base}/api/kernels", headers=self.headers, timeout=120, **body)
        self.made, self.id = made.status_code, made.json().get("id", "")
        self.subprotocols = list(subprotocols)
        self.connect()

    def connect(self):
        at = self.base.replace("http", "ws", 1) + f"/api/kernels/{self.id}/channels"
        self.ws = websocket.create_connection(at, header=[f"{k}: {v}" for k, v in self.headers.items()], subprotocols=self.subprotocols or None, timeout=60)

    def send(self, kind, content, channel="shell"):
        header = {"msg_id": uuid.uuid4().hex, "username": "u", "session": "s", "date": "2026-11-30T00:00:00Z", "msg_type": kind, "version": "5.3"}
        self.ws.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel, "buffers": []}))
        return header["msg_id"]

    def answers(self, to, on=None):
        """The messages whose parent is to, until idle and the reply came."""
        got, idle, replied = [], False, False
        while not (idle and replied):
            m = json.loads(self.ws.recv())
            if m["parent_header"].get("msg_id") != to:
                continue
            kind = m["msg_type"]
            got.append((m["channel"], kind, m["content"]))
            idle = idle or kind == "status" and m["content"]["execution_state"] == "idle"
            replied = replied or kind.endswith("_reply")
            if on is not None:
                on(kind, m["content"])
        return got

    def execute(self, code, on=None, **more):
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True, **more}
        return self.answers(self.send("execute_request", content), on)

    def call(self, method, path=""):
        return requests.request(method, f"{self.base}/api/kernels/{self.id}{path}", headers=self.headers, timeout=120)


def of(got, kind):
    return [content for _, k, content in got if k == kind]


def told(got):
    return "".join(c["text"] for c in of(got, "stream") if c["name"] == "stdout")


def kernel(name, base):
    """What every client needs, at a server."""
    c = Client(base, "python3")
    check(f"{name}: made", c.made, 201)
    info = c.answers(c.send("kernel_info_request", {}))
    check(f"{name}: info", of(info, "kernel_info_reply")[0]["language_info"]["name"], "python")
    got = c.execute("x = 20\nprint('hi')\nx + 1")
    check(f"{name}: stream", told(got), "hi\n")
    check(f"{name}: result", [r["data"]["text/plain"] for r in of(got, "execute_result")], ["21"])
    check(f"{name}: reply", [(r["status"], r["execution_count"]) for r in of(got, "execute_reply")], [("ok", 1)])
    check(f"{name}: input", of(got, "execute_input"), [{"code": "x = 20\nprint('hi')\nx + 1", "execution_count": 1}])
    check(f"{name}: states", [s["execution_state"] for s in of(got, "status")], ["busy", "idle"])
    got = c.execute("x\n1/0")
    check(f"{name}: error", [e["ename"] for e in of(got, "error")], ["ZeroDivisionError"])
    check(f"{name}: error reply", [r["status"] for r in of(got, "execute_reply")], ["error"])
    got = c.execute("class P:\n  def _repr_png_(self): return b'\\x89PNG'\ndisplay(P())\nimport sys\nprint('oh', file=sys.stderr)")
    check(f"{name}: picture", [base64.b64decode(d["data"]["image/png"]) for d in of(got, "display_data")], [b"\x89PNG"])
    check(f"{name}: stderr", [s["text"] for s in of(got, "stream")], ["oh\n"])

    begun = lambda kind, _: kind == "stream" and check(f"{name}: interrupt", c.call("POST", "/interrupt").status_code, 204)
    got = c.execute("print('begun')\nwhile True: pass", begun)
    check(f"{name}: interrupted", [e["ename"] for e in of(got, "error")], ["KeyboardInterrupt"])
    check(f"{name}: kept", [r["data"]["text/plain"] for r in of(c.execute("x"), "execute_result")], ["20"])

    first, second = (c.send("execute_request", {"code": code}) for code in ("import time; time.sleep(.3); 1/0", "print('no')"))
    check(f"{name}: fails", of(c.answers(first), "execute_reply")[0]["status"], "error")
    check(f"{name}: aborted", of(c.answers(second), "execute_reply")[0]["status"], "aborted")
    for kind, field, want in (("is_complete_request", "status", "unknown"), ("complete_request", "matches", []), ("inspect_request", "found", False), ("history_request", "history", []), ("comm_info_request", "comms", {})):
        got = c.answers(c.send(kind, {"code": "x", "cursor_pos": 1, "detail_level": 0, "hist_access_type": "tail", "output": False, "raw": True, "n": 1}))
        check(f"{name}: {kind}", of(got, kind.replace("request", "reply"))[0].get(field), want)

    check(f"{name}: restart", c.call("POST", "/restart").status_code, 200)
    c.ws.close()
    c.connect()
    check(f"{name}: fresh", told(c.execute("print('x' in globals())")), "False\n")
    died = c.execute("import os; os._exit(3)")
    check(f"{name}: died", of(died, "execute_reply")[0]["status"], "error")
    check(f"{name}: after that", told(c.execute("print(1)")), "1\n")
    check(f"{name}: model", {k: c.call("GET").json().get(k) for k in ("id", "name")}, {"id": c.id, "name": "python3"})
    check(f"{name}: list", c.id in [k["id"] for k in requests.get(f"{base}/api/kernels", timeout=60).json()], True)
    check(f"{name}: delete", c.call("DELETE").status_code, 204)
    check(f"{name}: gone", c.call("GET").status_code, 404)


def times(base):
    c = Client(base)
    took = []
    for _ in range(30):
        begun = time.monotonic()
        c.execute("1")
        took.append(time.monotonic() - begun)
    print(f"30 cells: p50 {sorted(took)[15] * 1000:.1f} ms, all {sum(took) * 1000:.0f} ms", flush=True)
    c.call("DELETE")


def direct(base):
    """What is asked of brig alone."""
    check("version", "version" in requests.get(f"{base}/api", timeout=60).json(), True)
    specs = requests.get(f"{base}/api/kernelspecs", timeout=60).json()
    check("specs", (specs["default"], "python3" in specs["kernelspecs"]), ("python3", True))
    check("unknown kernel", requests.post(f"{base}/api/kernels", json={"name": "ir"}, timeout=60).status_code, 404)
    # smolagents and Open WebUI: no body, no Content-Type.
    made = urllib.request.urlopen(urllib.request.Request(f"{base}/api/kernels?token=x", data=b"", method="POST"), timeout=120)
    check("no body", made.status, 201)
    id = json.load(made)["id"]
    for origin in ("https://evil.example", "null"):
        try:
            websocket.create_connection(base.replace("http", "ws", 1) + f"/api/kernels/{id}/channels", origin=origin, timeout=60)
            check(f"foreign page {origin}", "open", "refused")
        except websocket.WebSocketBadStatusException as e:
            check(f"foreign page {origin}", e.status_code, 403)
    requests.delete(f"{base}/api/kernels/{id}", timeout=60)
    c = Client(base, subprotocols=["v1.kernel.websocket.jupyter.org"])
    check("subprotocol", c.ws.getsubprotocol(), "v1.kernel.websocket.jupyter.org")
    c.call("DELETE")


direct(sys.argv[1])
kernel("websocket-client", sys.argv[1])
kernel("jupyter_server", sys.argv[2])
times(sys.argv[1])
print(passed, passed + failed)
