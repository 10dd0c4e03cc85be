# The driver of a Python kernel: it executes cells and keeps their variables. It is executed with python3 -c, and needs
# Python 3.8. It reads requests from descriptor 3 and writes events to descriptor 4. Each is a JSON object after a line
# with its length in bytes.
#
# Whoever runs code here can change all of it, so its events are words of the program: the service checks their form,
# and takes them for nothing more.
#
# A waiting kernel is to take little memory: what only some cells need is imported when they need it.
import _ast
import builtins
import fcntl
import json
import os
import signal
import sys
import threading
import types

MAX_EVENT = 8 << 20  # bytes of an event, as in frames.go
MAX_TRACEBACK = 60  # lines of each end of a longer traceback

TOP_LEVEL_AWAIT = getattr(_ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0x2000)
DONT_IMPLY_DEDENT = 0x200
IS_COROUTINE = 0x80


def private(fd):
    """Move a descriptor to where no program looks for it, and no child gets it."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    return moved


class Guard:
    """Code that an interrupt must not cut in two: half an event, or an event that is read and lost."""

    def __init__(self):
        self.lock = threading.RLock()
        self.depth = 0  # of the main thread, which alone gets signals
        self.pending = False
        self.armed = False  # a cell is being executed

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self.depth += 1
        self.lock.acquire()

    def __exit__(self, *exc):
        self.lock.release()
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and self.pending and self.armed:
                self.pending = False
                raise KeyboardInterrupt

    def interrupt(self, signum, frame):
        if self.armed and self.depth:
            self.pending = True
        elif self.armed:
            raise KeyboardInterrupt


guard = Guard()


class Channel:
    """Requests and events."""

    def __init__(self, requests, events):
        self.requests, self.events = requests, events
        self.buffer = b""
        self.owner = os.getpid()

    def read(self):
        """Return the next request; None: there are no more."""
        while True:
            head, newline, rest = self.buffer.partition(b"\n")
            if newline and len(rest) >= int(head):
                size = int(head)
                self.buffer = rest[size:]
                return json.loads(rest[:size])
            part = os.read(self.requests, 1 << 16)
            if not part:
                return None
            self.buffer += part

    def write(self, event):
        """Send an event, unless it is too large or a child of a cell sends it. Report whether it was sent."""
        body = json.dumps(event, allow_nan=False).encode()
        if len(body) > MAX_EVENT or os.getpid() != self.owner:
            return False
        data = b"%d\n%s" % (len(body), body)
        with guard:
            flush()
            while data:
                data = data[os.write(self.events, data):]
        return True


channel = Channel(private(3), private(4))


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # the program has closed or replaced it


# What a cell can call.


def display(*objects, raw=False, metadata=None, **others):
    """Show objects, each in all forms that it has. With raw=True they are dicts from MIME types to data."""
    for obj in objects:
        data, about = (obj, {}) if raw else forms_of(obj)
        send_data("display", data, dict(about, **(metadata or {})))


def send_data(kind, data, metadata):
    data = {str(k): encoded(v) for k, v in data.items()}
    try:
        sent = channel.write({"type": kind, "data": data, "metadata": metadata})
    except (TypeError, ValueError) as e:
        raise ValueError("display: data and metadata must be what JSON can have: %s" % e) from None
    if not sent:
        raise ValueError("display: an event has at most %d MiB: show less" % (MAX_EVENT >> 20))


def encoded(value):
    """Return a value as JSON has it: bytes in base64."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode
        return b64encode(bytes(value)).decode()
    return value


asked = 0
asking = threading.Lock()


def ask(name, *args, **named):
    """Call a tool of whoever executes the cell, and return its answer. The arguments and the answer are JSON."""
    import select
    global asked
    with asking:
        asked += 1
        number = str(asked)
        event = {"type": "ask", "id": number, "name": str(name), "args": args, "named": named}
        if not channel.write(event):
            raise ValueError("ask: a call has at most %d MiB of arguments, and a child process has no tools" %
                             (MAX_EVENT >> 20))
        while True:
            if b"\n" not in channel.buffer:
                select.select([channel.requests], [], [])  # an interrupt ends this wait, and nothing is lost
            with guard:
                answer = channel.read()
            if answer is None:
                os._exit(0)
            if answer.get("type") == "answer" and answer.get("id") == number:
                break
    if answer.get("error"):
        raise RuntimeError(answer["error"])
    return answer.get("value")


class NoInput:
    """The stdin of a kernel."""
    encoding, errors, mode, name, closed = "utf-8", "strict", "r", "<stdin>", False

    def refuse(self, *args):
        raise OSError("a kernel has no input: put the value into the code of the cell, or use ask")

    read = readline = readlines = __next__ = refuse

    def __iter__(self):
        return self

    def isatty(self):
        return False

    def readable(self):
        return True

    def fileno(self):
        return 0

    def close(self):
        pass


