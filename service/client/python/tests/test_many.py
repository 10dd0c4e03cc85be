import threading
import unittest
from typing import Iterator

from brig_sandbox import CodeSandbox, InfraError, RequestError

from .service import Answer, Asked, Service, problem, ran


class Many(unittest.TestCase):
    def test_results_come_as_they_finish(self) -> None:
        released = threading.Event()

        def decide(asked: Asked) -> Answer:
            if asked.body["source"] == "slow":
                released.wait(60)
            return ran(stdout=asked.body["source"] + asked.body["language"])

        with Service(decide=decide) as service:
            got = []
            for result in CodeSandbox(url=service.url).execute_many(["slow", "a", {"code": "b", "language": "c"}], concurrency=2):
                got.append((result.index, result.stdout))
                if len(got) == 2:
                    released.set()
        self.assertEqual(got, [(1, "apython"), (2, "bc"), (0, "slowpython")])

    def test_no_more_at_a_time_than_asked_for_and_items_are_taken_as_there_is_room(self) -> None:
        lock = threading.Lock()
        now = most = taken = 0

        def decide(asked: Asked) -> Answer:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            threading.Event().wait(0.005)
            with lock:
                now -= 1
            return ran()

        def items() -> Iterator[str]:
            nonlocal taken
            for i in range(40):
                taken += 1
                yield str(i)

        with Service(decide=decide) as service:
            for n, _ in enumerate(CodeSandbox(url=service.url).execute_many(items(), concurrency=3), 1):
                self.assertLessEqual(taken, n + 3)
        self.assertEqual((n, taken), (40, 40))
        self.assertLessEqual(most, 3)

    def test_failures_come_last_and_lose_no_result(self) -> None:
        def decide(asked: Asked) -> Answer:
            return {"1": problem(500, "internal", False), "3": problem(400, "bad-request", False)}.get(asked.body["source"], ran())

        with Service(decide=decide) as service:
            got = []
            with self.assertRaises(InfraError) as raised:
                for result in CodeSandbox(url=service.url).execute_many(map(str, range(6)), concurrency=2):
                    self.assertTrue(result.success)
                    got.append(result.index)
        self.assertEqual(sorted(i for i in got if i is not None), [0, 2, 4, 5])
        self.assertEqual(raised.exception.index, 1)
        self.assertEqual([(type(e), e.index) for e in raised.exception.others], [(RequestError, 3)])

    def test_stopping_early_leaves_nothing(self) -> None:
        with Service(ran()) as service:
            for _ in CodeSandbox(url=service.url).execute_many(["x"] * 100, concurrency=2):
                break
            self.assertLess(len(service.asked), 10)
        self.assertFalse([t for t in threading.enumerate() if t.name.startswith("brig")])

    def test_nothing(self) -> None:
        self.assertEqual(list(CodeSandbox().execute_many([])), [])
        with self.assertRaises(ValueError):
            CodeSandbox().execute_many(["x"], concurrency=0)
