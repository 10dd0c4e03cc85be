"""Tests of the adapters against a running service, as tests.live. The frameworks are stand-ins."""

import asyncio
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict
from unittest import mock

from brig_sandbox import AsyncCodeSandbox, CodeSandbox, InfraError, RequestError, ResourceLimits

from . import frameworks

LIMITS = ResourceLimits(memory_limit="256m", timeout_seconds=25)


class Adapters(unittest.TestCase):
    def setUp(self) -> None:
        known = mock.patch.dict("sys.modules", frameworks.modules())
        known.start()
        self.addCleanup(known.stop)

    def test_inspect_ai(self) -> None:
        from brig_sandbox.adapters.inspect_ai import BrigSandboxEnvironment

        async def use() -> None:
            environments = await BrigSandboxEnvironment.sample_init("a task", "python", {})
            try:
                await self.use_environment(environments["default"])
            finally:
                await BrigSandboxEnvironment.sample_cleanup("a task", "python", environments, False)
            with self.assertRaisesRegex(frameworks.Unavailable, "session-ended"):
                await environments["default"].exec(["true"])
            environments["default"]._box.close()  # of the last request

        asyncio.run(use())

    async def use_environment(self, box: Any) -> None:
        ran = await box.exec(["sh", "-c", "cat; pwd; echo $A; exit 3"], input="in ", cwd="/tmp", env={"A": "b"})
        self.assertEqual((ran.success, ran.returncode, ran.stdout), (False, 3, "in /tmp\nb\n"))
        large = b"\xc3" * 3_000_000
        for path in ("/tmp/d/large", "e/large", "/box/-f"):
            for content in (large, b"", large, "täxt\r\n"):
                await box.write_file(path, content)
                self.assertEqual(await box.read_file(path, text=isinstance(content, str)), content, path)
        self.assertEqual((await box.exec(["ls", "-A"])).stdout, "-f\ne\n")
        self.assertEqual((await box.exec(["wc", "-c"], input=large)).stdout, "3000000\n")
        self.assertEqual(len((await box.exec(["printf", "%s", *["x" * 65536] * 8])).stdout), 8 * 65536)
        for path, error in (("/nope", FileNotFoundError), ("/etc", IsADirectoryError), ("e", IsADirectoryError)):
            with self.subTest(path), self.assertRaisesRegex(error, path):
                await box.read_file(path)
        for path, error in (("/etc/x", PermissionError), ("/tmp", IsADirectoryError), ("/box/-f/x", OSError)):
            with self.subTest(path), self.assertRaisesRegex(error, path):
                await box.write_file(path, "x")
        await box.exec(["chmod", "a-rw", "e/large"])
        for ask in (box.read_file("e/large"), box.write_file("e/large", "x")):
            with self.assertRaises(PermissionError):
                await ask
        await box.write_file("huge", b"\0" * ((4 << 20) + 1))
        with self.assertRaises(frameworks.TooMuch):
            await box.read_file("huge")
        with self.assertRaises(TimeoutError):
            await box.exec(["sleep", "60"], timeout=1)
        with self.assertRaises(PermissionError):
            await box.exec(["/etc/passwd"])
        self.assertEqual((await box.exec(["no-such-program"])).returncode, 127)
        self.assertIn("bob", (await box.exec(["true"], user="bob")).stderr)
        with self.assertWarnsRegex(RuntimeWarning, "above what the service allows"):
            self.assertTrue((await box.exec(["true"], timeout=100_000)).success)

    def test_tinker_cookbook(self) -> None:
        from brig_sandbox.adapters.tinker_cookbook import BrigSandbox

        async def use() -> None:
            box = await BrigSandbox.create(limits=LIMITS)
            self.assertEqual((await box.write_file("/tmp/d/x", "#!/bin/sh\npwd; exit 4", executable=True, timeout=20)).exit_code, 0)
            ran = await box.run_command("/tmp/d/x", workdir="/tmp", timeout=20)
            self.assertEqual((ran.stdout, ran.exit_code), ("/tmp\n", 4))
            self.assertEqual((await box.run_command("echo " + "x" * 200_000, timeout=20, max_output_bytes=5)).stdout, "xxxxx")
            self.assertEqual((await box.read_file("/tmp/d/x", max_bytes=9, timeout=20)).stdout, "#!/bin/sh")
            self.assertEqual((await box.read_file("/nope")).exit_code, 1)
            self.assertEqual((await box.run_command("sleep 60", timeout=1)).exit_code, 124)
            await box.cleanup()
            with self.assertRaises(frameworks.Terminated):
                await box.send_heartbeat(20)
            await box.cleanup()  # again: it is no error

        asyncio.run(use())

    def test_deepagents(self) -> None:
        from brig_sandbox.adapters.deepagents import BrigBackend

        with CodeSandbox(LIMITS) as box, box.create_session() as session:
            backend = BrigBackend(session)
            ran = backend.execute("echo out; echo err >&2; echo out; exit 3")
            self.assertEqual((ran.output, ran.exit_code, ran.truncated), ("out\nerr\nout\n", 3, False))
            self.assertEqual(backend.execute("echo " + "x" * 200_000).output, "x" * 200_000 + "\n")
            self.assertEqual([f.error for f in backend.upload_files([("/box/a/b", b"x"), ("/etc/x", b""), ("/box", b"")])], [None, "permission_denied", "is_directory"])
            self.assertEqual([(f.content, f.error) for f in backend.download_files(["/box/a/b", "/nope", "/etc"])], [(b"x", None), (None, "file_not_found"), (None, "is_directory")])

    def test_an_interpreter_that_stays(self) -> None:
        from brig_sandbox.adapters._interpreter import Interpreter

        with CodeSandbox(LIMITS) as box, box.create_session() as session:
            interpreter = Interpreter(session, 4)

            def said(code: str, **tools: Any) -> Dict[str, Any]:
                cell = interpreter.execute(code, tools)
                return {name: value for name, value in vars(cell).items() if value and name != "trace"}

            self.assertEqual(said("x = 41; print('a')"), {"out": "a\n"})
            self.assertEqual(said("import os; os.system('echo b')\nx + 1"), {"out": "b\n", "value": "42"})
            self.assertEqual(said("1 / 0"), {"error": "ZeroDivisionError", "text": "division by zero"})
            self.assertEqual(said("while True: pass"), {"error": "KeyboardInterrupt", "late": True})
            self.assertEqual(said("x"), {"value": "41"})
            interpreter.set_tools(["add"])
            interpreter.set_variables({"y": [1, None]})
            self.assertEqual(said("print(add(2, b=3), y); add(1, b='')", add=lambda a, b: a + b)["out"], "5 [1, None]\n")
            self.assertEqual(said("import os; os._exit(1)"), {"died": True, "fresh": True})
            self.assertEqual(said("x")["error"], "NameError")
            # The code may forge what it says; the answer is then a failure, and no wrong result.
            for forged in ('{"error": 1}', '{"out": "?"}'):
                with self.subTest(forged), self.assertRaises(InfraError):
                    interpreter.execute(f"import os\nfor d in range(3, 20):\n    try: os.write(d, {forged!r}.encode() + b'\\n')\n    except OSError: pass\n")
                interpreter = Interpreter(session, 4)

    def test_dspy(self) -> None:
        from brig_sandbox.adapters.dspy import BrigInterpreter

        with CodeSandbox(LIMITS) as box:
            with BrigInterpreter({"shout": lambda text: str(text).upper()}, [{"name": "answer"}, {"name": "n"}], box=box) as interpreter:
                self.assertEqual(interpreter.execute("x = 1; print(shout('a'), y)", {"y": 2}), "A 2\n")
                self.assertEqual(interpreter.execute("x + y"), "3")
                self.assertIsNone(interpreter.execute("z = 1"))
                self.assertEqual(interpreter.execute("SUBMIT('a', n=x)"), frameworks.Final({"answer": "a", "n": 1}))
                with self.assertRaisesRegex(frameworks.CodeError, "KeyError: 'k'"):
                    interpreter.execute("{}['k']")
                with self.assertRaises(SyntaxError):
                    interpreter.execute("def")
                with self.assertRaisesRegex(frameworks.InterpreterError, "ended the interpreter"):
                    interpreter.execute("import os; os._exit(1)")
                with self.assertRaisesRegex(frameworks.InterpreterError, "make another"):
                    interpreter.execute("1")

    def test_smolagents(self) -> None:
        from brig_sandbox.adapters.smolagents import BrigExecutor

        with CodeSandbox(LIMITS) as box:
            executor = BrigExecutor(["json"], box=box)
            try:
                ran = executor.run_code_raise_errors("x = 5\nprint('a')\nx")
                self.assertEqual((ran.output, ran.logs, ran.is_final_answer), ("5", "a\n", False))
                with self.assertRaisesRegex(frameworks.AgentError, "ZeroDivisionError"):
                    executor.run_code_raise_errors("x / 0")
                final = executor.run_code_raise_errors("class FinalAnswerException(BaseException): pass\nraise FinalAnswerException('safe:6')")
                self.assertEqual((final.output, final.is_final_answer), ("safe:6", True))
                with self.assertRaisesRegex(frameworks.AgentError, r"has no \['no-such-package'\]"):
                    executor.install_packages(["no-such-package==1"])
            finally:
                executor.cleanup()

    def test_nemo_gym(self) -> None:
        from brig_sandbox.adapters.nemo_gym import BrigProvider

        async def use() -> None:
            provider = BrigProvider(memory_mib=256)
            box = await provider.create(frameworks.Spec(workdir="/app/x", env={"A": "a"}))
            ran = await provider.exec(box, "pwd; echo $A$B; echo err >&2; exit 3", env={"B": "b"}, user="root")
            self.assertEqual((ran.stdout, ran.stderr, ran.return_code, ran.error_type), ("/app/x\nab\n", "err\n", 3, None))
            ran = await provider.exec(box, "echo part; sleep 1000", timeout_s=2)
            self.assertEqual((ran.stdout, ran.error_type), ("part\n", "timeout"))
            self.assertEqual((await provider.exec(box, "true", user="bob")).error_type, "sandbox")
            self.assertEqual((await provider.exec(box, "kill -9 $$")).return_code, 137)
            self.assertEqual((await provider.exec(box, "echo " + "x" * 200_000)).stdout, "x" * 200_000 + "\n")
            with tempfile.TemporaryDirectory() as home:
                large = Path(home) / "large"
                large.write_bytes(b"\xff" * 3_000_000)
                await provider.upload_file(box, large, "/opt/a/large")
                await provider.download_file(box, "/opt/a/large", Path(home) / "b" / "c")
                self.assertEqual((Path(home) / "b" / "c").read_bytes(), large.read_bytes())

            same = await provider.connect(await provider.serialize_handle(box))
            canceled = asyncio.ensure_future(provider.exec(same, "echo $$ >pid; sleep 1000"))
            while (await provider.exec(box, "[ -s pid ]")).return_code:
                await asyncio.sleep(0.05)
            canceled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await canceled
            while not (await provider.exec(box, "kill -0 $(cat pid) 2>&1")).return_code:
                await asyncio.sleep(0.05)

            self.assertEqual(await provider.status(box), frameworks.Status.RUNNING)
            await provider.close(box)
            self.assertEqual(await provider.status(box), frameworks.Status.STOPPED)
            self.assertEqual((await provider.exec(box, "true")).error_type, "sandbox")
            for spec in (
                frameworks.Spec(ports=(80,)),
                frameworks.Spec(entrypoint=["x"]),
                frameworks.Spec(image="no-such-image"),
                frameworks.Spec(provider_options={"x": 1}),
                frameworks.Spec(resources=frameworks.Resources(gpu=1)),
            ):
                with self.subTest(spec), self.assertRaises(frameworks.CreateError):
                    await provider.create(spec)
            await provider.aclose()

        asyncio.run(use())

    def test_harbor(self) -> None:
        from brig_sandbox.adapters.harbor import BrigEnvironment

        def task(**fields: Any) -> Any:
            return frameworks.Config(**{"docker_image": "python", "cpus": 1, "memory_mb": 256, "workdir": "/app", "allow_internet": False, **fields})

        def make(config: Any, **more: Any) -> Any:
            return BrigEnvironment(environment_name="t", task_env_config=config, persistent_env={"A": "a"}, own_image="false", **more)

        for error, config in ((FileNotFoundError, task(docker_image=None)), (ValueError, task(allow_internet=True))):
            with self.subTest(error), self.assertRaises(error):
                make(config)
        with self.assertRaisesRegex(ValueError, "offline=maybe"):
            make(task(), offline="maybe")

        async def use(home: Path) -> None:
            box = make(task(allow_internet=True), offline="true")
            await box.start(False)
            ran = await box.exec("pwd; echo $A$B; echo err >&2; exit 3", env={"B": "b"}, user="root")
            self.assertEqual((ran.stdout, ran.stderr, ran.return_code), ("/app\nab\n", "err\n", 3))
            (home / "tests" / "sub").mkdir(parents=True)
            (home / "tests" / "sub" / "test.sh").write_text("mkdir -p /logs/verifier && cd /logs/verifier && echo 1 >reward.txt && ln -s /etc/passwd link")
            await box.upload_dir(home / "tests", "/tests")
            self.assertEqual((await box.exec("sh /tests/sub/test.sh", cwd="/")).return_code, 0)
            await box.download_dir("/logs", home / "logs")
            self.assertEqual([p.name for p in (home / "logs" / "verifier").iterdir()], ["reward.txt"])
            await box.upload_file(home / "logs" / "verifier" / "reward.txt", "/root/x/y")
            await box.download_file("/root/x/y", home / "z" / "y")
            self.assertEqual((home / "z" / "y").read_text(), "1\n")
            with self.assertRaisesRegex(RuntimeError, "killed after 1 s"):
                await box.exec("sleep 1000", timeout_sec=1)
            self.assertEqual((await box.exec("true", user="bob")).return_code, 126)
            await box.stop(True)
            await box.stop(True)
            with self.assertRaisesRegex(RuntimeError, "not been started"):
                await box.exec("true")
            with self.assertRaisesRegex(frameworks.BuildFailed, "no-such-image"):
                await make(task(docker_image="no-such-image")).start(False)

        with tempfile.TemporaryDirectory() as home:
            asyncio.run(use(Path(home)))

    def test_verifiers(self) -> None:
        from brig_sandbox.adapters.verifiers import BrigConfig, BrigRuntime

        async def use() -> None:
            box = BrigRuntime(BrigConfig(workdir="/app", memory=0.25))
            await box.start()
            box.env = {"A": "a"}
            ran = await box.run(["sh", "-c", "pwd; echo $A$B; echo err >&2; exit 4"], {"B": "b"})
            self.assertEqual((ran.exit_code, ran.stdout, ran.stderr), (4, "/app\nab\n", "err\n"))
            self.assertEqual((await box.run(["no-such-program"], {})).exit_code, 127)
            await box.write("d/x", b"\xff\0")
            self.assertEqual(await box._read("/app/d/x"), b"\xff\0")
            for ask in (box._read("no-such-file"), box.write("/proc/x/y", b"")):
                with self.assertRaises(frameworks.RolloutError):
                    await ask

            live = await box.open_process(["python3", "-uc", "import sys\nfor line in sys.stdin: print('got', line, end='')"], {})
            await live.write(b"one\n")
            said, out = b"", live.stdout.__aiter__()
            while not said.endswith(b"got one\n"):
                said += await out.__anext__()
            await live.terminate()
            self.assertEqual(await live.wait(), 143)
            self.assertEqual([chunk async for chunk in live.stderr], [])
            await live.kill()
            await box.run_background(["sh", "-c", "echo begun; sleep 1000"], {}, "log")
            while (await box.run(["grep", "-q", "begun", "log"], {})).exit_code:  # the file may not be there yet
                await asyncio.sleep(0.05)
            await box.teardown()
            await box.teardown()
            with self.assertRaises(frameworks.RolloutError):
                await box.run(["true"], {})
            second = BrigRuntime(BrigConfig(memory=0.25))
            await second.start()
            session: Any = second._session
            await asyncio.to_thread(second.cleanup)
            with self.assertRaisesRegex(RequestError, "session-ended"):
                await session.run(["true"])
            await second.teardown()

        asyncio.run(use())

    def test_many_sessions_of_one_client(self) -> None:
        async def use() -> None:
            async with AsyncCodeSandbox(LIMITS) as box:
                sessions = [await box.create_session() for _ in range(3)]
                said = await asyncio.gather(*[s.run(["sh", "-c", f"echo {n} >a; cat a"]) for n, s in enumerate(sessions)])
                self.assertEqual([one.stdout for one in said], ["0\n", "1\n", "2\n"])
                await asyncio.gather(*[s.delete() for s in sessions])

        asyncio.run(use())