# The forms of a value.

METHODS = (
    ("_repr_html_", "text/html"), ("_repr_markdown_", "text/markdown"), ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"), ("_repr_json_", "application/json"),
    ("_repr_javascript_", "application/javascript"))


def forms_of(obj):
    """Return the forms of a value by their MIME types, and what it says about them."""
    data, metadata = {}, {}
    bundle = method(obj, "_repr_mimebundle_")
    if bundle:
        made = attempt(bundle, include=None, exclude=None)
        data, metadata = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
        data = dict(data) if isinstance(data, dict) else {}
        metadata = dict(metadata) if isinstance(metadata, dict) else {}
    for name, mime in METHODS:
        form = method(obj, name) if mime not in data else None
        made = attempt(form) if form else None
        if isinstance(made, tuple) and len(made) == 2:
            made, metadata[mime] = made
        if made is not None:
            data[mime] = made
    if "image/png" not in data and is_figure(obj):
        data["image/png"] = picture(obj)
    if "text/plain" not in data:
        data["text/plain"] = repr(obj)
    return {k: v for k, v in data.items() if v is not None}, metadata


def method(obj, name):
    """Return a method that says how a value looks. A class has none: its methods are those of its instances."""
    if isinstance(obj, type):
        return None
    try:
        found = getattr(obj, name, None)
        sure = getattr(obj, "_no_such_method_of_anything_", None)  # an object that has every attribute has none
    except Exception:
        return None
    return found if callable(found) and sure is None else None


def attempt(form, **args):
    try:
        return form(**args)
    except NotImplementedError:
        return None
    except Exception:
        sys.stderr.write("a form of the value failed:\n" + "".join(traceback_of(sys.exc_info()[1])) + "\n")
        return None


# Cells.

main = types.ModuleType("__main__")
own = sys.modules["__main__"]  # keeps what is defined here
sources = {}  # of cells, by their file names
loop = None  # of cells that wait with await


def parse(code, name):
    """Return the syntax tree of a cell. A line that is no Python and begins with ! or % is a command."""
    lines = None
    while True:
        try:
            return compile(code, name, "exec", _ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT | DONT_IMPLY_DEDENT, True)
        except SyntaxError as e:
            if lines is None:
                lines = code.split("\n")
            at = (e.lineno or 0) - 1
            line = lines[at] if 0 <= at < len(lines) else ""
            replaced = command_of(line)
            if replaced is None:
                raise
            lines[at] = replaced
            code = "\n".join(lines)


def command_of(line):
    """Return the call that a line with a command stands for; None: it is no such line."""
    text = line.lstrip()
    indent = line[:len(line) - len(text)]
    if text.startswith("!"):
        return "%s__import__('builtins').__brig_command__(%r)" % (indent, text[1:].strip())
    target, mark, command = text.partition("=")
    if mark and target.strip().isidentifier() and command.lstrip().startswith("!"):
        return "%s%s= __import__('builtins').__brig_lines__(%r)" % (indent, target, command.lstrip()[1:].strip())
    if text.startswith("%"):
        return "%s__import__('builtins').__brig_magic__(%r)" % (indent, text[1:].strip())
    return None


def command(text):
    """Execute a command of the shell. Its output is that of the cell."""
    import subprocess
    flush()
    child = subprocess.Popen(text, shell=True, executable=shell(), stdin=subprocess.DEVNULL)
    status = wait(child)
    if status:
        sys.stderr.write("exit status %d\n" % status)
    main.__dict__["_exit_code"] = status


