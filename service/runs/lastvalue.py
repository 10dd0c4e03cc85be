# Runs main.py like python3 main.py. If the last statement is a bare expression, writes its
# repr to the file value_path. This driver is part of the program, in its sandbox: the value
# is as untrusted as the program's output.
import sys


def run(path, value_path, most):
    import _ast  # the base of ast, which is loaded already
    import builtins
    import posix

    show, cut = repr, str.__getitem__  # the program may replace them

    def leave(error):
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # skip the frames of this driver
        error.__traceback__ = trace
        try:
            import traceback  # as the hook does; that this file says so, chooses a template which has the module
        except BaseException:
            pass  # a module of the program's
        sys.excepthook(type(error), error, trace)
        if isinstance(error, KeyboardInterrupt):  # Python ends itself with the signal as if it had not caught it
            import _signal

            sys.stdout.flush()
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
            posix.kill(posix.getpid(), _signal.SIGINT)
        sys.exit(1)

    def note(text):
        # The program may have filled the disk, or put something else there: then there is
        # no value, and that is no failure of the program.
        data = text.encode("utf-8", "backslashreplace")
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_NONBLOCK
        opened = []
        try:
            opened.append(posix.open(value_path, flags, 0o644))
            while opened[-1] < 3:  # the program has closed its output: later output must not get into this file
                opened.append(posix.dup(opened[-1]))
            if posix.write(opened[-1], data) == len(data):
                return
        except OSError:
            pass
        finally:
            for fd in opened:
                posix.close(fd)
        try:
            posix.unlink(value_path)
        except OSError:
            pass

    main = type(sys)("__main__")
    main.__file__ = path
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [path]
    names = main.__dict__
    try:
        with open(path, "rb") as f:
            tree = compile(f.read(), path, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
        last = None
        if tree.body and isinstance(tree.body[-1], _ast.Expr):
            last = _ast.Expression(tree.body.pop().value)
        exec(compile(tree, path, "exec", dont_inherit=True), names)
        if last is None:
            return
        value = eval(compile(last, path, "eval", dont_inherit=True), names)
        if value is None:
            return
        text = cut(show(value), slice(most))  # repr may return an instance of a class with its own slicing
    except SystemExit:
        raise
    except BaseException as error:
        leave(error)
    note(text)


run("main.py", "/box/.brig-value", 65536)
