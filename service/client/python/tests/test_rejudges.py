import asyncio
import unittest
from typing import Any, Dict

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, RequestError, ResourceLimits

from .service import Answer, Service, problem, ran

STATE = {"rejudge_id": "j/1", "state": "ready", "judged": 3, "not_judged": 1, "changed": 2, "matrix": [{"old": "wrong-answer", "new": "accepted", "count": 2, "changed": 2}], "left_out": [{"run_id": "r9", "why": "its request is not kept"}]}
CHANGE = {"run_id": "r1", "new_run_id": "n1", "task": "ann", "old": {"outcome": "wrong-answer", "accepted": 1, "tests": 2}, "new": {"outcome": "accepted", "accepted": 2, "tests": 2}, "changed": True}
LOST = {"run_id": "r2", "old": {"outcome": "ok", "accepted": 0, "tests": 0}, "changed": False, "error": {"code": "internal"}}
TESTED: Dict[str, Any] = {"tests": [{"id": "1", "answer": "accepted", "result": ran().body}], "summary": {"tests": 1, "ran": 1, "accepted": 1}}


class Rejudges(unittest.TestCase):
    def test_run_again(self) -> None:
        with Service(ran(stdout="4"), ran(**TESTED), problem(409, "conflict", False)) as service:
            box = CodeSandbox(url=service.url)
            self.assertEqual(box.run_again("r/1", stdin=b"\xff", limits=ResourceLimits(memory_limit="64m"), env_vars={"A": "1"}).stdout, "4")
            self.assertTrue(box.grade_again("r2", code="x").accepted)
            with self.assertRaises(RequestError) as raised:
                box.run_again("r3")
        self.assertEqual(raised.exception.code, "conflict")
        self.assertEqual([(a.method, a.path) for a in service.asked], [("POST", "/v1/runs/r%2F1/again"), ("POST", "/v1/runs/r2/again"), ("POST", "/v1/runs/r3/again")])
        first = service.asked[0].body
        self.assertEqual((first["stdin"], first["env"], set(first), service.asked[1].body, service.asked[2].body), ({"base64": "/w=="}, {"A": "1"}, {"stdin", "env", "limits"}, {"source": "x"}, {}))

    def test_a_rejudge(self) -> None:
        pages = (Answer(200, {"items": [CHANGE], "next": "1"}), Answer(200, {"items": [LOST]}))
        with Service(Answer(201, STATE), Answer(200, STATE), *pages, Answer(200, {**STATE, "state": "applied"}), Answer(200, {**STATE, "state": "discarded"}), Answer(200, {"items": [STATE]})) as service:
            box = CodeSandbox(url=service.url)
            begun = box.rejudge("sum", runs=["r1", "r2"], verdicts=["failed"])
            self.assertEqual((begun.id, begun.matrix, begun.left_out), ("j/1", {("wrong-answer", "accepted"): 2}, {"r9": "its request is not kept"}))
            self.assertEqual(box.get_rejudge(begun.id).state, "ready")
            changes = box.rejudge_changes(begun.id)
            self.assertEqual([(c.run_id, c.new_run_id, c.task, c.old, c.new, c.changed, c.old_accepted, c.new_accepted) for c in changes], [("r1", "n1", "ann", "wrong-answer", "accepted", True, 1, 2), ("r2", "", "", "ok", "", False, 0, None)])
            self.assertEqual((box.apply_rejudge(begun.id).state, box.discard_rejudge(begun.id).state, len(box.list_rejudges())), ("applied", "discarded", 1))
            with self.assertRaisesRegex(ValueError, "nothing says which runs"):
                box.rejudge(project="p")
        self.assertEqual(service.asked[0].body, {"problem": "sum", "runs": ["r1", "r2"], "verdicts": ["failed"]})
        self.assertEqual([a.path for a in service.asked[2:6]], ["/v1/rejudges/j%2F1/changes", "/v1/rejudges/j%2F1/changes?after=1", "/v1/rejudges/j%2F1/apply", "/v1/rejudges/j%2F1/discard"])

    def test_the_same_asynchronously(self) -> None:
        async def all_of_it(url: str) -> Any:
            async with AsyncCodeSandbox(url=url) as box:
                self.assertEqual((await box.run_again("r1")).stdout, "4")
                self.assertTrue((await box.grade_again("r2")).accepted)
                begun = await box.rejudge(batch="b")
                self.assertEqual((await box.get_rejudge(begun.id)).changed, 2)
                self.assertEqual([c.run_id for c in await box.rejudge_changes(begun.id)], ["r1", "r2"])
                self.assertEqual(((await box.apply_rejudge(begun.id)).state, (await box.discard_rejudge(begun.id)).state, len(await box.list_rejudges())), ("ready", "ready", 1))

        pages = (Answer(200, {"items": [CHANGE], "next": "1"}), Answer(200, {"items": [LOST]}))
        with Service(ran(stdout="4"), ran(**TESTED), Answer(201, STATE), Answer(200, STATE), *pages, Answer(200, STATE), Answer(200, STATE), Answer(200, {"items": [STATE]})) as service:
            asyncio.run(all_of_it(service.url))
        self.assertEqual([a.path for a in service.asked[4:6]], ["/v1/rejudges/j%2F1/changes", "/v1/rejudges/j%2F1/changes?after=1"])
