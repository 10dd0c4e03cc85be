import asyncio
import json
import unittest
from typing import Any, Callable, Dict, List, Tuple

from brig_sandbox import AsyncCodeSandbox, AsyncSession, CodeSandbox, Display, InfraError, RequestError, Session

from .service import DROP, Answer, Asked, Service, problem

KERNEL = Answer(201, {"id": "k1", "language": "python", "state": "idle"})
DONE = Answer(204, None)
END = {"type": "end", "status": "ok"}


def lines(*events: Dict[str, Any]) -> Answer:
    return Answer(200, b"".join(json.dumps(e).encode() + b"\n" for e in events))


def session(service: Service) -> Session:
    return Session(CodeSandbox(url=service.url, patience=0.02)._http, {"session_id": "s1"})


class Kernels(unittest.TestCase):
    def test_what_is_sent(self) -> None:
        with Service(KERNEL, lines({"type": "start", "count": 1}, END), DONE, Answer(200, {}), Answer(200, {"state": "busy"}), DONE) as service:
            with session(service).kernel("javascript", directory="/tmp", env_vars={"A": "b"}) as k:
                r = k.execute("x", env_vars={"C": "d"}, timeout_seconds=2, silent=True)
                k.interrupt()
                k.restart()
                self.assertEqual(k.status(), "busy")
        self.assertEqual((k.id, r.success, r.count, r.result), ("k1", True, 1, None))
        at = "/v1/sessions/s1/kernels"
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                ("POST", at, {"language": "javascript", "cwd": "/tmp", "env": {"A": "b"}}),
                ("POST", at + "/k1/execute", {"code": "x", "env": {"C": "d"}, "timeout": "2.000000s", "silent": True}),
                ("POST", at + "/k1/interrupt", None),
                ("POST", at + "/k1/restart", None),
                ("GET", at + "/k1", None),
                ("DELETE", at + "/k1", None),
            ],
        )

    def test_what_a_cell_did(self) -> None:
        events = (
            {"type": "start", "count": 3, "restarted": True},
            {"type": "stdout", "text": "a"},
            {"type": "keepalive"},
            {"type": "stderr", "text": "b"},
            {"type": "stdout", "text": "c"},
            {"type": "display", "data": {"image/png": "iVBO\nRw==", "text/plain": "<Figure>"}, "metadata": {"w": 1}},
            {"type": "something new"},
            {"type": "result", "data": {"text/plain": "21", "application/json": {"a": 1}}},
            {"type": "error", "name": "E", "value": "v", "traceback": ["line"]},
            {"type": "end", "status": "died", "restarted": True},
        )
        out: List[str] = []
        err: List[str] = []
        shown: List[Display] = []
        with Service(KERNEL, lines(*events)) as service:
            r = session(service).kernel().execute("x", on_stdout=out.append, on_stderr=err.append, on_display=shown.append)
        self.assertEqual((out, err, r.stdout, r.stderr, r.count), (["a", "c"], ["b"], "ac", "b", 3))
        self.assertEqual((r.status, r.success, r.fresh, r.restarted, r.cut), ("died", False, True, True, False))
        self.assertEqual((str(r.error), r.error and r.error.traceback), ("E: v", ["line"]))
        assert r.result is not None
        self.assertEqual((r.result.text, r.result.content("application/json"), r.result.png), ("21", b'{"a": 1}', None))
        self.assertEqual((shown, r.displays[0].png, r.displays[0].metadata), (r.displays, b"\x89PNG", {"w": 1}))
        with self.assertRaisesRegex(ValueError, "no base64"):
            Display({"image/png": "?"}).png

    def test_tools(self) -> None:
        def fail() -> None:
            raise ValueError("no")

        tools: Dict[str, Callable[..., Any]] = {"add": lambda a, b: a + b, "fail": fail, "set": lambda: {1}}
        asked: List[Tuple[Dict[str, Any], Dict[str, Any]]] = [
            ({"name": "add", "args": [1], "named": {"b": 2}}, {"value": 3}),
            ({"name": "fail"}, {"error": "ValueError: no"}),
            ({"name": "other"}, {"error": "LookupError: there is no tool 'other': there are ['add', 'fail', 'set']"}),
            ({"name": "add", "args": [1]}, {"error": "TypeError: "}),
            ({"name": "set"}, {"error": "TypeError: the tool returned what is no JSON"}),
            ({"name": 5}, {"error": "LookupError: "}),
        ]
        for said, want in asked:
            with self.subTest(said):
                with Service(KERNEL, lines({"type": "ask", "id": "7", **said}, END), DONE) as service:
                    self.assertTrue(session(service).kernel().execute("x", tools=tools).success)
                body = service.asked[2].body
                self.assertEqual((service.asked[2].path, body["id"]), ("/v1/sessions/s1/kernels/k1/answer", "7"))
                for name, value in want.items():
                    self.assertEqual(str(body[name])[: len(str(value))], str(value))

        # The cell has ended meanwhile: its last event says how.
        with Service(KERNEL, lines({"type": "ask", "id": "7", "name": "add"}, END), problem(404, "not-found", False)) as service:
            self.assertTrue(session(service).kernel().execute("x").success)

    def test_bad_answers(self) -> None:
        for answer, error, code in (
            (lines({"type": "start"}), InfraError, "gateway-gone"),
            (Answer(200, b'{"type":"start"}\n{"type":'), InfraError, "gateway-gone"),
            (Answer(200, b"x\n"), InfraError, "bad-answer"),
            (Answer(200, b"[]\n"), InfraError, "bad-answer"),
            (Answer(200, b"[" * 100_000 + b"\n"), InfraError, "bad-answer"),
            (lines({"type": "stdout"}), InfraError, "bad-answer"),
            (lines({"type": "result", "data": 7}), InfraError, "bad-answer"),
            (lines({"type": "end"}), InfraError, "bad-answer"),
            (DROP, InfraError, "gateway-gone"),
            (problem(404, "not-found", False), RequestError, "not-found"),
        ):
            with self.subTest(answer.body if answer.status else "dropped"), Service(KERNEL, answer, KERNEL, answer) as service:
                with self.assertRaises(error) as raised:
                    session(service).kernel().execute("x")
                self.assertEqual(getattr(raised.exception, "code"), code)

                async def again() -> None:
                    s = AsyncSession(AsyncCodeSandbox(url=service.url)._http, {"session_id": "s1"})
                    await (await s.kernel()).execute("x")

                with self.assertRaises(error) as raised:
                    asyncio.run(again())
                self.assertEqual(getattr(raised.exception, "code"), code)

    def test_a_function_of_the_caller_that_fails(self) -> None:
        def fail(_: str) -> None:
            raise KeyError("mine")

        with Service(KERNEL, lines({"type": "stdout", "text": "a"}, END)) as service, self.assertRaisesRegex(KeyError, "mine"):
            session(service).kernel().execute("x", on_stdout=fail)


