"""open-r1's client of Piston (piston_client.py, unchanged), with the requests that its graders make."""

import asyncio
import os

import pytest
from piston_client import PistonClient

GRADER = """#include <cstdio>
int main() {
    std::FILE *f = std::fopen("input.txt", "r");
    int n = 0;
    if (std::fscanf(f, "%d", &n) != 1) return 1;
    std::puts(n == 7 ? "1.0" : "0.0");
}"""
COMPILE = {"compile_timeout": 20000}


def ask(use):
    async def within():
        client = PistonClient(os.environ["URL"], max_requests_per_endpoint=8)
        try:
            return await use(client)
        finally:
            await client.session.close()

    return asyncio.run(within())


def test_runtimes():
    assert len(ask(lambda c: c.get_supported_runtimes())[0]) >= 2


def test_packages():
    assert ask(lambda c: c.install_package("python", "3.x"))[0]["language"] == "python"
    assert "message" in ask(lambda c: c.install_package("klingon", "1"))[0]


@pytest.mark.parametrize(
    "language, files, more, compiled, run",
    [
        (
            "python",
            [{"name": "m.py", "content": "print(int(input()) * 2)"}],
            {"stdin": "21"},
            None,
            {"stdout": "42\n", "code": 0},
        ),
        (
            "c++",
            [{"name": "graders/grader.cpp", "content": GRADER}, {"name": "input.txt", "content": "7"}],
            {"run_timeout": 8000, "run_memory_limit": 512 << 20, **COMPILE},
            0,
            {"stdout": "1.0\n", "code": 0, "signal": None},
        ),
        ("c++", [{"content": "int main() { ? }"}], COMPILE, 1, {}),
        ("c++", [{"content": "int main() { return *(volatile int *)8; }"}], COMPILE, 0, {"signal": "SIGSEGV"}),
        ("python", [{"content": "raise SystemExit(3)"}], {}, None, {"code": 3}),
        (
            "python",
            [{"content": "while 1: pass"}],
            {"run_timeout": 1000, "run_cpu_time": 1000},
            None,
            {"signal": "SIGKILL"},
        ),
        (
            "python",
            [{"content": "x = 'a' * (1 << 30)"}],
            {"run_memory_limit": 64 << 20, "run_timeout": 10000},
            None,
            {"signal": "SIGKILL"},
        ),
    ],
    ids=["stdin", "files", "compile error", "signal", "exit code", "time", "memory"],
)
def test_execute(language, files, more, compiled, run):
    answer = ask(lambda c: c.send_execute({"files": files, **more}, language=language))
    assert answer.get("compile", {}).get("code") == compiled, answer
    assert {name: answer["run"][name] for name in run} == run, answer


def test_unknown_language():
    assert ask(lambda c: c.send_execute({"files": [{"content": ""}]}, language="klingon", max_retries=0)) is None


def test_many_at_once():
    async def use(client):
        asks = [{"files": [{"content": f"print({i})"}], "run_timeout": 10000} for i in range(40)]
        return await asyncio.gather(*[client.send_execute(one, language="python") for one in asks])

    assert [a["run"]["stdout"] for a in ask(use)] == [f"{i}\n" for i in range(40)]
