"""Prints what is noteworthy of the Python program argv[1] as JSON lines.

Every expression is resolved to the dotted names it can stand for ("os.system"),
through imports, assignments, scopes, getattr and the like, as far as that can be
seen without running the program. What is used, not only what is called, counts.
"""
import ast
import json
import sys
import warnings

RULES = {
    "builtins.eval": "python-eval", "builtins.exec": "python-exec", "builtins.__import__": "python-import",
    "os.system": "python-os-system", "os.popen": "python-os-system", "pty.spawn": "python-os-system",
    "pickle.load": "python-pickle", "pickle.loads": "python-pickle", "pickle.Unpickler": "python-pickle",
    "marshal.load": "python-pickle", "marshal.loads": "python-pickle",
}
RULES |= {"os." + f: "python-os-system" for f in (
    "execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe "
    "spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp").split()}
RULES |= {"subprocess." + f: "python-subprocess" for f in "run call Popen check_call check_output getoutput getstatusoutput".split()}
RULES["_posixsubprocess.fork_exec"] = "python-subprocess"
BUILTINS = {name.split(".")[1] for name in RULES if name.startswith("builtins.")} | {"getattr", "vars", "globals"}
NETWORK = set("socket socketserver ftplib smtplib poplib imaplib telnetlib urllib.request http.client http.server xmlrpc "
              "requests urllib3 httpx aiohttp websockets".split())
SAME = {"posix": "os", "_pickle": "pickle", "cPickle": "pickle", "__builtin__": "builtins"}
MODULES = {name.split(".")[0] for name in RULES}
IMPORTERS = {"builtins.__import__", "importlib.import_module", "importlib.__import__"}
MOST = 500
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

found = []


def tell(rule, node, name):
    if len(found) < MOST:
        found.append({"rule": rule, "line": getattr(node, "lineno", 0), "column": getattr(node, "col_offset", 0) + 1, "name": name})


class Scope:
    def __init__(self, node, outer):
        self.node, self.outer = node, outer
        self.bound = {}  # name: list of (statement or None, value), value an expression, a dotted name or None
        self.stars = []  # modules of from m import *
        self.elsewhere = {}  # name: the scope that global and nonlocal mean
        self.cached = {}

    def bind(self, name, value, top=None):
        scope = self.elsewhere.get(name, self)
        scope.bound.setdefault(name, []).append((top, value))

    def visible(self):
        """The scopes a name is looked for in: a class is seen only from itself."""
        yield self
        scope = self.outer
        while scope:
            if not isinstance(scope.node, ast.ClassDef):
                yield scope
            scope = scope.outer


