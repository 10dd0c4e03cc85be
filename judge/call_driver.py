# Runs in a sandbox of its own and calls the functions of the program under test over pipes. The values that
# the asserts expect are here alone. A call returns a value made of Python's own types, or raises an
# exception of Python's own: no object of the program is ever here, so that none can decide what it equals.
# Whatever a value does to this program is a wrong answer: its author must not turn a test into an error.
import ast, builtins, collections, json, os, sys
answers, calls = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
os.dup2(2, 1)
feedback = sys.argv[3]
most = 8 << 20  # bytes of an answer
most_value = 7 << 20  # bytes of value.json: a checker may leave 8 MiB
most_alike = 100  # elements with one hash: each is compared with all others
called = 0


def finish(code, text=""):
    with open(feedback + "judgemessage.txt", "w", encoding="utf-8", errors="replace") as f:
        f.write(text[:4000])
    os._exit(code)


def fail(why):  # the asserts are at fault: check-failed
    os.write(2, why.encode(errors="replace"))
    os._exit(1)


def text_of(e):
    try:
        return "%s: %s" % (type(e).__name__, e)
    except Exception:  # such as an integer with too many digits in the message of an assert
        return type(e).__name__


def alike(keys):
    if keys and collections.Counter(map(hash, keys)).most_common(1)[0][1] > most_alike:
        raise ValueError("more than %d elements have the same hash" % most_alike)
    return keys


def decode(v):
    if type(v) is list:
        return [decode(e) for e in v]
    if type(v) is not dict:
        return v
    ((tag, e),) = v.items()
    if tag == "i":
        return int(e, 16)
    if tag == "f":
        return float.fromhex(e)
    if tag == "c":
        return complex(float.fromhex(e[0]), float.fromhex(e[1]))
    if tag == "b":
        return bytes.fromhex(e)
    if tag == "n":
        return decode_array(*e)
    if tag == "d":
        keys = alike([decode(k) for k, _ in e])
        return dict(zip(keys, [decode(x) for _, x in e]))
    if tag == "t":
        return tuple(decode(x) for x in e)
    return {"s": set, "z": frozenset}[tag](alike([decode(x) for x in e]))


def call(name, args, named):
    global called
    try:
        request = json.dumps([name, encode(list(args)), encode(named)]).encode() + b"\n"
    except TypeError as e:
        raise TypeError("an argument of type %s cannot be sent to the program" % e) from None
    called += 1
    try:
        calls.write(request)
        calls.flush()
    except OSError:
        finish(43, "%s: the program ended" % name)
    line = answers.readline(most)
    if not line.endswith(b"\n"):
        finish(43, "%s: the program ended, or its answer is longer than %d bytes" % (name, most))
    try:
        answer = json.loads(line)
        if "v" in answer:
            value = decode(answer["v"])
        elif "o" in answer:
            other = "%.100s" % answer["o"]
        else:
            failure = exception(str(answer.get("x")), str(answer.get("t")))
    except Exception as e:
        finish(43, "%s: what the program answered is no value (%s)" % (name, text_of(e)))
    if "v" in answer:
        return value
    if "o" in answer:
        finish(43, "%s: a value of type %s does not leave the sandbox" % (name, other))
    failure.crossed = True
    raise failure


def exception(name, text):
    kind = getattr(builtins, name, Exception)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = Exception
    # These end a loop in silence: all(map(f, values)) would be true, whatever f returns.
    if issubclass(kind, (StopIteration, StopAsyncIteration)):
        return RuntimeError("%s: %s" % (name, text))
    try:
        return kind(text)
    except TypeError:  # such as UnicodeDecodeError, which takes more arguments
        return Exception("%s: %s" % (name, text))


class Function:
    def __init__(self, name):
        self.__name__ = name

    def __call__(self, *args, **named):
        return call(self.__name__, args, named)


def plain(v):
    if isinstance(v, (list, tuple)):
        return [plain(e) for e in v]
    if isinstance(v, (set, frozenset)):
        return sorted((plain(e) for e in v), key=repr)
    if isinstance(v, dict):
        return {k if isinstance(k, str) else json.dumps(plain(k)): plain(e) for k, e in v.items()}
    if isinstance(v, (bytes, complex)):
        return repr(v)
    if type(v).__module__ == "numpy":
        return plain(v.tolist())
    return v


def globals_of(code):
    found = set(code.co_names)
    for const in code.co_consts:
        if hasattr(const, "co_names"):
            found |= globals_of(const)
    return found


def functions_of(task):
    """The names in the asserts that are functions of the program. Only the request says which these are: a
    program that defines abs or all must not get to decide what these say of its other values."""
    tree = ast.parse(task["asserts"], "asserts")
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    defined = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for n in ast.walk(tree):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(n.name)
        elif isinstance(n, ast.arg):
            defined.add(n.arg)
        elif isinstance(n, ast.alias):
            defined.add(n.asname or n.name.split(".")[0])
        elif isinstance(n, ast.ExceptHandler) and n.name:
            defined.add(n.name)
    names = {n for n in globals_of(compile(tree, "asserts", "exec")) if not hasattr(builtins, n)}
    if task.get("fn"):
        return names | {task["fn"]}
    if used - defined - set(dir(builtins)):
        return names
    # All names are Python's own, as in assert pow(2, 10) == 1024: if there is one, it is the program's.
    own = {n for n in used - defined if callable(getattr(builtins, n))}
    own = {n for n in own if not (isinstance(getattr(builtins, n), type) and issubclass(getattr(builtins, n), BaseException))}
    if len(own) > 1:
        fail("the asserts use %s, which are all names of Python's own: set call.fn to the function of the program" % ", ".join(sorted(own)))
    return names | own


with open(sys.argv[1], "rb") as f:
    task = json.load(f)
if "asserts" not in task:
    try:
        value = call(task["fn"], task["args"], {})
        text = json.dumps(plain(value))
    except Exception as e:
        finish(43, "%s: %s" % (task["fn"], text_of(e)))
    if len(text) > most_value:
        finish(43, "%s returned a value of more than %d bytes of JSON" % (task["fn"], most_value))
    with open(feedback + "value.json", "w") as f:
        f.write(text)
    finish(42)

code = compile(task["asserts"], "asserts", "exec")
names = {"__name__": "asserts"}
for name in functions_of(task):
    names[name] = Function(name)
verdict, said = 42, ""
try:
    exec(code, names)
except AssertionError as e:
    at, line = e.__traceback__, 0
    while at:
        if at.tb_frame.f_code.co_filename == "asserts":
            line = at.tb_lineno
        at = at.tb_next
    text = (task["asserts"].split("\n")[line - 1 : line] or [""])[0].strip()
    verdict, said = 43, "line %d: %s %s" % (line, text, text_of(e).removeprefix("AssertionError").removeprefix(": "))
except ImportError as e:
    if not hasattr(e, "crossed"):
        fail("the asserts import what the image does not have: %s; choose a language with it, such as python-full" % text_of(e))
    verdict, said = 43, text_of(e)
except Exception as e:
    verdict, said = 43, text_of(e)
if called == 0:
    fail("the asserts ended and called no function of the program; %s" % said)
finish(verdict, said)
