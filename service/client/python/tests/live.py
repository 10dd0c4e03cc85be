"""Tests against a running service: python3 -m unittest tests.live, with BRIG_URL and, if needed, BRIG_API_KEY set.

The end-to-end test TestPythonClientAgainstService runs it; discovery does not.
"""

import asyncio
import contextlib
import io
import os
import re
import tempfile
import time
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple, Union

from brig_sandbox import AsyncCodeSandbox, Case, CodeSandbox, Display, InfraError, Job, RequestError, ResourceLimits, Volume


def box(**options: str) -> CodeSandbox:
    return CodeSandbox(ResourceLimits(memory_limit="128m", timeout_seconds=20), **options)  # type: ignore[arg-type]


def interrupted(_: str) -> None:
    """As Ctrl-C during a call."""
    raise KeyboardInterrupt


class Live(unittest.TestCase):
    def test_a_program_that_works(self) -> None:
        r = box().execute("print(2 + 2)")
        self.assertEqual((r.success, r.stdout, r.stderr, r.exit_code, r.timeout, r.error_message), (True, "4\n", "", 0, False, None))
        self.assertEqual((r.language, r.verdict), ("python", "ok"))
        self.assertTrue(r.container_id)
        self.assertGreater(r.execution_time, 0)
        self.assertLess(abs(r.timestamp - datetime.now(timezone.utc)), timedelta(minutes=10))
        self.assertGreater(r.usage.memory_bytes or 0, 0)

    def test_a_program_that_fails(self) -> None:
        r = box().execute("def f():\n    return x\nf()\n")
        self.assertEqual((r.success, r.exit_code, r.timeout, r.error_message), (False, 1, False, "NameError: name 'x' is not defined"))
        found = box().analyze_error(r)
        self.assertEqual((found.is_error, found.error_type, found.line), (True, "NameError", 2))
        self.assertIn("NameError", str(box().create_debug_report(r, "f()")))

    def test_a_batch(self) -> None:
        double = "print(int(input()) * 2)"
        jobs = [Job(double, [("21", "42"), ("1", "2")]), Job("print(42)", [("21", "42"), ("1", "2")]), Job("raise SystemExit(3)", [("1", "2")]), Job("x", language="no-such-language"), *[Job(f"print({n})", [("", str(n))]) for n in range(50)]]
        scores, mask = box().score_many(jobs)
        self.assertEqual((scores[:3], mask[:4]), ([1.0, 0.5, 0.0], [True, True, True, False]))
        self.assertFalse(scores[3] == 0)
        self.assertEqual((scores[4:], mask[4:]), ([1.0] * 50, [True] * 50))

    def test_limits(self) -> None:
        late = box().execute("import time; time.sleep(60)", limits=ResourceLimits(timeout_seconds=1))
        self.assertEqual((late.success, late.timeout, late.exit_code, late.verdict), (False, True, 124, "wall-limit"))
        fat = box().execute("x = bytearray(1 << 30)", limits=ResourceLimits(memory_limit="64m"))
        self.assertFalse(fat.success or fat.timeout)
        self.assertEqual(box().analyze_error(fat).category, "memory", fat)
        many = box().execute("import os\nfor _ in range(50):\n    if os.fork() == 0:\n        import time; time.sleep(60)\n", limits=ResourceLimits(pids_limit=10))
        self.assertFalse(many.success)

    def test_what_goes_in_and_comes_out(self) -> None:
        code = "import os, sys\ndata = open('in.bin', 'rb').read()\nopen('out.bin', 'wb').write(data[::-1])\nprint(os.environ['GREETING'], open('text').read(), input(), flush=True)\nsys.stdout.buffer.write(b'\\xff')\n"
        r = box().execute(code, env_vars={"GREETING": "grüß"}, files={"in.bin": b"\x00\x01\xff", "text": "ü"}, stdin="line\n")
        self.assertTrue(r.success, r)
        self.assertEqual((r.stdout, r.stdout_bytes), ("grüß ü line\n\ufffd", "grüß ü line\n".encode() + b"\xff"))
        self.assertEqual(r.files, {"out.bin": b"\xff\x01\x00"})

    def test_what_may_be_written(self) -> None:
        code = "open('/etc/mark', 'w').write('x')"
        self.assertEqual(box().execute(code).error_message, "OSError: [Errno 30] Read-only file system: '/etc/mark'")
        self.assertEqual(box().execute(code + "; print('written')", read_only=False).stdout, "written\n")

    def test_what_the_service_refuses(self) -> None:
        refusals: List[Tuple[str, Callable[[], object]]] = [
            ("unknown-language", lambda: box().execute("x", "klingon")),
            ("forbidden", lambda: box().execute("x", network_enabled=True)),
            ("not-found", lambda: box().get_resource_usage("no-such-run")),
            ("bad-file", lambda: box().execute("x", files={"../x": ""})),
        ]
        for code, refused in refusals:
            with self.subTest(code), self.assertRaises(RequestError) as raised:
                refused()
            self.assertEqual(raised.exception.code, code)
            self.assertFalse(raised.exception.retry_safe)

    def test_many(self) -> None:
        got = {r.index: r.stdout for r in box().execute_many((f"print({i} * {i})" for i in range(20)), concurrency=8)}
        self.assertEqual(got, {i: f"{i * i}\n" for i in range(20)})

    def test_asyncio(self) -> None:
        async def use() -> None:
            async with AsyncCodeSandbox(ResourceLimits(memory_limit="128m", timeout_seconds=20)) as box:
                ones = await asyncio.gather(*[box.execute(f"print({n})") for n in range(10)])
                self.assertEqual([one.stdout for one in ones], [f"{n}\n" for n in range(10)])
                got = {r.index: r.stdout async for r in box.execute_many((f"print({n} * {n})" for n in range(20)), 12, deadline_seconds=600)}
                self.assertEqual(got, {n: f"{n * n}\n" for n in range(20)})
                scores = await box.score_many([Job("print(input())", [("a", "a"), ("b", "c")])] * 5, deadline_seconds=600)
                self.assertEqual(scores, ([0.5] * 5, [True] * 5))
                self.assertTrue((await box.run_tests("print(input())", [("a", "a")])).accepted)
                async with await box.create_session() as session:
                    await session.put_file("a", b"\x00" * 3_000_000)
                    self.assertEqual((await session.run(["wc", "-c", "a"])).stdout, "3000000 a\n")
                    self.assertEqual(await session.get_file("a"), b"\x00" * 3_000_000)
                with self.assertRaises(RequestError) as raised:
                    await box.execute("x", "klingon")
                self.assertEqual(raised.exception.code, "unknown-language")

        asyncio.run(use())

    def test_grading(self) -> None:
        tests: List[Union[Case, Dict[str, Any]]] = [{"stdin": "1 2", "expected": "3"}, Case("5 5", "10", id="fives"), {"stdin": "a b", "expected": "?", "timeout_seconds": 10}]
        grade = box().run_tests("print(sum(map(int, input().split())))", tests)
        self.assertEqual((grade.accepted, grade.verdict, grade.passed, grade.ran, grade.total), (False, "nonzero", 2, 3, 3))
        self.assertEqual([(t.id, t.accepted, t.stdout) for t in grade.tests], [("1", True, "3\n"), ("fives", True, "10\n"), ("3", False, "")])
        failed = grade.tests[2]
        self.assertEqual((failed.exit_code, failed.error_message), (1, "ValueError: invalid literal for int() with base 10: 'a'"))
        self.assertEqual((failed.diagnosis or {}).get("type"), "ValueError")
        wrong = box().run_tests("print(4)", [{"stdin": "1 2", "expected": "3"}, {"expected": "4.0001"}], compare="float", tolerance=0.01)
        self.assertEqual((wrong.verdict, wrong.accepted, wrong.passed), ("ok", False, 1))
        self.assertEqual(wrong.error_message, "test 1: " + wrong.tests[0].difference)
        self.assertIn("4", wrong.tests[0].difference)
        self.assertEqual(box().explain(wrong.run_id).error_type, "wrong-answer")
        stopped = box().run_tests("print(4)", [{"expected": "3"}] * 50, stop_at_failure=True)
        self.assertLess(stopped.ran, 50)
        with self.assertRaises(RequestError) as raised:
            box().run_tests("x", [Case(id="1"), Case(id="1")])
        self.assertEqual(raised.exception.code, "bad-request")

    def test_named_files(self) -> None:
        code = "n = int(open('input.txt').read())\nif n: print(n * len(open('words').read()), file=open('output.txt', 'w'))"
        tests = [Case("2", "4", files={"words": "ab"}), Case("2", "4", files={"words": "abc"}), Case("0", "", files={"words": ""})]
        grade = box().run_tests(code, tests, input_file="input.txt", output_file="output.txt")
        self.assertEqual([(t.accepted, t.output) for t in grade.tests], [(True, b"4\n"), (False, b"6\n"), (False, b"")])
        self.assertEqual(grade.tests[2].error_message, "the program left no file output.txt")

    def test_problems(self) -> None:
        name = f"p{os.getpid()}-{time.monotonic_ns()}"
        mine = box()
        with tempfile.TemporaryDirectory() as top:
            for test, text in (("1", "1 2"), ("2", "5 5")):
                Path(top, test + ".in").write_text(text)
                Path(top, test + ".ans").write_text(str(sum(map(int, text.split()))))
            stored = mine.put_problem(name, top)
        self.assertEqual((stored.tests, stored.format, stored.manifest["format"]), (2, "tests", "tests"))
        self.assertEqual([p.digest for p in mine.problems() if p.name == name], [stored.digest])
        right = mine.grade(name, "print(sum(map(int, input().split())))")
        self.assertEqual((right.accepted, right.score, right.passed, right.total), (True, 1.0, 2, 2))
        half = mine.grade(stored.digest, "print(3)", limits=ResourceLimits(timeout_seconds=5))
        self.assertEqual((half.accepted, half.score, half.passed), (False, 0.5, 1))
        with self.assertRaises(RequestError) as raised:
            mine.put_problem(name, b"no archive")
        self.assertEqual(raised.exception.code, "bad-problem")
        self.assertEqual(mine.get_problem(name).digest, stored.digest)
        mine.delete_problem(name)
        with self.assertRaises(RequestError) as raised:
            mine.grade(name, "x")
        self.assertEqual(raised.exception.code, "unknown-problem")

    def test_history(self) -> None:
        project = f"project {os.getpid()} {time.monotonic_ns()}"
        mine = box(project=project, task="t&1")
        ids = [mine.execute(code).container_id for code in ("print(1)", "1 / 0", "print(3)")]
        runs = mine.get_execution_history()
        self.assertEqual([r.container_id for r in runs], ids[::-1])
        self.assertEqual([r.verdict for r in runs], ["ok", "nonzero", "ok"])
        self.assertEqual([r.error_message for r in runs], ["", "ZeroDivisionError: division by zero", ""])
        self.assertEqual((mine.explain(ids[0]).is_error, mine.explain(ids[1]).error_type), (False, "ZeroDivisionError"))
        self.assertEqual([r.run_id for r in mine.get_execution_history(verdict="nonzero")], [ids[1]])
        self.assertEqual(len(mine.get_execution_history(limit=2)), 2)
        self.assertEqual(mine.get_execution_history(task="other"), [])
        self.assertEqual(mine.get_execution_history(until=datetime.now(timezone.utc) - timedelta(days=1)), [])
        self.assertEqual((runs[0].project, runs[0].task, runs[0].language), (project, "t&1", "python"))
        usage = mine.get_resource_usage(ids[0])
        self.assertGreater(usage.cpu_seconds or 0, 0)

    def test_sessions(self) -> None:
        project = f"project {os.getpid()} {time.monotonic_ns()}"
        mine = box(project=project, task="t")
        with mine.create_session(env_vars={"WHO": "ann"}, idle_seconds=120) as s:
            self.assertEqual(s.execute("import os, sys\nopen('a.txt', 'w').write(os.environ['WHO'] + input() + sys.argv[1])", ["!"], stdin=" hi").error_message, None)
            self.assertEqual(s.get_file("a.txt"), b"ann hi!")
            self.assertEqual(s.run(["cat", "a.txt"]).stdout, "ann hi!")
            self.assertEqual(s.run(["sh", "-c", "cat; exit 3"], stdin=b"\xff").stdout_bytes, b"\xff")
            self.assertEqual(s.run(["sh", "-c", "exit 3"]).exit_code, 3)
            self.assertTrue(s.execute("import time; time.sleep(60)", timeout_seconds=0.5).timeout)
            s.put_file("bin/\u00fc #1", "#!/bin/sh\necho $1\n", executable=True)
            self.assertEqual(s.run(["./bin/\u00fc #1", "it runs"]).stdout, "it runs\n")
            self.assertEqual([(f.name, f.kind, f.executable) for f in s.list_files("bin")], [("bin/\u00fc #1", "file", True)])
            s.delete_file("bin/\u00fc #1")
            s.put_file("/tmp/in/\u00fc\udcff #1", "#!/bin/sh\necho $1\n", executable=True)
            self.assertEqual(s.run(["sh", "-c", '/tmp/in/* "it runs"']).stdout, "it runs\n")
            self.assertEqual((s.get_file("/tmp/in/\u00fc\udcff #1")[:9], [(f.kind, f.executable) for f in s.list_files("/tmp/in")]), (b"#!/bin/sh", [("file", True)]))
            s.delete_file("/tmp/in/\u00fc\udcff #1")
            for name, code in (("/etc/x", "file-denied"), ("/tmp", "file-conflict"), ("/dev/null", "file-denied")):
                with self.assertRaises(RequestError) as raised:
                    s.put_file(name, "x")
                self.assertEqual(raised.exception.code, code)
            with self.assertRaises(RequestError) as raised:
                s.get_file("bin/\u00fc #1")
            self.assertEqual(raised.exception.code, "not-found")
            self.assertGreater(s.usage().memory_peak_bytes or 0, 0)
            with self.assertRaises(RequestError) as raised:
                mine.create_session()
            self.assertEqual((raised.exception.code, raised.exception.session_id), ("conflict", s.id))
            self.assertEqual(mine.get_session(s.id).run(["cat", "a.txt"]).stdout, "ann hi!")
            self.assertIn(s.id, [one.id for one in mine.list_sessions()])
            self.assertEqual([r.project for r in mine.get_execution_history(limit=1)], [project])
        with self.assertRaises(RequestError) as raised:
            s.run(["true"])
        self.assertEqual((raised.exception.code, raised.exception.status), ("session-ended", 410))
        s.delete()

    def test_kernels(self) -> None:
        with box().create_session() as s, s.kernel(env_vars={"WHO": "ann"}) as k:
            out: List[str] = []
            self.assertTrue(k.execute("import os, sys\nx = 20").success)
            r = k.execute("print(os.environ['WHO'], x)\nprint('oh', file=sys.stderr)\nx + 1", on_stdout=out.append)
            self.assertEqual((r.result and r.result.text, r.count, "".join(out), r.stdout, r.stderr), ("21", 2, "ann 20\n", "ann 20\n", "oh\n"))
            r = k.execute("class P:\n  def _repr_png_(self): return b'\\x89PNG'\ndisplay(P())\n1/0")
            self.assertEqual((r.displays[0].png, r.error and r.error.name, r.status), (b"\x89PNG", "ZeroDivisionError", "error"))
            self.assertEqual(k.execute("ask('add', 1, b=2)", tools={"add": lambda a, b: a + b}).result, Display({"text/plain": "3"}))
            self.assertEqual(k.execute("while True: pass", timeout_seconds=0.3).status, "timeout")

            self.assertEqual(k.execute("print('begun')\nwhile True: pass", on_stdout=lambda _: k.interrupt()).status, "interrupted")
            with self.assertRaises(KeyboardInterrupt):  # as Ctrl-C
                k.execute("print('begun')\nwhile True: pass", on_stdout=interrupted)
            self.assertEqual(k.execute("x").stdout, "")
            k.restart()
            self.assertEqual([one.status() for one in (k, s.get_kernel(k.id), *s.list_kernels())], ["idle"] * 3)
            r = k.execute("import os\nos._exit(3)")
            self.assertEqual((r.status, r.restarted), ("died", True))

        async def asynchronous() -> None:
            async def slow(a: int) -> int:
                await asyncio.sleep(0)
                return a + 1

            async with AsyncCodeSandbox() as box, await box.create_session() as s, await s.kernel() as k:
                r = await k.execute("x = ask('slow', 1)\nprint(x)\nx", tools={"slow": slow})
                self.assertEqual((r.stdout, r.result and r.result.text), ("2\n", "2"))
                begun = asyncio.Event()
                task = asyncio.ensure_future(k.execute("print('begun')\nwhile True: pass", on_stdout=lambda _: begun.set()))
                await begun.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual(((await k.execute("x")).stdout, await k.status()), ("", "idle"))

        asyncio.run(asynchronous())

    def test_processes(self) -> None:
        with box().create_session() as s:
            p = s.process(["sh", "-c", "echo up; read a; echo got $a; echo bad >&2; exit 7"], stdin_open=True, tag="t")
            self.assertEqual((s.get_process(p.pid).tag, p.poll()), ("t", None))
            with self.assertRaises(InfraError) as raised:
                p.wait(timeout_seconds=0.1)
            self.assertEqual(raised.exception.code, "deadline")
            coming = p.attach()
            self.assertEqual(next(coming).text, "up\n")
            p.send("typed\n")
            rest = list(coming)
            self.assertEqual({(one.stream, one.text) for one in rest}, {("stdout", "got typed\n"), ("stderr", "bad\n")})
            self.assertEqual((p.wait().exit_code, sum(len(one.data) for one in p.output(3).pieces), p.output(3).ended), (7, 14, True))
            with s.process(["sh", "-c", "trap 'stty size; exit 5' WINCH; echo up; while :; do sleep 0.1; done"], tty=(24, 80)) as shell:
                self.assertEqual(next(iter(shell.attach())).text, "up\r\n")
                shell.resize(33, 99)
                self.assertEqual((shell.wait().exit_code, b"".join(one.data for one in shell.attach(4))), (5, b"33 99\r\n"))
            with s.process(["sleep", "1000"]) as sleeper:
                sleeper.signal("SIGTERM")
                self.assertEqual(sleeper.wait().exit_code, 143)
            with s.process(["sleep", "1000"]) as sleeper:
                pass
            self.assertEqual(sleeper.wait().exit_code, 137)

        async def asynchronous() -> None:
            async with AsyncCodeSandbox() as box, await box.create_session() as s:
                async with await s.process(["cat"], stdin_open=True) as cat:
                    await cat.send(b"a\xff", eof=True)
                    self.assertEqual(b"".join([piece.data async for piece in cat.attach()]), b"a\xff")
                    self.assertEqual((await cat.wait()).exit_code, 0)

        asyncio.run(asynchronous())

    def test_a_volume_outlives_its_session(self) -> None:
        project = f"project {os.getpid()} {time.monotonic_ns()}"
        mine = box(project=project)
        with mine.create_session(volume=Volume(size="16m")) as s:
            s.put_file("kept", "here", volume=True)
            self.assertEqual(s.run(["cat", "/workspace/kept"]).stdout, "here")
            with self.assertRaises(RequestError) as raised:
                mine.delete_volume(project)
            self.assertEqual(raised.exception.code, "conflict")
        self.assertEqual(mine.list_volumes()[project], 16 << 20)
        with mine.create_session(volume=Volume(read_only=True)) as s:
            self.assertEqual((s.get_file("kept", volume=True), [f.name for f in s.list_files(volume=True) if f.kind == "file"]), (b"here", ["kept"]))
        mine.delete_volume(project)
        self.assertNotIn(project, mine.list_volumes())

    def test_a_run_is_ended(self) -> None:
        run = f"run {os.getpid()} {time.monotonic_ns()}"
        mine = box(project=run, run=run)
        s = mine.create_session(volume=Volume(size="16m", temporary=True))
        self.assertNotIn(run, mine.list_volumes())  # which lists those that last
        self.assertTrue(mine.execute("print(1)").success)
        self.assertEqual([r.run for r in mine.get_execution_history(run=run, project="")], [run])
        ended = mine.end_run()
        self.assertEqual((ended.runs, ended.sessions, ended.volumes, ended.total), (0, 1, 1, 2))
        with self.assertRaises(RequestError) as raised:
            s.run(["true"])
        self.assertEqual(raised.exception.code, "session-ended")
        self.assertEqual(mine.end_run().total, 0)

        async def use() -> None:
            async with AsyncCodeSandbox(project=run, run=run) as box:
                session = await box.create_session(volume=Volume(size="16m", temporary=True))
                ended = await box.end_run()
                self.assertEqual((ended.sessions, ended.volumes, ended.total), (1, 1, 2))
                with self.assertRaises(RequestError) as raised:
                    await session.run(["true"])
                self.assertEqual(raised.exception.code, "session-ended")

        asyncio.run(use())

    def test_what_the_readme_shows(self) -> None:
        text = (Path(__file__).parents[1] / "README.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 8)
        names: Dict[str, Any] = {}
        printed = io.StringIO()
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as there, contextlib.redirect_stdout(printed):
            os.chdir(there)
            try:
                os.mkdir("submissions")
                os.mkdir("tests")
                Path("tests/1.in").write_text("1 2")
                Path("tests/1.ans").write_text("3")
                Path("submissions/ann.py").write_text("print(sum(map(int, input().split())))")
                Path("submissions/bob.py").write_text("print(3)")
                for block in blocks:
                    exec(block.replace("http://127.0.0.1:8080", os.environ["BRIG_URL"]), names)
            finally:
                os.chdir(before)
        out = printed.getvalue()
        for part in ("True 4\n", "NameError: name 'undefined' is not defined\nNameError\n", "0 1\n", "1 two\n", "one\n", "item 7 7\n", "job 0 1.0\n", "in a session\n", "ann 2/2 \n    1 ok True", "bob 1/2 test 2: line 1", "1\n1.0 1/1\n['sum']\n", "suite 1.0 1/1\n", "[1.0, 0.5] [True, True]\n", "1,2\n3,4\n", "in a cell\n 21\n", "got a line\n 0\n"):
            self.assertIn(part, out)

    def test_the_service(self) -> None:
        self.assertIn("python", box().list_supported_languages())
        self.assertEqual(box().health()["status"], "ok")
        if os.environ.get("BRIG_API_KEY"):
            with self.assertRaises(RequestError) as raised:
                box(api_key="wrong").execute("x")
            self.assertEqual(raised.exception.status, 401)
        with self.assertRaises(InfraError):
            CodeSandbox(url="http://127.0.0.1:1", retries=1).execute("x")
