"""Several addresses of a service."""

import asyncio
import threading
import unittest
from typing import Any, Dict, List
from unittest import mock

from brig_sandbox import AsyncCodeSandbox, BatchProgress, CodeSandbox, InfraError, Job, RequestError, Volume

from .service import DROP, Answer, Asked, Service, problem, ran
from .test_batch import done, lines
from .test_errors import unused


def judge(asked: Asked) -> Answer:
    """A service that judges all jobs of a batch at once."""
    import json

    ids = [json.loads(line)["id"] for line in asked.body.splitlines()[1:]]
    return lines(*[done(id, 1) for id in ids])


class Spread(unittest.TestCase):
    def test_requests_are_spread(self) -> None:
        with Service(ran(), keeps=True) as a, Service(ran(), keeps=True) as b:
            for url in ([a.url, b.url], f"{a.url}, {b.url}"):
                with CodeSandbox(url=url) as box:
                    for _ in range(20):
                        box.execute("x")
            self.assertEqual((len(a.asked), len(b.asked)), (20, 20))
            async_count = self._many_async([a.url, b.url], 40)
            self.assertEqual(async_count, 40)
            self.assertGreater(min(len(a.asked), len(b.asked)), 30)

    def _many_async(self, url: Any, count: int) -> int:
        async def use() -> int:
            async with AsyncCodeSandbox(url=url) as box:
                return len([r async for r in box.execute_many(["x"] * count, 8)])

        return asyncio.run(use())

    def test_the_next_goes_where_fewest_are_under_way(self) -> None:
        released = threading.Event()

        def slow(_: Asked) -> Answer:
            released.wait(60)
            return ran()

        with Service(decide=slow) as a, Service(ran()) as b:
            with CodeSandbox(url=[a.url, b.url]) as box:
                results = box.execute_many(["x"] * 20, 2)
                for n, _ in enumerate(results, 1):
                    if n == 10:
                        released.set()
            self.assertGreaterEqual(len(b.asked), 9)

    def test_one_that_is_away_is_left_out(self) -> None:
        for other in (problem(503, "stopping", True), problem(429, "queue-full", True, ("Retry-After", "600"))):
            with Service(ran(stdout="here")) as here, Service(other) as full:
                with CodeSandbox(url=[unused(), full.url, here.url], retries=0) as box:
                    self.assertEqual({box.execute("x").stdout for _ in range(12)}, {"here"})
                self.assertEqual(self._many_async([unused(), full.url, here.url], 12), 12)
                self.assertLess(len(full.asked), 26)
        with self.assertRaises(InfraError) as raised:
            CodeSandbox(url=[unused(), unused()], retries=0).execute("x")
        self.assertEqual(raised.exception.code, "gateway-unreachable")

    def test_a_run_that_may_have_begun_is_not_sent_elsewhere(self) -> None:
        with Service(DROP) as a, Service(DROP) as b, self.assertRaises(InfraError) as raised:
            CodeSandbox(url=[a.url, b.url]).execute("x")
        self.assertEqual((raised.exception.code, len(a.asked) + len(b.asked)), ("gateway-gone", 1))

    def test_a_refusal_is_not_asked_elsewhere(self) -> None:
        with Service(problem(400, "bad-request", False)) as a, Service(problem(400, "bad-request", False)) as b, self.assertRaises(RequestError):
            CodeSandbox(url=[a.url, b.url]).execute("x")
        self.assertEqual(len(a.asked) + len(b.asked), 1)

    def test_a_session_stays_where_it_is(self) -> None:
        def decide(asked: Asked) -> Answer:
            return Answer(200, {"session_id": "s", **ran().body})

        with Service(decide=decide) as a, Service(decide=decide) as b, CodeSandbox(url=[a.url, b.url]) as box:
            for _ in range(2):
                with box.create_session() as session:
                    session.run(["true"])
            self.assertEqual([len(a.asked), len(b.asked)], [3, 3])

    def test_a_batch_is_shared_out(self) -> None:
        jobs = [Job(str(n)) for n in range(11)]
        with Service(decide=judge) as a, Service(decide=judge) as b:
            seen: List[BatchProgress] = []
            got = [r.index for r in CodeSandbox(url=[a.url, b.url]).grade_many(jobs, progress=seen.append)]
            self.assertEqual((sorted(got), seen[-1].results, seen[-1].jobs), (list(range(11)), 11, 11))
            self.assertEqual(sorted(len(s.asked[0].body.splitlines()) - 1 for s in (a, b)), [5, 6])

            async def use() -> Any:
                async with AsyncCodeSandbox(url=[a.url, b.url]) as box:
                    return await box.score_many(jobs)

            self.assertEqual(asyncio.run(use()), ([1.0] * 11, [True] * 11))

    def test_the_jobs_of_one_that_stays_away_go_to_the_others(self) -> None:
        def half(asked: Asked) -> Answer:
            return Answer(503, {"code": "stopping", "retry_safe": True}) if b.asked[1:] else lines(done("1", 0.5), end=False)

        jobs = [Job(str(n)) for n in range(6)]
        with Service(decide=judge) as a, Service(decide=half) as b:
            with mock.patch("brig_sandbox._spread._AWAY", 0.3), self.assertLogs("brig_sandbox", "WARNING"):
                scores, mask = CodeSandbox(url=[a.url, b.url], patience=0.05).score_many(jobs)
        self.assertEqual((scores, mask), ([1.0, 0.5, 1.0, 1.0, 1.0, 1.0], [True] * 6))

    def test_all_away_is_an_error_at_the_end(self) -> None:
        with mock.patch("brig_sandbox._spread._AWAY", 0.1), self.assertLogs("brig_sandbox", "WARNING"), self.assertRaises(InfraError) as raised:
            CodeSandbox(url=[unused(), unused()], patience=0.05, away_timeout=0.3).score_many([Job("x"), Job("y")])
        self.assertEqual((raised.exception.code, raised.exception.phase), ("gateway-unreachable", "connect"))

    def test_stopping_early_leaves_no_thread(self) -> None:
        with Service(decide=judge) as a, Service(decide=judge) as b:
            for _ in CodeSandbox(url=[a.url, b.url]).grade_many([Job(str(n)) for n in range(10)]):
                break
        self.assertFalse([t for t in threading.enumerate() if t.name.startswith("brig")])

    def test_what_is_about_one_service(self) -> None:
        with Service(Answer(200, {"status": "ok"})) as a, Service(Answer(200, {"status": "ok"})) as b, CodeSandbox(url=[a.url, b.url]) as box:
            about_one: Dict[str, Any] = {"health": {}, "problems": {}, "explain": {"run_id": "r"}, "get_execution_history": {}, "list_volumes": {}, "attach": {"batch_id": "b"}, "create_session": {"volume": Volume()}}
            for name, arguments in about_one.items():
                with self.subTest(name), self.assertRaisesRegex(ValueError, r"box\.each\(\)"):
                    said = getattr(box, name)(**arguments)
                    list(said)
            self.assertEqual((a.asked, b.asked), ([], []))
            self.assertEqual([one.health() for one in box.each()], [{"status": "ok"}] * 2)
            self.assertEqual((len(a.asked), len(b.asked)), (1, 1))

    def test_addresses_that_are_none(self) -> None:
        wrong: Any
        for wrong, error in (([], None), ("", None), (",", ValueError), (["http://a", "http://a"], ValueError), (["ftp://a"], ValueError), ([5], TypeError), (5, TypeError)):
            if error is None:
                CodeSandbox(url=wrong)  # the default
                continue
            with self.subTest(wrong), self.assertRaises(error):
                CodeSandbox(url=wrong)