def lines_of(text):
    """Execute a command of the shell, and return the lines that it writes."""
    import subprocess
    flush()
    child = subprocess.Popen(text, shell=True, executable=shell(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        out = child.stdout.read()
    finally:
        main.__dict__["_exit_code"] = wait(child)
        child.stdout.close()
    return out.decode(errors="replace").splitlines()


def wait(child):
    """Wait for a command. An interrupt is for it, too."""
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(1)
        except Exception:
            child.kill()
            child.wait()
        raise


def shell():
    return "/bin/bash" if os.path.exists("/bin/bash") else None


def magic(text):
    name, _, rest = text.partition(" ")
    rest = rest.strip()
    if name == "cd":
        os.chdir(os.path.expanduser(rest.strip("'\"") or "~"))
        print(os.getcwd())
    elif name == "pwd":
        print(os.getcwd())
    elif name != "matplotlib":  # figures are always shown
        raise NameError("%%%s does not exist here: there are %%cd, %%pwd and !COMMAND" % name)


builtins.__brig_command__ = command
builtins.__brig_lines__ = lines_of
builtins.__brig_magic__ = magic


def split(tree, code):
    """Return the statements of a cell, and the expression that is its result or None."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, _ast.Expr) or without_comment(code).endswith(";"):
        return tree, None
    tree.body.pop()
    return tree, _ast.Expression(body=last.value)


def without_comment(code):
    """Return a cell without the comment and the space at its end."""
    last = code.rstrip().rpartition("\n")[2]
    if "#" in last and "'" not in last and '"' not in last:
        last = last.partition("#")[0]
    return last.rstrip()


def evaluate(code):
    """Execute what was compiled, and return its value."""
    value = eval(code, main.__dict__)
    if code.co_flags & IS_COROUTINE:
        return complete(value)
    return value


def complete(coroutine):
    """Wait for a coroutine, in the loop of all cells."""
    import asyncio
    global loop
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass  # that it was canceled
        raise


def traceback_of(error):
    """Return the lines of a traceback, without the frames of this driver."""
    import linecache
    import traceback
    for name, text in sources.items():
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    seen = set()
    e = error
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        e.__traceback__ = without_own(e.__traceback__)
        e = e.__cause__ or e.__context__
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    if len(lines) > 2 * MAX_TRACEBACK:
        left_out = len(lines) - 2 * MAX_TRACEBACK
        lines[MAX_TRACEBACK:-MAX_TRACEBACK] = ["... %d lines left out ..." % left_out]
    return [line[:2000] for line in lines]


def without_own(tb):
    """Return a traceback without the frames of this driver."""
    frames = []
    while tb is not None:
        if tb.tb_frame.f_globals is not globals():
            frames.append(tb)
        tb = tb.tb_next
    made = None
    for tb in reversed(frames):
        made = types.TracebackType(made, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return made


def send_error(error):
    try:
        value = str(error)
    except Exception:
        value = "<an error whose str fails>"
    try:
        lines = traceback_of(error)
    except Exception:
        lines = [type(error).__name__ + ": " + value]
    channel.write({"type": "error", "name": type(error).__name__, "value": value[:1 << 16], "traceback": lines})


def execute(request):
    """Execute a cell, and return how it ended."""
    code, silent = without_indent(request["code"]), request.get("silent", False)
    name = "<silent cell %d>" % request["cell"] if silent else "<cell %d>" % request["count"]
    before = {k: os.environ.get(k) for k in request.get("env") or ()}
    signal.signal(signal.SIGINT, guard.interrupt)
    status = "ok"
    try:
        guard.armed = True
        try:
            os.environ.update(request.get("env") or {})
            remember(name, code)
            statements, last = split(parse(code, name), code)
            flags = TOP_LEVEL_AWAIT
            evaluate(compile(statements, name, "exec", flags, True))
            value = evaluate(compile(last, name, "eval", flags, True)) if last is not None else None
            if value is not None:
                builtins._ = value
                if not silent:
                    send_data("result", *forms_of(value))
            if figures_are_shown():
                show_figures()
        finally:
            guard.armed = False
    except BaseException as e:
        guard.armed = False  # an interrupt may have come before finally
        status = "interrupted" if isinstance(e, KeyboardInterrupt) else "error"
        send_error(e)
    finally:
        guard.pending = False
        for k, v in before.items():
            if v is None:
                os.environ.pop(k, None)
            else:
                os.environ[k] = v
    return status


def without_indent(code):
    """Return a cell without the indent of its first line, as of one that was copied from the middle of a function."""
    lines = code.splitlines(True)
    first = next((line for line in lines if line.strip()), "")
    indent = first[:len(first) - len(first.lstrip(" \t"))]
    return "".join(line[len(indent):] if line.startswith(indent) else line for line in lines) if indent else code


def remember(name, code):
    sources[name] = code
    if len(sources) > 200:
        old = next(iter(sources))
        del sources[old]
        if "linecache" in sys.modules:
            sys.modules["linecache"].cache.pop(old, None)
    if "linecache" in sys.modules:
        sys.modules["linecache"].cache[name] = (len(code), None, code.splitlines(True), name)


def serve():
    if sys.argv[1:] and sys.argv[1]:
        os.chdir(sys.argv[1])
    signal.signal(signal.SIGINT, guard.interrupt)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # one write for each line
    sys.stdin = NoInput()
    builtins.input = sys.stdin.refuse
    sys.argv = [""]
    sys.path[0] = ""
    sys.meta_path.insert(0, Figures)
    main.__dict__.update(__builtins__=builtins, display=display, ask=ask)
    sys.modules["__main__"] = main

    channel.write({"type": "ready"})
    while True:
        request = channel.read()
        if request is None:
            break
        if request.get("type") != "execute":
            continue  # the answer to a call that was interrupted
        status = execute(request)
        if os.getpid() != channel.owner:  # a child that the cell has made by fork
            flush()
            os._exit(0)
        channel.write({"type": "done", "cell": request["cell"], "status": status})


serve()