class Processes(unittest.TestCase):
    def test_what_is_sent(self) -> None:
        page = Answer(200, {"items": [{"pid": 3, "state": "running"}]})
        with Service(Answer(201, {"pid": 3}), DONE, DONE, DONE, page, problem(409, "conflict", False)) as service:
            p = session(service).process(["sh"], tty=(24, 80), env_vars={"A": "b"}, timeout_seconds=5, memory_limit="32m", tag="t")
            p.send("x\n", eof=True)
            p.signal("SIGINT")
            p.resize(33, 99)
            self.assertEqual([one.pid for one in session(service).list_processes()], [3])
            p.kill()  # it has ended
        self.assertEqual(
            [(a.method, a.path, a.body) for a in service.asked],
            [
                (
                    "POST",
                    "/v1/sessions/s1/processes",
                    {"argv": ["sh"], "detach": True, "stdin": "open", "tty": {"rows": 24, "cols": 80}, "env": {"A": "b"}, "limits": {"wall": "5.000000s", "memory": 32 << 20}, "tag": "t"},
                ),
                ("POST", "/v1/sessions/s1/processes/3/stdin?eof=true", b"x\n"),
                ("POST", "/v1/sessions/s1/processes/3/signal", {"signal": "SIGINT"}),
                ("POST", "/v1/sessions/s1/processes/3/resize", {"rows": 33, "cols": 99}),
                ("GET", "/v1/sessions/s1/processes", None),
                ("POST", "/v1/sessions/s1/processes/3/signal", {"signal": "SIGKILL"}),
            ],
        )

    def test_output_until_the_end(self) -> None:
        def decide(asked: Asked) -> Answer:
            if "/output" not in asked.path:
                return Answer(201, {"pid": 1})
            if "since=2" not in asked.path:
                return Answer(200, {"offset": 0, "pieces": [{"stream": "stdout", "data": "a"}, {"stream": "stderr", "data": {"base64": "/w=="}}], "next": 2})
            return Answer(200, {"offset": 2, "pieces": [{"stream": "stdout", "data": "c"}], "next": 3, "ended": True})

        with Service(decide=decide) as service:
            got = [(p.stream, p.data, p.offset) for p in session(service).process(["x"]).attach()]
        self.assertEqual(got, [("stdout", b"a", 0), ("stderr", b"\xff", 1), ("stdout", b"c", 2)])
        self.assertIn("wait=30.000000s", service.asked[1].path)

    def test_a_process_without_a_result(self) -> None:
        gone = Answer(200, {"pid": 1, "state": "ended", "error": {"code": "session-ended", "detail": "it is over"}})
        with Service(Answer(201, {"pid": 1}), gone) as service, self.assertRaisesRegex(InfraError, "it is over") as raised:
            session(service).process(["x"]).poll()
        self.assertEqual(raised.exception.code, "session-ended")
