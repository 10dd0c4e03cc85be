import asyncio
import threading
import time
import unittest
from typing import Any, Awaitable, Callable, Dict, List, Tuple, TypeVar
from unittest import mock

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, InfraError, Job, ManyProgress, RequestError, ResourceLimits, SandboxError, Volume, _http
from brig_sandbox._retrying import Policy

from .service import DROP, Answer, Asked, Service, problem, ran
from .test_batch import JOBS, done, failed, lines
from .test_errors import unused
from .test_grading import RIGHT, graded
from .test_hostile import Raw

T = TypeVar("T")


def once(url: Any, ask: Callable[[AsyncCodeSandbox], Awaitable[T]], **options: Any) -> T:
    async def run() -> T:
        async with AsyncCodeSandbox(url=url, **options) as box:
            return await ask(box)

    return asyncio.run(run())


class Async(unittest.TestCase):
    def test_it_sends_what_the_synchronous_client_sends(self) -> None:
        limits = ResourceLimits(memory_limit="64m")
        calls: List[Tuple[str, Answer, Dict[str, Any]]] = [
            ("execute", ran(), {"code": "ü", "limits": limits, "stdin": b"\xff", "files": {"a": "b"}, "env_vars": {"A": "b"}, "network_enabled": True, "allow": ["a.test"], "requirements": ["x"], "read_only": False, "mode": "fresh", "timeline_seconds": 0.5, "task": "t"}),
            ("run_tests", graded(RIGHT), {"code": "x", "tests": [("1 2", "3")], "compare": "float", "tolerance": 0.1, "stop_at_failure": True, "input_file": "i", "output_file": "o"}),
            ("grade", graded(RIGHT), {"problem": "sum", "source": "x", "language": "c"}),
            ("run_suite", graded(RIGHT), {"code": "x", "files": {"t": ""}, "report": "unittest", "cases": 1, "command": ["a"]}),
            ("create_session", Answer(200, {"session_id": "s"}), {"language": "python", "limits": limits, "idle_seconds": 5, "project": "q"}),
            ("create_session", Answer(200, {"session_id": "s"}), {"project": "q", "volume": Volume(size="1m", temporary=True)}),
            ("end_run", Answer(200, {"runs": 1, "sessions": 0, "batches": 0, "volumes": 1}), {"project": "q"}),
            ("health", Answer(200, {"status": "ok"}), {}),
        ]
        for name, answer, arguments in calls:
            with self.subTest(name), Service(answer) as service:
                with CodeSandbox(url=service.url, api_key="k", project="p", run="x") as box:
                    want = getattr(box, name)(**arguments)
                got = once(service.url, lambda box: getattr(box, name)(**arguments), api_key="k", project="p", run="x")  # type: ignore[no-any-return]
                first, second = service.asked
            self.assertEqual((first.method, first.path, first.body), (second.method, second.path, second.body))
            same = ("Authorization", "Content-Type", "Accept", "User-Agent", "Host")
            self.assertEqual([first.headers.get(h) for h in same], [second.headers.get(h) for h in same])
            self.assertEqual(repr(got).replace("Async", ""), repr(want))

    def test_one_connection_for_one_request_at_a_time(self) -> None:
        async def use(box: AsyncCodeSandbox) -> None:
            for _ in range(10):
                await box.execute("x")
            await asyncio.gather(*[box.execute("x") for _ in range(30)])

        with Service(ran(), keeps=True) as service:
            once(service.url, use)
            self.assertEqual(len(service.asked), 40)
            self.assertLessEqual(service.connections, 30)
            box = AsyncCodeSandbox(url=service.url)
            loops = [asyncio.new_event_loop() for _ in range(2)]
            for loop in loops:  # a connection belongs to its loop
                self.assertTrue(loop.run_until_complete(box.execute("x")).success)
            box.close()
            for loop in loops:
                loop.run_until_complete(asyncio.sleep(0))
                loop.close()

    def test_a_service_that_closes_idle_connections_is_no_failure(self) -> None:
        with Service(ran(), DROP, ran(), keeps=True) as service:

            async def use(box: AsyncCodeSandbox) -> None:
                await box.execute("x")
                await box.execute("x")  # the kept connection ends as the request is sent
                self.assertEqual(len(service.asked), 3)
                service.hang_up()
                await asyncio.sleep(0.05)
                self.assertTrue((await box.execute("x")).success)

            once(service.url, use, retries=0)

    def test_errors_are_those_of_the_synchronous_client(self) -> None:
        for answer in (problem(429, "queue-full", False), problem(503, "busy", True), problem(400, "bad-request", False), Answer(502, b"<html>"), problem(401, "unauthorized", False), DROP, Answer(200, b"no json"), Answer(200, b'{"verdict": 1}')):
            with self.subTest(answer), Service(answer) as service:
                said = []
                asks: List[Callable[[], object]] = [
                    lambda: CodeSandbox(url=service.url, retries=1, patience=0.01).execute("x"),
                    lambda: once(service.url, lambda box: box.execute("x"), retries=1, patience=0.01),
                ]
                for ask in asks:
                    with self.assertRaises(SandboxError) as failure:
                        ask()
                    e = failure.exception
                    said.append((type(e), e.code, e.status, e.retry_safe, e.phase, len(service.asked)))
                self.assertEqual((*said[0][:-1], 2 * said[0][-1]), said[1])
        with self.assertRaises(InfraError) as raised:
            once(unused(), lambda box: box.execute("x"), retries=0)
        self.assertEqual((raised.exception.code, raised.exception.phase, raised.exception.retry_safe), ("gateway-unreachable", "connect", True))

    def test_answers_that_are_no_answers(self) -> None:
        head = b"HTTP/1.1 200 OK\r\n"
        for pieces, code in (
            ([head + b"Content-Length: 1000000000000000000\r\n\r\n{}"], "gateway-gone"),
            ([head + b"Content-Length: x\r\n\r\n{}"], "gateway-gone"),
            ([head + b"Content-Length: 3\r\n\r\n{}"], "gateway-gone"),
            ([head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}"], "gateway-gone"),
            ([head + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}"], "gateway-gone"),
            ([head + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 2000000], "bad-answer"),
            ([b"SSH-2.0-x\r\n\r\n"], "bad-answer"),
            ([head + b"X: y\r\n" * 300 + b"\r\n"], "bad-answer"),
            ([b"HTTP/1.1 200 OK\r\n\r\n", *[b"a" * (1 << 16)] * 40], "bad-answer"),
            ([b"HTTP/1.1 100 Continue\r\n\r\n" * 50000], "bad-answer"),
        ):
            with self.subTest(pieces[0][:60]), Raw(*pieces) as service, mock.patch.object(_http, "_MOST", 1 << 20):
                with self.assertRaises(InfraError) as raised:
                    once(service.url, lambda box: box.execute("x"), retries=0)
                self.assertEqual((raised.exception.code, raised.exception.retry_safe), (code, False), raised.exception)
        for pieces in ([b"HTTP/1.1 200 OK\r\nX: ", *[b"x"] * 40], [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", *[b" "] * 40]):
            with self.subTest(pieces[0]), Raw(*pieces, pause=0.1) as service:
                with self.assertRaises(InfraError) as raised:
                    once(service.url, lambda box: box.execute("x"), retries=0, answer_timeout=0.3)
                self.assertEqual(raised.exception.code, "gateway-timeout")
        # The controls: an answer in chunks, with an interim one before it, and one that ends with the connection.
        for whole in (
            b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\n{\"ver\r\n10\r\ndict\": \"ok\", \"a\"\r\n3\r\n:1}\r\n0\r\nTrailer: 1\r\n\r\n",
            b"HTTP/1.0 200 OK\r\n\r\n{\"verdict\": \"ok\"}",
        ):
            with Raw(whole) as service:
                self.assertTrue(once(service.url, lambda box: box.execute("x")).success)

    def test_a_canceled_request_leaves_no_connection(self) -> None:
        released = threading.Event()

        def decide(asked: Asked) -> Answer:
            if asked.body["source"] == "slow":
                released.wait(60)
            return ran(stdout=asked.body["source"])

        with Service(decide=decide, keeps=True) as service:

            async def use(box: AsyncCodeSandbox) -> str:
                await box.execute("a")
                slow = asyncio.ensure_future(box.execute("slow"))
                while len(service.asked) < 2:
                    await asyncio.sleep(0.001)
                slow.cancel()
                await asyncio.gather(slow, return_exceptions=True)
                released.set()
                return (await box.execute("b")).stdout

            self.assertEqual(once(service.url, use), "b")
            self.assertEqual(service.connections, 2)

    def test_a_session(self) -> None:
        def decide(asked: Asked) -> Answer:
            if asked.path == "/v1/sessions":
                return Answer(200, {"session_id": "s/1", "language": "python"})
            if asked.path.endswith("/exec"):
                return ran(stdout=str(asked.body))
            if asked.path.endswith("/files?dir=d"):
                return Answer(200, {"files": [{"name": "d/a", "kind": "file", "size": 1}]})
            if asked.method == "GET" and "/files/" in asked.path:
                return Answer(200, b"\x00bytes")
            return Answer(410, {"code": "session-ended"}) if asked.method == "DELETE" else Answer(200, {})

        async def use(box: AsyncCodeSandbox) -> None:
            async with await box.create_session() as session:
                self.assertIn("'source': 'x', 'argv': ['a'], 'stdin': 'in'", (await session.execute("x", ["a"], stdin="in")).stdout)
                self.assertIn("'argv': ['ls'], 'limits': {'wall': '1.000000s', 'memory': 1048576}", (await session.run(["ls"], timeout_seconds=1, memory_limit="1m")).stdout)
                await session.put_file("d/ü", "text", executable=True)
                self.assertEqual(await session.get_file("d/ü"), b"\x00bytes")
                self.assertEqual([f.name for f in await session.list_files("d")], ["d/a"])
                with self.assertRaises(RequestError):
                    await session.put_file("../x", "")

        with Service(decide=decide) as service:
            once(service.url, use)
        self.assertEqual(service.asked[-1].method, "DELETE")
        self.assertEqual(service.asked[3].path, "/v1/sessions/s%2F1/files/d/%C3%BC?executable=true")

    def test_batches(self) -> None:
        with Service(DROP, lines(done("0", 1), failed("2", "error", "poison", True), end=False), DROP, lines(done("1", 0), done("3", 1))) as service:

            async def use(box: AsyncCodeSandbox) -> List[Tuple[int, Any]]:
                return [(r.index, r.score) async for r in box.grade_many(JOBS, progress=seen.append)]

            seen: List[Any] = []
            with self.assertLogs("brig_sandbox", "WARNING"):
                got = once(service.url, use)
        self.assertEqual(got, [(0, 1.0), (2, None), (1, 0.0), (3, 1.0)])
        self.assertEqual([a.path for a in service.asked], ["/v1/batches?wait=true"] * 2 + ["/v1/batches/b1/results?after=2&follow=true"] * 2)
        self.assertEqual((seen[-1].results, seen[-1].failed, seen[-1].batch_id), (4, 1, "b1"))
        with Service(lines(done("0", 1), done("1", 0.5))) as service:
            self.assertEqual(once(service.url, lambda box: box.score_many([Job("x"), {"code": "y"}])), ([1.0, 0.5], [True, True]))
            self.assertEqual(once(service.url, lambda box: box.score_many([])), ([], []))

    def test_a_refused_batch_has_its_phase(self) -> None:
        with Service(problem(422, "unsupported", False)) as service:
            with self.assertRaises(RequestError) as raised:
                once(service.url, lambda box: box.score_many(JOBS))
        self.assertEqual((raised.exception.phase, len(service.asked)), ("send", 1))


def unhurried() -> Any:
    """Answers may take as long as without a deadline: on a loaded host none is cut off by one of milliseconds."""
    bounded = Policy.seconds
    return mock.patch.object(Policy, "seconds", lambda policy, timeout, now: bounded(policy, timeout, now) and timeout)


class Many(unittest.TestCase):
    """execute_many of both clients: a full service, or one that is away, is waited for."""

    def results(self, url: Any, count: int, **options: Any) -> Dict[int, str]:
        async def use(box: AsyncCodeSandbox) -> Dict[int, str]:
            return {r.index or 0: r.stdout async for r in box.execute_many(map(str, range(count)), 16, **options)}

        got = once(url, use, patience=0.05)
        with CodeSandbox(url=url, patience=0.05) as box:
            self.assertEqual({r.index or 0: r.stdout for r in box.execute_many(map(str, range(count)), 16, **options)}, got)
        return got

    def test_a_full_service_is_waited_for(self) -> None:
        lock, now, refused = threading.Lock(), [0], [0]

        def decide(asked: Asked) -> Answer:
            with lock:
                if now[0] == 2:
                    refused[0] += 1
                    return problem(429 if refused[0] % 2 else 503, "queue-full", True, ("Retry-After", "0"))
                now[0] += 1
            time.sleep(0.002)
            with lock:
                now[0] -= 1
            return ran(stdout=asked.body["source"])

        with Service(decide=decide, keeps=True) as service:
            self.assertEqual(self.results(service.url, 60), {n: str(n) for n in range(60)})
        self.assertGreater(refused[0], 10)

    def test_a_service_that_is_away_for_a_minute_is_survived(self) -> None:
        """A clock of the test's own: the service drops runs, refuses them, and comes back after a minute."""
        clock = [1000.0]
        until = 1060.0

        def decide(asked: Asked) -> Answer:
            if clock[0] < until:
                clock[0] += 0.5
                return [DROP, Answer(502, b"bad gateway"), problem(503, "stopping", True)][int(clock[0]) % 3]
            return ran(stdout=asked.body["source"])

        def sleep(seconds: float) -> None:
            clock[0] += seconds

        async def asleep(seconds: float) -> None:
            clock[0] += seconds

        fake = mock.Mock(monotonic=lambda: clock[0], sleep=sleep)
        with Service(decide=decide) as service:
            with mock.patch("brig_sandbox._http.time", fake), mock.patch("brig_sandbox._batches.time", fake), unhurried():
                box = CodeSandbox(url=service.url)
                self.assertEqual([r.stdout for r in box.execute_many(["a"], 1)], ["a"])
                until = clock[0] + 60
                with self.assertRaises(InfraError) as raised:
                    list(box.execute_many(["a"], 1, deadline_seconds=30))
                self.assertIn("the deadline passed while the service was away", str(raised.exception))
                self.assertLess(clock[0], until)

            until = clock[0] + 60

            async def use(box: AsyncCodeSandbox) -> List[str]:
                with mock.patch("brig_sandbox._async_http.time", fake), mock.patch("brig_sandbox._async_http.asyncio.sleep", asleep):
                    return [r.stdout async for r in box.execute_many(["a"], 1)]

            self.assertEqual(once(service.url, use), ["a"])

    def test_a_deadline_ends_the_wait_and_says_so(self) -> None:
        with Service(problem(429, "queue-full", True, ("Retry-After", "0.01"))) as service:

            async def use(box: AsyncCodeSandbox) -> None:
                async for _ in box.execute_many(["a", "b"], deadline_seconds=0.1):
                    pass

            asks: List[Callable[[], object]] = [lambda: list(CodeSandbox(url=service.url).execute_many(["a", "b"], deadline_seconds=0.1)), lambda: once(service.url, use)]
            for ask in asks:
                with self.assertRaises(InfraError) as raised, unhurried():
                    ask()
                e = raised.exception
                self.assertIn(e.code, ("queue-full", "deadline"))  # deadline: there was no time left to try it
                self.assertEqual((e.phase, e.retry_safe, len(e.others)), ("queue", True, 1))
                self.assertIn("the deadline passed", str(e))

    def test_nothing_is_sent_after_the_deadline(self) -> None:
        released = threading.Event()

        def decide(_: Asked) -> Answer:
            released.wait(60)
            return ran()

        async def use(box: AsyncCodeSandbox) -> None:
            async for _ in box.execute_many(["a", "b", "c"], 1, deadline_seconds=0.1):
                pass

        for synchronous in (True, False):
            with Service(decide=decide) as service, self.assertRaises(InfraError) as raised:
                try:
                    if synchronous:
                        list(CodeSandbox(url=service.url).execute_many(["a", "b", "c"], 1, deadline_seconds=0.1))
                    else:
                        once(service.url, use)
                finally:
                    self.assertLess(len(service.asked), 2)
                    released.set()
            if service.asked:
                self.assertIn("the deadline passed before", str(raised.exception))
                self.assertNotIn("answer_timeout", str(raised.exception))
            released.clear()
            self.assertEqual({e.code for e in raised.exception.others}, {"deadline"})

    def test_a_run_with_a_network_is_not_sent_twice(self) -> None:
        with Service(DROP, ran()) as service:
            with self.assertRaises(InfraError) as raised:
                list(CodeSandbox(url=service.url).execute_many([{"code": "x", "network_enabled": True}]))
        self.assertEqual((raised.exception.code, len(service.asked)), ("gateway-gone", 1))

    def test_progress_and_results_as_they_come(self) -> None:
        with Service(ran(), problem(500, "internal", False), ran()) as service:
            seen: List[ManyProgress] = []
            with self.assertRaises(InfraError):
                list(CodeSandbox(url=service.url).execute_many(["a", "b", "c"], 1, progress=seen.append))
            self.assertEqual([(p.results, p.failed) for p in seen], [(1, 0), (1, 1), (2, 1)])
            self.assertEqual(str(ManyProgress(2, 1, 3, 4.2)), "brig: 2 results, 1 not run, 3 under way, 4 s")

    def test_stopping_early_leaves_nothing(self) -> None:
        with Service(ran()) as service:

            async def use(box: AsyncCodeSandbox) -> int:
                results = box.execute_many(["x"] * 100, 2)
                async for _ in results:
                    break
                await results.aclose()  # type: ignore[attr-defined]
                return len([t for t in asyncio.all_tasks() if t is not asyncio.current_task()])

            self.assertEqual(once(service.url, use), 0)
            self.assertLess(len(service.asked), 10)
