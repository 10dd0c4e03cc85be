"""The client of agent-sandbox (k8s_agent_sandbox, unchanged), with the requests that programs make by it. What it asks of
Kubernetes, to make sandboxes, is left out: a sandbox is a session of brig."""

import json
import os
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest
from k8s_agent_sandbox.commands.command_executor import CommandExecutor
from k8s_agent_sandbox.connector import SandboxConnector
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig


def ask(method, path, body=None):
    request = urllib.request.Request(
        os.environ["API"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        raw = response.read()
        return json.loads(raw) if raw else None


@pytest.fixture(scope="module")
def session():
    made = ask("POST", "/v1/sessions", {"language": "python"})
    yield made["session_id"]
    ask("DELETE", "/v1/sessions/" + made["session_id"])


def connect(session, daemon=False):
    connector = SandboxConnector(session, "default", SandboxDirectConnectionConfig(api_url=os.environ["URL"]), None,
                                 get_pod_ip=lambda: None)
    if daemon:  # the API of sandboxd, but at the address of the test in place of a tunnel of kubectl
        connector.is_sandboxd = lambda: True
    return connector


@pytest.fixture(params=[False, True], ids=["runtime", "sandboxd"])
def files(request, session):
    return Filesystem(connect(session, request.param), None, "test")


@pytest.fixture
def commands(session):
    return CommandExecutor(connect(session), None, "test")


def test_a_command(commands):
    result = commands.run("echo 'hello  world' $HOME | cat")
    assert (result.stdout, result.stderr, result.exit_code) == ("hello  world $HOME | cat\n", "", 0)


def test_a_shell(commands):
    result = commands.run("sh -c 'pwd; echo no >&2; exit 3'")
    assert (result.stdout, result.stderr, result.exit_code) == ("/box\n", "no\n", 3)


def test_a_command_that_there_is_not(commands):
    result = commands.run("there-is-none --help")
    assert result.exit_code == 1 and result.stderr.startswith("Failed to execute command: ")


def test_a_signal(commands):
    assert commands.run("python3 -c 'import os; os.kill(os.getpid(), 9)'").exit_code == -9


def test_a_program_that_was_written(files, commands):
    files.write("work/main.py", "import sys\nprint(sys.argv[1] * 2)\n")
    assert commands.run("python3 work/main.py ab").stdout == "abab\n"


def test_content(files):
    for content in (b"", b"\x00\xff\r\n", os.urandom(3 << 20)):
        files.write("content.bin", content)
        assert files.read("content.bin") == content


def test_names(files):
    for name in ("a b.txt", "ö.txt", "d/e/f%20g.txt", "q?x=1#y.txt"):
        files.write(name, name)
        assert files.read(name).decode() == name
        assert files.exists(name)


def test_exists(files):
    files.write("there", "x")
    assert files.exists("there") and not files.exists("not-there") and files.exists(".")


def test_a_list(files, commands):
    commands.run("rm -rf listed")
    files.write("listed/a.txt", "four")
    commands.run("mkdir listed/d")
    entries = {e.name: e for e in files.list("listed")}
    assert {n: (e.type, e.size if n == "a.txt" else None) for n, e in entries.items()} == {
        "a.txt": ("file", 4), "d": ("directory", None)}
    assert abs(datetime.now(timezone.utc) - entries["a.txt"].modified) < timedelta(minutes=5)
    assert "listed" in {e.name for e in files.list(".")} and "listed" in {e.name for e in files.list("")}


def test_what_is_not_there(files):
    for use in (lambda: files.read("not-there"), lambda: files.list("not-there")):
        with pytest.raises(SandboxRequestError) as error:
            use()
        assert error.value.status_code == 404


def test_a_path_that_leads_out(files):
    with pytest.raises(SandboxRequestError) as error:
        files.read("../etc/passwd", allow_unsafe_paths=True)
    assert error.value.status_code == 403


def test_removing(session):
    files = Filesystem(connect(session, daemon=True), None, "test")
    files.write("removed/a", "x")
    with pytest.raises(SandboxRequestError) as error:
        files.delete("removed")
    assert error.value.status_code == 409
    files.delete("removed", recursive=True)
    assert not files.exists("removed")


def test_a_sandbox_that_there_is_not():
    with pytest.raises(SandboxRequestError) as error:
        CommandExecutor(connect("none"), None, "test").run("true")
    assert error.value.status_code == 404