def text(node, depth=0):
    """The constant string an expression is, or None."""
    if depth > 50:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text(node.left, depth + 1), text(node.right, depth + 1)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [text(v.value if isinstance(v, ast.FormattedValue) else v, depth + 1) for v in node.values]
        return None if None in parts else "".join(parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join" and len(node.args) == 1:
        glue = text(node.func.value, depth + 1)
        if glue is not None and isinstance(node.args[0], (ast.List, ast.Tuple)):
            parts = [text(v, depth + 1) for v in node.args[0].elts]
            return None if None in parts else glue.join(parts)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        s, step = text(node.value, depth + 1), node.slice.step
        if s is not None and node.slice.lower is None and node.slice.upper is None and \
                isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and getattr(step.operand, "value", 0) == 1:
            return s[::-1]
    return None


def join(bases, attr):
    return {"builtins" if b + "." + attr in ("sys.modules.builtins", "builtins.__builtins__") else b + "." + attr for b in bases}


def module(name):
    return SAME.get(name, name)


def network(name):
    """The module for networks that a dotted name is of, or None."""
    parts = name.split(".")
    return next((m for m in (".".join(parts[:n]) for n in range(1, len(parts) + 1)) if m in NETWORK), None)


class Resolver:
    def __init__(self):
        self.busy = set()

    def names(self, node, scope):
        """The dotted names an expression can stand for."""
        key = (id(node), id(scope))
        if key in scope.cached:
            return scope.cached[key]
        if key in self.busy or len(self.busy) > 200:
            return set()
        self.busy.add(key)
        try:
            out = self.resolve(node, scope)
        finally:
            self.busy.discard(key)
        scope.cached[key] = out
        return out

    def resolve(self, node, scope):
        if isinstance(node, ast.Name):
            return self.name(node, scope)
        if isinstance(node, ast.Attribute):
            return join(self.names(node.value, scope), node.attr)
        if isinstance(node, ast.NamedExpr):
            return self.names(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self.names(node.body, scope) | self.names(node.orelse, scope)
        if isinstance(node, ast.BoolOp):
            return set().union(*(self.names(v, scope) for v in node.values))
        if isinstance(node, ast.Call):
            return self.call(node, scope)
        if isinstance(node, ast.Subscript):
            return self.subscript(node, scope)
        return set()

    def name(self, node, scope):
        out, certain = set(), False
        for s in scope.visible():
            for top, value in s.bound.get(node.id, ()):
                if isinstance(value, str):
                    out.add(value)
                elif value is not None:
                    out |= self.names(value, s)
                # A module's own name hides the builtin one from the line of a statement
                # that is certainly carried out; a function's or a class's always does.
                certain |= not isinstance(s.node, ast.Module) or top is not None and top.lineno < node.lineno
            if certain:
                return out
            for m in s.stars:
                out.add(m + "." + node.id)
        if node.id in BUILTINS:
            out.add("builtins." + node.id)
        if node.id in ("__builtins__", "builtins") and node.id == "__builtins__":
            out.add("builtins")
        return out

    def call(self, node, scope):
        func = self.names(node.func, scope)
        first = text(node.args[0]) if node.args else None
        if func & IMPORTERS and first:
            # __import__("a.b") gives a, import_module("a.b") gives a.b.
            return {module(first.split(".")[0]) if "builtins.__import__" in func else module(first)}
        if "builtins.getattr" in func and len(node.args) > 1:
            attr = text(node.args[1])
            if attr is not None:
                return join(self.names(node.args[0], scope), attr)
        if "builtins.vars" in func and node.args:
            return join(self.names(node.args[0], scope), "__dict__")
        if "builtins.globals" in func:
            return {"globals()"}
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "__getitem__", "pop") and first:
            return self.item(self.names(node.func.value, scope), first)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__getattribute__" and first:
            return join(self.names(node.func.value, scope), first)
        return set()

    def subscript(self, node, scope):
        key = text(node.slice)
        return self.item(self.names(node.value, scope), key) if key is not None else set()

    def item(self, bases, key):
        out = set()
        for base in bases:
            if base.endswith(".__dict__"):
                out.add(base[:-len("__dict__")] + key)
            elif base == "sys.modules":
                out.add(module(key))
            elif base == "builtins":  # __builtins__ is a dict outside of the main module
                out.add("builtins." + key)
            elif base == "globals()" and key == "__builtins__":
                out.add("builtins")
        return out


def targets(target, value):
    """The names an assignment binds, each with its value where that is known."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from targets(target.value, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        known = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for i, one in enumerate(target.elts):
            yield from targets(one, value.elts[i] if known else None)


class Binder(ast.NodeVisitor):
    """Makes the scopes and what each binds."""

    def __init__(self, tree):
        self.scopes = {}
        self.top = None  # the statement of the module's own level that is certainly carried out
        self.scope = self.scopes[tree] = Scope(tree, None)
        for statement in tree.body:
            plain = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom))
            self.top = statement if plain else None
            self.visit(statement)

    def within(self, node, children):
        outer, top = self.scope, self.top
        self.scope = self.scopes[node] = Scope(node, outer)
        self.top = None
        for child in children:
            self.visit(child)
        self.scope, self.top = outer, top

    def function(self, node):
        if not isinstance(node, ast.Lambda):
            self.scope.bind(node.name, None, self.top)
            for d in node.decorator_list:
                self.visit(d)
        a = node.args
        for default in a.defaults + a.kw_defaults:
            if default is not None:
                self.visit(default)
        outer = self.scope
        self.scope = self.scopes[node] = Scope(node, outer)
        top, self.top = self.top, None
        plain = a.posonlyargs + a.args
        known = dict(zip((p.arg for p in plain[len(plain) - len(a.defaults):]), a.defaults))
        known |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
        for p in plain + a.kwonlyargs + [x for x in (a.vararg, a.kwarg) if x]:
            self.scope.bind(p.arg, known.get(p.arg))
        for child in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(child)
        self.scope, self.top = outer, top

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = function

    def visit_ClassDef(self, node):
        self.scope.bind(node.name, None, self.top)
        for other in node.decorator_list + node.bases + node.keywords:
            self.visit(other)
        self.within(node, node.body)

    def comprehension(self, node):
        self.within(node, ast.iter_child_nodes(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def visit_Global(self, node):
        scope = self.scope
        while scope.outer:
            scope = scope.outer
        for name in node.names:
            self.scope.elsewhere[name] = scope

    def visit_Nonlocal(self, node):
        for name in node.names:
            scope = self.scope.outer
            while scope and name not in scope.bound:
                scope = scope.outer
            if scope:
                self.scope.elsewhere[name] = scope

    def visit_Import(self, node):
        for a in node.names:
            name = a.name if a.asname else a.name.split(".")[0]
            self.scope.bind(a.asname or name, module(name), self.top)

    def visit_ImportFrom(self, node):
        for a in node.names:
            source = module(node.module or "")
            if a.name == "*":
                self.scope.stars.append(source)
            else:
                self.scope.bind(a.asname or a.name, source + "." + a.name, self.top)

    def visit_Assign(self, node):
        for t in node.targets:
            for name, value in targets(t, node.value):
                self.scope.bind(name, value, self.top)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            for name, value in targets(node.target, node.value):
                self.scope.bind(name, value, self.top)
        self.generic_visit(node)

    def visit_NamedExpr(self, node):
        scope = self.scope
        while isinstance(scope.node, COMPREHENSIONS):  # it binds in the function around
            scope = scope.outer
        scope.bind(node.target.id, node.value)
        self.generic_visit(node)

    def bind_unknown(self, target):
        for name, _ in targets(target, None):
            self.scope.bind(name, None)

    def loop(self, node):
        values = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else [None]
        for value in values:
            for name, one in targets(node.target, value):
                self.scope.bind(name, one)
        self.generic_visit(node)

    visit_For = visit_AsyncFor = visit_comprehension = loop

    def visit_withitem(self, node):
        if node.optional_vars is not None:
            self.bind_unknown(node.optional_vars)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node):
        if node.name:
            self.scope.bind(node.name, None)
        self.generic_visit(node)


class Finder(ast.NodeVisitor):
    """Reports every expression that resolves to something noteworthy."""

    def __init__(self, tree):
        self.scopes, self.resolver = Binder(tree).scopes, Resolver()
        self.scope = self.scopes[tree]
        self.generic_visit(tree)

    def visit(self, node):
        if node in self.scopes:
            outer, self.scope = self.scope, self.scopes[node]
            self.generic_visit(node)
            self.scope = outer
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports(node)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            for name in sorted(self.resolver.names(node, self.scope)):
                if name in RULES:
                    tell(RULES[name], node, name.removeprefix("builtins."))
        self.generic_visit(node)

    def imports(self, node):
        source = getattr(node, "module", None)
        if getattr(node, "level", 0):
            return  # a module next to the program
        for m in dict.fromkeys(network(f"{source}.{a.name}" if source else a.name) for a in node.names):
            if m:
                tell("network", node, m)


def main():
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20_000)
    with open(sys.argv[1], "rb") as f:
        source = f.read()
    try:
        Finder(ast.parse(source))
    except SyntaxError as e:
        found.append({"rule": "syntax", "line": e.lineno or 0, "column": max(e.offset or 0, 0), "name": str(e.msg)})
    except (ValueError, RecursionError, MemoryError) as e:
        found.append({"rule": "unreadable", "line": 0, "column": 0, "name": f"{type(e).__name__}: {e}"})
    for one in found:
        print(json.dumps(one))
    print(json.dumps({"done": True}))


main()
