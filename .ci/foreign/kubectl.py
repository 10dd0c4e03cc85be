# kubectl.py API LISTENER SECURE PLAIN KEY CERTIFICATE: runs kubectl against sessions of brig, and compares what it prints with
# what kubectl prints for a pod. API is the service, and LISTENER a listener of its dialect; SECURE is a service with TLS
# and keys, and PLAIN one with keys alone. The last line says how many cases passed, and of how many.
import fcntl
import hashlib
import json
import os
import pty
import re
import ssl
import struct
import subprocess
import sys
import termios
import urllib.request

api, listener, secure, plain, key, certificate = sys.argv[1:]
PREFIX = ["--server", api + "/k8s"]
KEY = ["--server", secure + "/k8s", "--token", key]
TRUST = ["--certificate-authority", certificate]
passed = of = 0


def session(service, project, task, headers={}):
    body = {"image": "python", "labels": {"project": project, "task": task}}
    ask = urllib.request.Request(service + "/v1/sessions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(ask, context=ssl.create_default_context(cafile=certificate)) as answer:
        return json.load(answer)["session_id"]


def check(name, got, want):
    """want has patterns for the whole of each text."""
    global passed, of
    of += 1
    same = len(got) == len(want) and all(
        g == w if isinstance(w, int) else re.fullmatch(w, g, re.DOTALL) for g, w in zip(got, want))
    passed += bool(same)
    if not same:
        print(f"FAILED {name}\n  got  {got!r}\n  want {want!r}")


def kubectl(*arguments, at=PREFIX, stdin=b"", env={}):
    done = subprocess.run(["kubectl", *at, *arguments], input=stdin, capture_output=True, timeout=120,
                          env={**os.environ, "KUBECONFIG": "/dev/null", **env})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def terminal(arguments, rows, cols, acts):
    """Runs kubectl at a terminal of its own. Each act is (what it waits for, what it does then)."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["KUBECONFIG"] = "/dev/null"
        os.execvp("kubectl", ["kubectl", *PREFIX, *arguments])
    resize(fd, rows, cols)
    shown = b""
    for wait, act in [*acts, (None, None)]:
        while wait is None or wait not in shown:
            try:
                some = os.read(fd, 4096)
            except OSError:  # kubectl has ended
                some = b""
            if not some:
                break
            shown += some
        if act:
            shown = b""
            act(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def types(text):
    return lambda fd: os.write(fd, text)


pod = session(api, "course", "ann")
mine = session(secure, "course", "ann", {"Authorization": "Bearer " + key})
ENDED = "command terminated with exit code %d\n"

check("version", kubectl("version"), (0, r".*\nServer Version: v1\.32\.3\n", ""))
check("get pods", kubectl("get", "pods"),
      (0, rf"NAME +STATUS +LANGUAGE +PROJECT +TASK +ENDS *\n{pod} +idle +course +ann +\S+Z\n", ""))
check("get pods of a project", kubectl("get", "pods", "-n", "course", "-o", "name"), (0, f"pod/{pod}\n", ""))
check("get pods of another project", kubectl("get", "pods", "-n", "none"), (0, "", r"No resources found in none namespace\.\n"))
check("get pods of all", kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].metadata.namespace}"), (0, "course", ""))
check("describe", kubectl("describe", "pod", pod), (0, rf"Name: +{pod}\n.*Status: +Running\n.*", ""))

check("output, stderr and exit code", kubectl("exec", pod, "--", "sh", "-c", "echo out; echo err >&2; exit 7"),
      (7, "out\n", "err\n" + ENDED % 7))
check("no output", kubectl("exec", pod, "--", "true"), (0, "", ""))
check("stdin with its end", kubectl("exec", "-i", pod, "--", "sh", "-c", "cat; echo done", stdin=b"a\nb\n"), (0, "a\nb\ndone\n", ""))
check("no stdin", kubectl("exec", pod, "--", "sh", "-c", "cat; echo done", stdin=b"a\nb\n"), (0, "done\n", ""))
check("much stdin", kubectl("exec", "-i", pod, "--", "wc", "-c", stdin=bytes(5_000_000)), (0, "5000000\n", ""))
check("much stdout", [len(part) if isinstance(part, str) else part for part in
                      kubectl("exec", pod, "--", "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x")], (0, 5_000_000, 0))
check("stdin that nobody reads", kubectl("exec", "-i", pod, "--", "sh", "-c", "exit 3", stdin=bytes(5_000_000))[:2], (3, ""))
check("a signal", kubectl("exec", pod, "--", "sh", "-c", "kill -9 $$"), (137, "", ENDED % 137))
check("a limit and its cause", kubectl("exec", pod, "--", "sh", "-c", "yes"),
      (153, "(y\n)*y?", "brig: output-limit: it wrote more than 16M to one stream: .*exec_limits.output\n" + ENDED % 153))
check("no such program", kubectl("exec", pod, "--", "nosuch"), (1, "", r"error: program-not-found: nosuch: .*\n"))
check("by its task", kubectl("exec", "-n", "course", "ann", "--", "echo", "hi"), (0, "hi\n", ""))
check("of another project", kubectl("exec", "-n", "other", pod, "--", "true"),
      (1, "", rf'Error from server \(NotFound\): there is no session "{pod}" in project "other"\n'))
check("no such session", kubectl("exec", "nosuch", "--", "true"),
      (1, "", r'Error from server \(NotFound\): there is no session "nosuch"\n'))
check("no such container", kubectl("exec", pod, "-c", "nosuch", "--", "true"),
      (1, "", rf'Error from server \(BadRequest\): container "nosuch" is not valid for pod "{pod}": .*\n'))
check("at a listener", kubectl("exec", pod, "--", "echo", "hi", at=["--server", listener]), (0, "hi\n", ""))
check("no WebSocket", kubectl("exec", pod, "--", "true", env={"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}),
      (1, "", r"Error from server \(BadRequest\): brig executes commands over a WebSocket, .* use kubectl 1\.31 or newer .*\n"))
check("a selector", kubectl("get", "pods", "-l", "a=b"), (1, "", r"Error from server \(BadRequest\): .* by labelSelector: .*\n"))
check("a method that there is not", kubectl("delete", "pod", pod), (1, "", r"Error from server \(MethodNotAllowed\): .*\n"))

check("a terminal of a size", terminal(["exec", "-it", pod, "--", "sh", "-c", "echo ready; read a; stty size; exit 5"], 33, 99,
                                       [(b"ready\r\n", types(b"\n"))]), (5, "\r\n33 99\r\n" + (ENDED % 5).replace("\n", "\r\n")))
check("a new size", terminal(["exec", "-it", pod, "--", "sh", "-c", "echo ready; until stty size | grep -x '40 120'; do :; done"],
                             33, 99, [(b"ready\r\n", lambda fd: resize(fd, 40, 120))]), (0, "40 120\r\n"))
check("Ctrl-C", terminal(["exec", "-it", pod, "--", "sh", "-c", "trap 'echo caught; exit 4' INT; echo ready; while :; do :; done"],
                         24, 80, [(b"ready\r\n", types(b"\x03"))]), (4, r"\^Ccaught\r\n" + (ENDED % 4).replace("\n", "\r\n")))
check("Ctrl-D", terminal(["exec", "-it", pod, "--", "sh", "-c", "echo ready; cat; echo end"], 24, 80,
                         [(b"ready\r\n", types(b"a\n")), (b"a\r\na\r\n", types(b"\x04"))]), (0, "end\r\n"))

content = os.urandom(3_000_000)
os.makedirs("out/folder/deep")
for name, text in {"out/big": content, "out/folder/deep/a": b"a\n", "out/folder/run.sh": b"echo run\n"}.items():
    with open(name, "wb") as f:
        f.write(text)
os.chmod("out/folder/run.sh", 0o755)
check("cp of a file", kubectl("cp", "out/big", pod + ":/box/big"), (0, "", ""))
check("what arrived", kubectl("exec", pod, "--", "sha256sum", "/box/big"),
      (0, hashlib.sha256(content).hexdigest() + "  /box/big\n", ""))
check("cp of a folder", kubectl("cp", "out/folder", pod + ":/box"), (0, "", ""))
check("what it has", kubectl("exec", pod, "--", "sh", "-c", "cat /box/folder/deep/a; /box/folder/run.sh"), (0, "a\nrun\n", ""))
check("cp of a file to here", kubectl("cp", pod + ":/box/big", "back"), (0, "tar: Removing leading `/' from member names\n", ""))
with open("back", "rb") as f:
    check("what came", [f.read() == content], [1])

check("a key", kubectl("exec", mine, "--", "sh", "-c", "echo mine; exit 3", at=KEY + TRUST), (3, "mine\n", ENDED % 3))
check("no certificate is trusted", kubectl("get", "pods", "-o", "name", at=KEY + ["--insecure-skip-tls-verify"]),
      (0, f"pod/{mine}\n", ""))
check("an unknown key", kubectl("get", "pods", at=["--server", secure + "/k8s", "--token", "brig_x", *TRUST]),
      (1, "", r"error: You must be logged in to the server \(this key is not known: .*\)\n"))
check("a key over http", kubectl("exec", mine, "--", "true", at=["--server", plain + "/k8s", "--token", key]),
      (1, "", r"error: You must be logged in to the server \(this service needs a key: .* kubectl sends the KEY of --token by "
       r"https:// alone, and drops it over http://\)\n"))
print(passed, of)
