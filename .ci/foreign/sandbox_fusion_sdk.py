"""SandboxFusion's SDK (scripts/client, unchanged), synchronous and asynchronous."""

import asyncio
import base64

import pytest
from sandbox_fusion import CommandRunStatus, RunCodeRequest, RunStatus, run_code, run_code_async, run_concurrent
from sandbox_fusion import summary_run_code_result
from sandbox_fusion.models import SummaryMapping


def ask(**fields):
    return run_code(RunCodeRequest(**fields), max_attempts=1)


def test_output():
    answer = ask(language="python", code="print(input(), end='')", stdin="a b")
    assert (answer.status, answer.run_result.stdout, answer.run_result.return_code) == (RunStatus.Success, "a b", 0)


def test_files():
    answer = ask(
        language="python",
        code="open('out.bin', 'wb').write(open('d/in.bin', 'rb').read()[::-1])",
        files={"d/in.bin": base64.b64encode(b"\0\xff").decode()},
        fetch_files=["out.bin"],
    )
    assert base64.b64decode(answer.files["out.bin"]) == b"\xff\0"


@pytest.mark.parametrize(
    "fields, summary",
    [
        ({"language": "cpp", "code": "int main() { }"}, "Success"),
        ({"language": "cpp", "code": "int main() { ? }", "compile_timeout": 30}, "CompileFailed"),
        ({"language": "python", "code": "raise SystemExit(1)"}, "RunFailed"),
        ({"language": "python", "code": "import time; time.sleep(60)", "run_timeout": 1}, "RunTimeout"),
    ],
    ids=["success", "compile failed", "run failed", "run timeout"],
)
def test_summary(fields, summary):
    names = SummaryMapping(
        CompileFailed="CompileFailed", CompileTimeout="CompileTimeout", RunFailed="RunFailed", RunTimeout="RunTimeout"
    )
    assert summary_run_code_result(ask(**fields), names) == summary


def test_concurrent():
    asks = [{"request": RunCodeRequest(language="python", code=f"print({i})")} for i in range(20)]
    assert [a.run_result.stdout for a in run_concurrent(run_code, kwargs=asks)] == [f"{i}\n" for i in range(20)]


def test_async():
    async def use():
        asks = [run_code_async(RunCodeRequest(language="python", code=f"print({i})"), max_attempts=1) for i in range(5)]
        return await asyncio.gather(*asks)

    answers = asyncio.run(use())
    assert all(a.run_result.status == CommandRunStatus.Finished for a in answers)
    assert [a.run_result.stdout for a in answers] == [f"{i}\n" for i in range(5)]
