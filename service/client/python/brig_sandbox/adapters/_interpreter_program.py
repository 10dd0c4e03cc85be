"""A Python interpreter that stays in a session: variables last from one cell to the next.

This file is executed in the sandbox, alone. It has two processes: a worker, which has the
variables, and its supervisor, which outlives it. A message is a line of JSON, and each gets one
answer. Messages come over the FIFO "in", answers go over the FIFO "out", in the directory that is
the first argument.

    {"cell": code, "seconds": 5}     -> {"out": ..., "value": ..., "error": null or {"name", "text", "trace"}}
    {"variables": {...}}             -> the same
    {"tools": [names]}               -> the same
    {"returned": value}              -> the answer of the cell that called a tool; {"raised": text} for an error

An answer may be {"call": name, "args": [...], "kwargs": {...}} instead: the cell waits for "returned".
{"late": true} says that a cell was interrupted, {"died": true} that the worker ended; "fresh": true
that the variables are gone.
"""

from __future__ import annotations

import ast
import base64
import json
import os
import select
import signal
import sys
import traceback
from typing import Any, Callable, Dict, Optional, TextIO

MOST = 1 << 20  # bytes of output of a cell that are told
GRACE = 2.0  # seconds between interrupt and kill


class Worker:
    """Executes cells. It runs in a process of its own."""

    def __init__(self, reader: TextIO, writer: TextIO, captured: int) -> None:
        self.reader, self.writer, self.captured = reader, writer, captured
        self.names: Dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}

    def run(self) -> None:
        for line in self.reader:
            message = json.loads(line)
            if "variables" in message:
                self.names.update(message["variables"])
                said = self.answer(None, None)
            elif "tools" in message:
                for name in message["tools"]:
                    self.names[name] = self.tool(name)
                said = self.answer(None, None)
            else:
                said = self.cell(message["cell"])
            self.say(said)

    def say(self, said: Dict[str, Any]) -> None:
        self.writer.write(json.dumps(said) + "\n")
        self.writer.flush()

    def tool(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.say({"call": name, "args": args, "kwargs": kwargs})
            came = json.loads(self.reader.readline())
            if "raised" in came:
                raise RuntimeError(came["raised"])
            return came.get("returned")

        call.__name__ = name
        return call

    def cell(self, code: str) -> Dict[str, Any]:
        os.ftruncate(self.captured, 0)
        os.lseek(self.captured, 0, os.SEEK_SET)
        value: Optional[str] = None
        error: Optional[Dict[str, Any]] = None
        try:
            tree = ast.parse(code, "<cell>")
            end = tree.body[-1] if tree.body else None
            if isinstance(end, ast.Expr):
                tree.body.pop()
            exec(compile(tree, "<cell>", "exec"), self.names)
            if isinstance(end, ast.Expr):
                last = eval(compile(ast.Expression(end.value), "<cell>", "eval"), self.names)
                value = None if last is None else repr(last)[:MOST]
        except BaseException as e:
            inner = e.__traceback__.tb_next if e.__traceback__ else None  # without this frame
            trace = "".join(traceback.format_exception(type(e), e, inner))
            error = {"name": type(e).__name__, "text": str(e)[:MOST], "trace": trace[:MOST]}
        return self.answer(value, error)

    def answer(self, value: Optional[str], error: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # the cell has closed them
        size = os.lseek(self.captured, 0, os.SEEK_END)
        out = os.pread(self.captured, MOST, 0)
        return {"out": base64.b64encode(out).decode(), "cut": size > MOST, "value": value, "error": error}


class Supervisor:
    """Gives messages to the worker, and watches it."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.rest = b""  # of what the worker said
        self.start()

    def start(self) -> None:
        """A new worker, without variables."""
        to_worker, from_supervisor = os.pipe()
        to_supervisor, from_worker = os.pipe()
        captured = os.open(os.path.join(self.directory, "captured"), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self.worker = os.fork()
        if self.worker == 0:
            os.close(from_supervisor)
            os.close(to_supervisor)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(captured, 1)
            os.dup2(captured, 2)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                Worker(os.fdopen(to_worker), os.fdopen(from_worker, "w"), captured).run()
            finally:
                os._exit(1)
        for end in (to_worker, from_worker, captured):
            os.close(end)
        self.write_end, self.read_end, self.rest = from_supervisor, to_supervisor, b""

    def end(self) -> None:
        """Ends the worker, and starts another one."""
        try:
            os.kill(self.worker, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.worker, 0)
        os.close(self.write_end)
        os.close(self.read_end)
        self.start()

    def line(self, seconds: Optional[float]) -> Optional[bytes]:
        """The next line of the worker; None: none came in time; empty: the worker has ended."""
        while b"\n" not in self.rest:
            if not select.select([self.read_end], [], [], seconds)[0]:
                return None
            piece = os.read(self.read_end, 1 << 16)
            if not piece:
                return b""
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def answer(self, message: Dict[str, Any]) -> Dict[str, Any]:
        try:
            rest = json.dumps(message).encode() + b"\n"
            while rest:
                rest = rest[os.write(self.write_end, rest) :]
        except BrokenPipeError:
            pass
        line = self.line(message.get("seconds"))
        if line is None:
            os.kill(self.worker, signal.SIGINT)
            line = self.line(GRACE)
            if line:
                return dict(json.loads(line), late=True)
            self.end()
            return {"late": True, "fresh": True}
        if not line:
            self.end()
            return {"died": True, "fresh": True}
        said: Dict[str, Any] = json.loads(line)
        return said

    def run(self) -> None:
        incoming, outgoing = (os.path.join(self.directory, name) for name in ("in", "out"))
        while True:
            with open(incoming) as messages:
                text = messages.read()
            if not text.strip():
                continue
            try:
                said = self.answer(json.loads(text))
            except Exception as e:
                said = {"died": True, "fresh": False, "why": repr(e)}
            with open(outgoing, "w") as answers:
                json.dump(said, answers)


def main(directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    for name in ("in", "out"):
        os.mkfifo(os.path.join(directory, name), 0o600)
    if os.fork():  # what started it goes on once the FIFOs are there
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    Supervisor(directory).run()


if __name__ == "__main__":
    main(sys.argv[1])
