"""The run that a client belongs to, and its end: of both clients."""

import asyncio
import inspect
import threading
import unittest
from typing import Any, Callable, Dict, List, Optional, Tuple
from unittest import mock

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, Ended, InfraError, Job, SandboxError, Volume
from brig_sandbox._ended import run_label

from .service import DROP, Answer, Asked, Service, problem, ran
from .test_errors import unused
from .test_spread import judge

SAID: Dict[str, Any] = {"runs": 2, "sessions": 1, "batches": 0, "volumes": 3}

BOTH: Tuple[Any, ...] = (CodeSandbox, AsyncCodeSandbox)


def said(box: Any, name: str, *arguments: Any, **options: Any) -> Any:
    """What a method of either client gives; if it gives one after the other, a list."""

    async def wait() -> Any:
        answer = getattr(box, name)(*arguments, **options)
        try:
            return await answer if inspect.isawaitable(answer) else [one async for one in answer]
        finally:
            box.close()

    if isinstance(box, AsyncCodeSandbox):
        return asyncio.run(wait())
    answer = getattr(box, name)(*arguments, **options)
    return list(answer) if hasattr(answer, "__next__") else answer


class Run(unittest.TestCase):
    def test_where_it_comes_from(self) -> None:
        known: Tuple[Tuple[Dict[str, str], str], ...] = (
            ({}, ""),
            ({"SLURM_JOB_ID": "12"}, "12"),
            ({"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "10", "SLURM_ARRAY_TASK_ID": "3"}, "10_3"),
            ({"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "10"}, "12"),
            ({"SLURM_JOB_ID": "12", "BRIG_RUN": "mine"}, "mine"),
            ({"SLURM_JOB_ID": "12", "BRIG_RUN": ""}, "12"),
        )
        for env, want in known:
            self.assertEqual(run_label(env), want)
            for client in BOTH:
                with self.subTest(client.__name__, env=env), mock.patch.dict("os.environ", env, clear=True):
                    self.assertEqual(client().run, want)
                    self.assertEqual((client(run="x").run, client(run="").run), ("x", ""))
                    self.assertEqual([one.run for one in client(url=["http://a", "http://b"], run="x").each()], ["x", "x"])

    def test_all_that_begins_has_it(self) -> None:
        calls: Tuple[Tuple[str, Tuple[Any, ...], Dict[str, Any]], ...] = (
            ("execute", ("1",), {}),
            ("execute_many", (["1"],), {}),
            ("run_tests", ("1", [("", "1")]), {}),
            ("grade", ("sum", "1"), {}),
            ("run_suite", ("1", {"t": ""}), {}),
            ("create_session", (), {"volume": Volume(temporary=True)}),
        )
        x = {"project": "p", "run": "x"}

        def decide(asked: Asked) -> Answer:
            return judge(asked) if asked.path.startswith("/v1/batches") else Answer(200, {"session_id": "s1", **ran().body})

        for client in BOTH:
            for name, arguments, options in calls:
                with self.subTest(f"{client.__name__}.{name}"), Service(decide=decide) as service:
                    box = client(url=service.url, project="p", run="x")
                    try:
                        said(box, name, *arguments, **options)
                        said(box, name, *arguments, **options, **({} if name == "execute_many" else {"task": "t"}))
                    except InfraError as e:  # the answer has no tests
                        self.assertEqual(e.code, "bad-answer")
                    self.assertEqual(service.asked[0].body["labels"], x)
                    for asked in service.asked[1:]:
                        self.assertEqual(asked.body["labels"], x if name == "execute_many" else {**x, "task": "t"})
                    self.assertEqual(service.asked[0].body.get("volume"), {"temporary": True} if name == "create_session" else None)
            for name in ("grade_many", "score_many"):
                with self.subTest(f"{client.__name__}.{name}"), Service(decide=decide) as service:
                    said(client(url=service.url, run="x"), name, [Job("1", [("", "1")])])
                    self.assertIn(b'"labels": {"run": "x"}', service.asked[0].body.splitlines()[0])

    def test_a_batch_is_found_from_another_run(self) -> None:
        def keys(client: Any, addresses: int, run: str, project: str) -> List[str]:
            with Service(decide=judge) as a, Service(decide=judge) as b:
                box = client(url=[a.url, b.url][:addresses], project=project, run=run)
                said(box, "grade_many", [Job("1"), Job("2")], key="k")
                return [asked.headers["Idempotency-Key"] for service in (a, b) for asked in service.asked]

        for addresses in (1, 2):
            first = keys(CodeSandbox, addresses, "x", "p")
            self.assertEqual(len(first), addresses)
            for client in BOTH:
                for run, project in (("y", "p"), ("", "p"), ("x", "q"), ("y", "")):
                    with self.subTest(client.__name__, addresses=addresses, run=run, project=project):
                        self.assertEqual(keys(client, addresses, run, project) == first, project == "p")


class End(unittest.TestCase):
    def test_its_end(self) -> None:
        for client in BOTH:
            with self.subTest(client.__name__):
                with Service(Answer(200, SAID)) as service:
                    box = client(url=service.url, project="p", run="x")
                    ended = said(box, "end_run")
                    said(box, "end_run", "y", project="q")
                    said(client(url=service.url, run=""), "end_run", "z")
                self.assertEqual((ended, ended.total), (Ended(2, 1, 0, 3), 6))
                bodies = ({"run": "x"}, {"run": "y", "project": "q"}, {"run": "z"})
                self.assertEqual([(a.method, a.path, a.body) for a in service.asked], [("POST", "/v1/end", b) for b in bodies])
                for arguments in ((), ("",)):
                    with self.assertRaisesRegex(ValueError, "run is empty"):
                        said(client(url="http://127.0.0.1:1", run=""), "end_run", *arguments)
                for bad in ({}, [], {**SAID, "runs": "many"}):
                    with Service(Answer(200, bad)) as service, self.assertRaises(InfraError):
                        said(client(url=service.url, run="x"), "end_run")

    def test_it_is_ended_at_all_addresses(self) -> None:
        for client in BOTH:
            with self.subTest(client.__name__), Service(Answer(200, SAID)) as a, Service(Answer(200, {**SAID, "batches": 5})) as b:
                box = client(url=[a.url, b.url], run="x")
                self.assertEqual(said(box, "end_run", project="q"), Ended(4, 2, 5, 6))
                self.assertEqual([asked.body for s in (a, b) for asked in s.asked], [{"run": "x", "project": "q"}] * 2)
                self.assertEqual([said(one, "end_run").batches for one in box.each()], [0, 5])
                self.assertEqual((len(a.asked), len(b.asked)), (2, 2))

    def test_one_address_that_fails_keeps_no_other_from_it(self) -> None:
        refused = problem(401, "unauthorized", False)
        cases: Tuple[List[Optional[Answer]], ...] = ([refused], [refused, refused], [None], [None, refused])  # None: it does not answer
        for client in BOTH:
            for others in cases:
                with self.subTest(client.__name__, others=others), Service(refused) as fails, Service(refused) as too, Service(Answer(200, SAID)) as works:
                    there = [fails.url, too.url]
                    urls = [unused() if other is None else there.pop(0) for other in others]
                    with self.assertRaises(SandboxError) as raised:
                        said(client(url=[*urls, works.url], run="x", retries=0), "end_run")
                    codes = [e.code for e in (raised.exception, *raised.exception.others)]
                    self.assertEqual(codes, ["gateway-unreachable" if other is None else "unauthorized" for other in others])
                    self.assertEqual([asked.path for asked in works.asked], ["/v1/end"])

    def test_addresses_are_asked_at_the_same_time(self) -> None:
        """Each service answers when both were asked: one after the other would get an error from the first."""
        for client in BOTH:
            both = threading.Barrier(2)

            def decide(_: Asked) -> Answer:
                both.wait(60)
                return Answer(200, SAID)

            with self.subTest(client.__name__), Service(decide=decide) as a, Service(decide=decide) as b:
                self.assertEqual(said(client(url=[a.url, b.url], run="x"), "end_run").total, 12)

    def test_a_kept_connection_that_has_ended_is_no_failure(self) -> None:
        async def use(url: str) -> Ended:
            async with AsyncCodeSandbox(url=url, run="x", retries=0) as box:
                await box.execute("1")
                return await box.end_run()

        def synchronous(url: str) -> Ended:
            with CodeSandbox(url=url, run="x", retries=0) as box:
                box.execute("1")
                return box.end_run()

        asks: Tuple[Callable[[str], Ended], ...] = (synchronous, lambda url: asyncio.run(use(url)))
        for ask in asks:
            with Service(ran(), DROP, Answer(200, SAID), keeps=True) as service:
                self.assertEqual(ask(service.url).total, 6)
                self.assertEqual([asked.path for asked in service.asked], ["/v1/runs", "/v1/end", "/v1/end"])

    def test_what_is_listed(self) -> None:
        run = {"run_id": "b", "run": "x", "verdict": "ok", "exit_code": 0, "wall_ns": 1, "memory_bytes": 9, "created": "2026-03-01T12:00:01Z"}
        with Service(Answer(200, {"items": [run]}), Answer(200, {"items": []})) as service:
            box = CodeSandbox(url=service.url, run="x")
            self.assertEqual([r.run for r in box.get_execution_history(limit=1)], ["x"])
            box.get_execution_history(run="y", limit=1)
        self.assertEqual([a.path for a in service.asked], ["/v1/history?limit=1", "/v1/history?run=y&limit=1"])
        volumes = [{"name": "p", "size": 5}, {"name": "p", "run": "x", "size": 7}]
        with Service(Answer(200, {"items": volumes})) as service:
            self.assertEqual(CodeSandbox(url=service.url).list_volumes(), {"p": 5})
