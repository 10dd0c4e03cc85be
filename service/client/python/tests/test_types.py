"""Arguments of a wrong type: each is refused by its name, before anything is sent."""

import asyncio
import inspect
import unittest
from typing import Any, Callable, Dict, List, Tuple

from brig_sandbox import AsyncCodeSandbox, AsyncKernel, AsyncProcess, AsyncSession, Case, CodeSandbox, Job, Kernel, Process, Session, Volume

from .service import Answer, Service

# What the other arguments of a method are while one is wrong.
RIGHT: Dict[str, Any] = {
    "code": "x",
    "source": "x",
    "tests": [("1", "2")],
    "problem": "p",
    "files": {},
    "items": ["x"],
    "jobs": [Job("x")],
    "batch_id": "b",
    "session_id": "s",
    "paths": ["/box"],
    "run_id": "r",
    "container_id": "r",
    "link_id": "l",
    "rejudge_id": "j",
    "token": "t",
    "name": "n",
    "content": "c",
    "packed": b"",
    "directory": "/d",
    "command": ["c"],
    "package": b"",
    "result": "x",
    "kernel_id": "k",
    "pid": 1,
    "rows": 1,
    "columns": 1,
}

# Those that any object may be.
ANY = {"self", "result", "kind", "_", "meta"}


class Wrong:
    def __repr__(self) -> str:
        return "<what is wrong>"


WRONG: Any = Wrong()


def parameters(method: Any) -> List[str]:
    return [name for name in inspect.signature(method).parameters if name not in ANY]


def methods(thing: object) -> List[Tuple[str, Any]]:
    return [(name, method) for name, method in inspect.getmembers(thing, inspect.ismethod) if not name.startswith("_") and parameters(method)]


class Types(unittest.TestCase):
    def call(self, method: Any, arguments: Dict[str, Any]) -> None:
        async def drain(iterator: Any) -> None:
            async for _ in iterator:
                pass

        said = method(**arguments)
        if inspect.isawaitable(said):
            asyncio.run(_awaited(said))
        elif hasattr(said, "__aiter__"):
            asyncio.run(drain(said))
        elif hasattr(said, "__next__"):
            list(said)

    def test_each_argument_of_each_method(self) -> None:
        count = 0
        with Service(Answer(500, {"code": "a request was sent"})) as service:
            with CodeSandbox(url=service.url) as box:
                asynchronous = AsyncCodeSandbox(url=service.url)
                said = {"session_id": "s"}
                kernel, process = {"id": "k"}, {"pid": 1}
                things = (
                    box,
                    asynchronous,
                    Session(box._http, said),
                    AsyncSession(asynchronous._http, said),
                    Kernel(box._http, "/s", kernel),
                    AsyncKernel(asynchronous._http, "/s", kernel),
                    Process(box._http, "/s", process),
                    AsyncProcess(asynchronous._http, "/s", process),
                )
                for thing in things:
                    for name, method in methods(thing):
                        if name in ("analyze_error", "create_debug_report"):
                            continue  # nothing is sent
                        needed = {p: RIGHT[p] for p, spec in inspect.signature(method).parameters.items() if spec.default is spec.empty and p in RIGHT}
                        for parameter in parameters(method):
                            with self.subTest(f"{type(thing).__name__}.{name}({parameter}=...)"):
                                with self.assertRaises(TypeError) as raised:
                                    self.call(method, {**needed, parameter: WRONG})
                                self.assertRegex(str(raised.exception), rf"^({parameter}|\w+ takes a list of items)\b.*<what is wrong>")
                                self.assertRegex(str(raised.exception), r"write |put one item in a list")
                                count += 1
            self.assertEqual(service.asked, [])
        self.assertGreater(count, 150)

    def test_each_setting_of_a_client(self) -> None:
        for client in (CodeSandbox, AsyncCodeSandbox):
            for parameter in parameters(client):
                with self.subTest(f"{client.__name__}({parameter}=...)"), self.assertRaises(TypeError) as raised:
                    client(**{parameter: WRONG})
                self.assertRegex(str(raised.exception), rf"^({parameter}|limits)\b.*<what is wrong>")

    def test_each_field_of_a_test_a_job_and_a_volume(self) -> None:
        kinds: Tuple[Tuple[Any, Tuple[str, ...], Tuple[int, ...]], ...] = ((Case, ("id", "meta"), (0,)), (Job, ("meta",), (0,)), (Volume, (), ()))
        for kind, free, position in kinds:
            for name in inspect.signature(kind).parameters:
                if name in free:
                    continue
                with self.subTest(f"{kind.__name__}.{name}"), self.assertRaises(TypeError) as raised:
                    arguments: Dict[str, Any] = {"code": "x"} if kind is Job else {}
                    kind(**{**arguments, name: WRONG}).to_api(*position)
                self.assertRegex(str(raised.exception), rf"^{name} is <what is wrong>: write ")

    def test_words_that_help(self) -> None:
        box = CodeSandbox(url="http://127.0.0.1:9")
        loose: Any = box
        session: Any = Session(box._http, {"session_id": "s"})
        client: Any = CodeSandbox
        asks: List[Tuple[Callable[[], object], str]] = [
            (lambda: session.run("ls -l"), "command is 'ls -l': write a list of texts.*: use \\['sh', '-c', ...\\]"),
            (lambda: loose.execute("x", env_vars={"A": 1}), "env_vars is .*: 'A' has 1"),
            (lambda: loose.execute("x", files={1: ""}), "files is .*: the name 1 is no text"),
            (lambda: loose.execute("x", requirements="numpy"), "requirements is 'numpy': write a list of texts"),
            (lambda: list(loose.execute_many([{"code": "x", "timeout": 5}])), "item 0 has 'timeout', which is no argument: the arguments are code, language, limits"),
            (lambda: list(loose.execute_many([{"language": "c"}])), "item 0 has no code"),
            (lambda: list(loose.execute_many([5])), "item 0 is 5: write code"),
            (lambda: list(loose.grade_many([{"code": "x", "tests": []}])), "a job has no field 'tests': it is called cases"),
            (lambda: list(loose.grade_many(["x"])), "a job is a Job, such as"),
            (lambda: loose.run_tests("x", {"stdin": "1"}), "tests is .*: write a list of tests"),
            (lambda: client("http://x"), "to use another service write CodeSandbox\\(url=...\\)"),
        ]
        for ask, words in asks:
            with self.subTest(words), self.assertRaisesRegex(TypeError, words):
                ask()


async def _awaited(said: Any) -> Any:
    return await said
