# Runs in a sandbox of its own and calls the functions of the program under test over pipes. The values that
# the asserts expect are here alone. A call returns a value made of Python's own types, or raises an
# exception of Python's own: no object of the program is ever here, so that none can decide what it equals.
import builtins, json, os, sys
answers, calls = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
os.dup2(2, 1)
feedback = sys.argv[3]
most = 8 << 20


def finish(code, text=""):
    with open(feedback + "judgemessage.txt", "w", encoding="utf-8", errors="replace") as f:
        f.write(text[:4000])
    os._exit(code)


def encode(v):
    if v is None or v is True or v is False or type(v) is str:
        return v
    if type(v) is int:
        return v if -(1 << 62) < v < 1 << 62 else {"i": hex(v)}
    if type(v) is float:
        return {"f": v.hex()}
    if type(v) is complex:
        return {"c": [v.real.hex(), v.imag.hex()]}
    if type(v) in (bytes, bytearray):
        return {"b": v.hex()}
    if type(v) is list:
        return [encode(e) for e in v]
    for kind, tag in ((tuple, "t"), (set, "s"), (frozenset, "z")):
        if isinstance(v, kind):
            return {tag: [encode(e) for e in v]}
    if isinstance(v, dict):
        return {"d": [[encode(k), encode(e)] for k, e in v.items()]}
    raise TypeError("an argument of type %s cannot be sent to the program" % type(v).__name__)


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
    if tag == "d":
        return {decode(k): decode(x) for k, x in e}
    return {"t": tuple, "s": set, "z": frozenset}[tag](decode(x) for x in e)


def call(name, args, named):
    request = json.dumps([name, encode(list(args)), encode(named)]).encode() + b"\n"
    calls.write(request)
    calls.flush()
    line = answers.readline(most)
    if not line.endswith(b"\n"):
        finish(43, "%s: the program ended, or its answer is longer than %d bytes" % (name, most))
    try:
        answer = json.loads(line)
        if "v" in answer:
            value = decode(answer["v"])
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError, MemoryError):
        finish(43, "%s: what the program answered is no value" % name)
    if "o" in answer:
        finish(43, "%s: a value of type %.100s does not leave the sandbox" % (name, answer["o"]))
    if "v" in answer:
        return value
    kind = getattr(builtins, str(answer.get("x")), Exception)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = Exception
    try:
        failure = kind(str(answer.get("t")))
    except TypeError:  # such as UnicodeDecodeError, which takes more arguments
        failure = Exception("%s: %s" % (answer.get("x"), answer.get("t")))
    raise failure


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
    return v


def globals_of(code):
    found = set(code.co_names)
    for const in code.co_consts:
        if hasattr(const, "co_names"):
            found |= globals_of(const)
    return found


with open(sys.argv[1], "rb") as f:
    task = json.load(f)
if "fn" in task:
    try:
        value = call(task["fn"], task["args"], {})
    except Exception as e:
        finish(43, "%s raised %s: %s" % (task["fn"], type(e).__name__, e))
    with open(feedback + "value.json", "w") as f:
        json.dump(plain(value), f)
    finish(42)

code = compile(task["asserts"], "asserts", "exec")
names = {"__name__": "asserts"}
for name in globals_of(code):
    if not hasattr(builtins, name):
        names[name] = Function(name)
try:
    exec(code, names)
except AssertionError as e:
    at, line = e.__traceback__, 0
    while at:
        if at.tb_frame.f_code.co_filename == "asserts":
            line = at.tb_lineno
        at = at.tb_next
    finish(43, "line %d: %s %s" % (line, task["asserts"].split("\n")[line - 1].strip(), e))
except Exception as e:
    finish(43, "%s: %s" % (type(e).__name__, e))
finish(42)
