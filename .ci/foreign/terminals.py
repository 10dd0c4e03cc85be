# terminals.py API ID: clients in Python at the WebSocket of the session ID: websocket-client, websockets, and the client of
# Kubernetes, by its routes. The last line says how many cases passed, and of how many.
import asyncio
import sys

import websocket
import websockets
from kubernetes.client import ApiClient, Configuration, CoreV1Api
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

api, pod = sys.argv[1:]
at = api.replace("http", "ws") + "/v1/sessions/" + pod + "/exec?"
core = CoreV1Api(ApiClient(Configuration(host=api + "/k8s")))
passed = of = 0


def check(name, got, want):
    global passed, of
    of += 1
    passed += got == want
    if got != want:
        print(f"FAILED {name}\n  got  {got!r}\n  want {want!r}")


def run(*command, task=pod, **how):
    """Executes a command with the client of Kubernetes."""
    how = {"stderr": True, "stdout": True, "stdin": False, "tty": False, "_request_timeout": 60, **how}
    return stream(core.connect_get_namespaced_pod_exec, task, "default", command=list(command), **how)


def kubernetes():
    check("a pod", core.read_namespaced_pod(pod, "default").status.phase, "Running")
    check("pods of a project", [p.metadata.name for p in core.list_namespaced_pod("terminals").items], [pod])
    check("pods of another", core.list_namespaced_pod("none").items, [])
    check("all output", run("sh", "-c", "echo out; sleep 0.2; echo err >&2"), "out\nerr\n")

    one = run("sh", "-c", "read a; echo got $a; echo err >&2; exit 7", stdin=True, _preload_content=False)
    one.write_stdin("h\u00e9llo\n")
    one.run_forever(timeout=60)
    check("streams and exit code", [one.read_stdout(), one.read_stderr(), one.returncode], ["got h\u00e9llo\n", "err\n", 7])

    one = run("sh", stdin=True, tty=True, _preload_content=False)
    one.write_channel(4, '{"Width":99,"Height":33}')  # a text
    shown = ""
    while "33 99" not in shown and one.is_open():  # the size comes on a channel of its own
        one.write_stdin("stty size\n")
        shown += one.read_stdout(timeout=60) or ""
    one.write_stdin("exit 5\n")
    one.run_forever(timeout=60)
    check("a terminal", one.returncode, 5)

    one = run("head", "-c", "1000000", stdin=True, binary=True, _preload_content=False)
    one.write_stdin(b"x" * 1_000_000)
    one.run_forever(timeout=60)
    check("a long message", [len(one.read_stdout()), one.returncode], [1_000_000, 0])

    try:
        run("true", task="nosuch")
        check("no such pod", "an answer", 404)
    except ApiException as refused:
        check("no such pod", "404 Not Found" in refused.reason and "there is no session" in refused.reason, True)


def client():
    """websocket-client, at a terminal without a subprotocol."""
    one = websocket.create_connection(at + "command=sh&tty=true&rows=33&cols=99", timeout=60)
    one.send("stty size; exit 4\n")
    shown = b""
    while True:
        opcode, data = one.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            break
        shown += data
    check("websocket-client", [b"33 99\r\n" in shown, data], [True, b"\x03\xe8exit code 4"])

    try:
        websocket.create_connection(at + "tty=true", timeout=60)
        check("a refusal", "open", 400)
    except websocket.WebSocketBadStatusException as refused:
        check("a refusal", [refused.status_code, b"no command" in refused.resp_body], [400, True])


async def asynchronous():
    """websockets, with a subprotocol; its pings go on meanwhile."""
    async with websockets.connect(at + "command=sort&stdin=true", subprotocols=["v5.channel.k8s.io"], ping_interval=0.1) as one:
        await one.send(b"\x00b\n")
        await (await one.ping())
        await one.send(b"\x00a\n")
        await one.send(b"\xff\x00")
        shown = {1: b"", 2: b"", 3: b""}
        async for message in one:
            shown[message[0]] += message[1:]
        check("websockets", [shown[1], shown[2], b'"Success"' in shown[3], one.close_code, one.close_reason],
              [b"a\nb\n", b"", True, 1000, "exit code 0"])


for act in kubernetes, client, lambda: asyncio.run(asyncio.wait_for(asynchronous(), 60)):
    try:
        act()
    except Exception as broken:  # the others are of other clients
        of += 1
        print(f"FAILED {act.__name__}: {broken!r}")
print(passed, of)
