// Prints what is noteworthy of the JavaScript or TypeScript program argv[2] as JSON
// lines. Every expression is resolved to the dotted names it can stand for
// ("child_process.exec"), as far as that can be seen without running the program.
"use strict";
const fs = require("node:fs");
const MOST = 500;
const found = [];

const name = process.argv[2];
const source = fs.readFileSync(name, "utf8");
const ts = require("/usr/share/nodejs/typescript");
const isTypeScript = /\.[cm]?tsx?$/.test(name);
let tree;
const parse = () => ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind[isTypeScript ? (/x$/.test(name) ? "TSX" : "TS") : "JSX"]);
const token = (node) => ts.tokenToString(node.kind);
const startOf = (node) => ts.getTokenPosOfNode(node, tree);
const textOf = (node) => source.slice(startOf(node), node.end);

function tell(rule, at, what) {
  if (found.length >= MOST) return;
  const p = ts.getLineAndCharacterOfPosition(tree, at);
  found.push({ rule, line: p.line + 1, column: p.character + 1, name: what });
}

// JavaScript is checked by a parser of its own, since the compiler's takes types too.
function syntax() {
  if (isTypeScript) {
    for (const d of tree.parseDiagnostics) tell("syntax", d.start, ts.flattenDiagnosticMessageText(d.messageText, " "));
    return;
  }
  const acorn = require("/usr/share/nodejs/acorn");
  const read = (sourceType) => acorn.parse(source, { ecmaVersion: "latest", sourceType, allowHashBang: true, allowReturnOutsideFunction: sourceType === "script" });
  const kinds = /\.mjs$/.test(name) ? ["module"] : /\.cjs$/.test(name) ? ["script"] : ["script", "module"];
  let first;
  for (const kind of kinds) {
    try {
      read(kind);
      return;
    } catch (e) {
      if (!(e instanceof SyntaxError) || /^Not enough stack/.test(e.message)) throw e;
      first = /'import' and 'export' may appear only/.test(e.message) ? undefined : first ?? e;
    }
  }
  if (first) tell("syntax", Math.min(first.pos ?? 0, source.length), first.message.replace(/ \(\d+:\d+\)$/, ""));
}

const RULES = {
  "eval": "js-eval", "Function": "js-function",
  "vm.runInThisContext": "js-eval", "vm.runInNewContext": "js-eval", "vm.runInContext": "js-eval", "vm.Script": "js-eval", "vm.compileFunction": "js-eval",
  "fetch": "network", "WebSocket": "network", "XMLHttpRequest": "network", "EventSource": "network",
};
// Modules that are reported wherever they are loaded.
const LOADED = { "child_process": "js-child-process" };
for (const m of ["net", "tls", "dgram", "http", "https", "http2", "axios", "node-fetch", "undici", "ws"]) LOADED[m] = "network";
const GLOBALS = new Set(["eval", "fetch", "WebSocket", "XMLHttpRequest", "EventSource", "Function", "require", "setTimeout", "setInterval", "globalThis", "global", "window", "self", "module", "process", "Object", "Reflect"]);
const GLOBAL_OBJECTS = new Set(["globalThis", "global", "window", "self"]);
const MODULES = new Set(["child_process", "vm", "module"]);
const HTML = new Set(["innerHTML", "outerHTML"]);

// nameOf is what an identifier, or a property's name, reads.
const nameOf = (node) => (ts.isIdentifier(node) || ts.isPrivateIdentifier(node) ? ts.idText(node) : node.text);

// text is the constant string an expression is, or undefined.
function text(node, depth = 0) {
  if (!node || depth > 50) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isParenthesizedExpression(node)) return text(node.expression, depth + 1);
  if (ts.isBinaryExpression(node) && token(node.operatorToken) === "+") {
    const left = text(node.left, depth + 1), right = text(node.right, depth + 1);
    return left === undefined || right === undefined ? undefined : left + right;
  }
  if (ts.isTemplateExpression(node)) {
    let out = node.head.text;
    for (const span of node.templateSpans) {
      const s = text(span.expression, depth + 1);
      if (s === undefined) return undefined;
      out += s + span.literal.text;
    }
    return out;
  }
  return undefined;
}

// A scope maps each name it binds to the expressions and dotted names it can be.
class Scope {
  constructor(outer) {
    this.outer = outer;
    this.bound = new Map();
    this.cached = new Map();
  }
  bind(name, value) {
    if (!this.bound.has(name)) this.bound.set(name, []);
    this.bound.get(name).push(value);
  }
}

const scopes = new Map();
const makesScope = (n) => ts.isFunctionLike(n) || ts.isBlock(n) || ts.isForStatement(n) || ts.isForInStatement(n) || ts.isForOfStatement(n) ||
  ts.isCatchClause(n) || ts.isModuleBlock(n) || ts.isCaseBlock(n) || ts.isClassLike(n) || ts.isSourceFile(n);

// A value is { node, scope, path }: what node stands for, and the property of it.
function bindPattern(scope, pattern, value) {
  if (ts.isIdentifier(pattern)) {
    scope.bind(nameOf(pattern), value);
    return;
  }
  if (!ts.isObjectBindingPattern(pattern) && !ts.isArrayBindingPattern(pattern)) return;
  for (const e of pattern.elements) {
    if (!ts.isBindingElement(e)) continue;
    const key = e.propertyName ? (ts.isComputedPropertyName(e.propertyName) ? text(e.propertyName.expression) : nameOf(e.propertyName)) : nameOf(e.name);
    const known = ts.isObjectBindingPattern(pattern) && !e.dotDotDotToken && value && key !== undefined;
    bindPattern(scope, e.name, known ? { ...value, path: [...value.path, key] } : e.dotDotDotToken ? value : undefined);
    if (e.initializer) bindPattern(scope, e.name, { node: e.initializer, scope, path: [] });
  }
}

function moduleName(specifier) {
  const s = text(specifier);
  return s === undefined ? undefined : s.replace(/^node:/, "");
}

// bind walks the tree once and fills the scopes. functionScope is where var goes.
function bind(node, scope, functionScope) {
  if (makesScope(node)) {
    if (ts.isFunctionDeclaration(node) && node.name) scope.bind(nameOf(node.name), undefined);
    if (ts.isClassDeclaration(node) && node.name) scope.bind(nameOf(node.name), undefined);
    scope = new Scope(scope);
    scopes.set(node, scope);
    if (ts.isFunctionLike(node) || ts.isSourceFile(node)) functionScope = scope;
    if (ts.isFunctionExpression(node) && node.name) scope.bind(nameOf(node.name), undefined);
  }
  if (ts.isParameter(node)) {
    bindPattern(scope, node.name, node.initializer ? { node: node.initializer, scope, path: [] } : undefined);
  } else if (ts.isVariableDeclaration(node)) {
    const isVar = ts.isVariableDeclarationList(node.parent) && /^var\b/.test(textOf(node.parent));
    bindPattern(isVar ? functionScope : scope, node.name, node.initializer ? { node: node.initializer, scope, path: [] } : undefined);
  } else if (ts.isBinaryExpression(node) && token(node.operatorToken) === "=" && ts.isIdentifier(node.left)) {
    let s = scope;
    while (s.outer && !s.bound.has(nameOf(node.left))) s = s.outer;
    s.bind(nameOf(node.left), { node: node.right, scope, path: [] });
  } else if (ts.isImportDeclaration(node) && node.importClause) {
    const from = moduleName(node.moduleSpecifier), c = node.importClause;
    if (c.name) scope.bind(nameOf(c.name), from);
    if (c.namedBindings && ts.isNamespaceImport(c.namedBindings)) scope.bind(nameOf(c.namedBindings.name), from);
    if (c.namedBindings && ts.isNamedImports(c.namedBindings)) {
      for (const e of c.namedBindings.elements) {
        const what = nameOf(e.propertyName ?? e.name);
        scope.bind(nameOf(e.name), what === "default" ? from : `${from}.${what}`);
      }
    }
  } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
    scope.bind(nameOf(node.name), moduleName(node.moduleReference.expression));
  }
  ts.forEachChild(node, (child) => bind(child, scope, functionScope));
}

function property(bases, key) {
  const out = new Set();
  for (const b of bases) {
    if (GLOBAL_OBJECTS.has(b) && GLOBALS.has(key)) out.add(key);
    else if (b === "eval" && (key === "call" || key === "apply" || key === "bind")) out.add("eval");
    else if (key === "default" && MODULES.has(b)) out.add(b);
    else if (key === "constructor" && (b === "a function" || b === "a constructor")) out.add("Function");
    else if (key === "constructor") out.add("a constructor");
    else if (b === "module" && key === "require" || b === "process.mainModule" && key === "require") out.add("require");
    else if (b === "a literal") out.add("a function"); // [].filter, "".trim
    else if (b.length < 200) out.add(`${b}.${key}`);
  }
  if (key === "constructor" && out.size === 0) out.add("a constructor");
  return out;
}

let depth = 0;
// names are the dotted names an expression can stand for.
function names(node, scope) {
  if (!node || depth > 200) return new Set();
  if (scope.cached.has(node)) return scope.cached.get(node);
  scope.cached.set(node, new Set()); // for one that is defined by itself
  depth++;
  const out = resolve(node, scope);
  depth--;
  scope.cached.set(node, out);
  return out;
}

function resolve(node, scope) {
  if (ts.isIdentifier(node)) return identifier(nameOf(node), scope);
  if (ts.isPropertyAccessExpression(node)) return property(names(node.expression, scope), nameOf(node.name));
  if (ts.isElementAccessExpression(node)) {
    const key = text(node.argumentExpression);
    return key === undefined ? new Set() : property(names(node.expression, scope), key);
  }
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) || ts.isAsExpression(node) || ts.isTypeAssertionExpression(node) || ts.isAwaitExpression(node) || ts.isSatisfiesExpression?.(node)) {
    return names(node.expression, scope);
  }
  if (ts.isConditionalExpression(node)) return new Set([...names(node.whenTrue, scope), ...names(node.whenFalse, scope)]);
  if (ts.isBinaryExpression(node)) {
    switch (token(node.operatorToken)) {
      case ",": case "=":
        return names(node.right, scope);
      case "||": case "&&": case "??":
        return new Set([...names(node.left, scope), ...names(node.right, scope)]);
    }
    return new Set();
  }
  if (ts.isFunctionExpression(node) || ts.isArrowFunction(node)) return new Set(["a function"]);
  if (ts.isArrayLiteralExpression(node) || ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return new Set(["a literal"]);
  if (ts.isCallExpression(node)) return call(node, scope);
  return new Set();
}

function identifier(name, scope) {
  const out = new Set();
  for (let s = scope; s; s = s.outer) {
    if (!s.bound.has(name)) continue;
    for (const value of s.bound.get(name)) {
      if (typeof value === "string") out.add(value);
      else if (value) {
        let got = names(value.node, value.scope);
        for (const key of value.path) got = property(got, key);
        for (const n of got) out.add(n);
      }
    }
    return out;
  }
  if (GLOBALS.has(name)) out.add(name);
  return out;
}

function call(node, scope) {
  const first = node.arguments[0];
  if (token(node.expression) === "import") {
    const m = moduleName(first);
    return new Set(m === undefined ? [] : [m]);
  }
  const func = names(node.expression, scope);
  if (func.has("require")) {
    const m = moduleName(first);
    return new Set(m === undefined ? [] : [m]);
  }
  if (func.has("module.createRequire")) return new Set(["require"]);
  if (func.has("Object.getPrototypeOf") || func.has("Reflect.getPrototypeOf")) return names(first, scope);
  if (func.has("Reflect.get")) {
    const key = text(node.arguments[1]);
    return key === undefined ? new Set() : property(names(first, scope), key);
  }
  if (func.has("process.getBuiltinModule")) {
    const m = moduleName(first);
    return new Set(m === undefined ? [] : [m]);
  }
  return new Set();
}

function loaded(module, at) {
  if (Object.hasOwn(LOADED, module ?? "")) tell(LOADED[module], startOf(at), module);
}

// find tells of what is used, not only of what is called.
function find(node, scope) {
  if (scopes.has(node)) scope = scopes.get(node);
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    if (node.moduleSpecifier) loaded(moduleName(node.moduleSpecifier), node.moduleSpecifier);
    if (ts.isImportDeclaration(node)) return;
  }
  if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return;
  if (ts.isExternalModuleReference(node)) loaded(moduleName(node.expression), node);
  if (ts.isCallExpression(node)) {
    for (const m of names(node, scope)) loaded(m, node);
    const func = names(node.expression, scope), first = node.arguments[0];
    if ((func.has("setTimeout") || func.has("setInterval")) && first && (text(first) !== undefined || ts.isTemplateExpression(first))) {
      tell("js-eval", startOf(node), textOf(node.expression).slice(0, 40));
    }
    if (func.has("process.binding")) tell("js-child-process", startOf(node), "process.binding");
    if (func.has("Object.assign")) {
      for (const a of node.arguments.slice(1)) {
        if (!ts.isObjectLiteralExpression(a)) continue;
        for (const p of a.properties) if (p.name && HTML.has(nameOf(p.name))) tell("js-inner-html", startOf(p), nameOf(p.name));
      }
    }
  }
  if (ts.isBinaryExpression(node) && ts.isAssignmentOperator(node.operatorToken.kind)) {
    const key = ts.isPropertyAccessExpression(node.left) ? nameOf(node.left.name) : ts.isElementAccessExpression(node.left) ? text(node.left.argumentExpression) : undefined;
    if (HTML.has(key)) tell("js-inner-html", startOf(node.left), key);
  }
  if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isIdentifier(node) && isUse(node)) {
    for (const n of names(node, scope)) if (Object.hasOwn(RULES, n)) tell(RULES[n], startOf(node), n);
    if (ts.isPropertyAccessExpression(node)) { // its name is no variable
      find(node.expression, scope);
      return;
    }
  }
  ts.forEachChild(node, (child) => find(child, scope));
}

// isUse: an identifier that stands for a value, not one that is declared or names a
// property.
function isUse(node) {
  const p = node.parent;
  if ((ts.isPropertyAssignment(p) || ts.isMethodDeclaration(p) || ts.isPropertyDeclaration(p) || ts.isGetAccessor(p) || ts.isSetAccessor(p) || ts.isEnumMember(p) ||
    ts.isFunctionLike(p) || ts.isParameter(p) || ts.isVariableDeclaration(p) || ts.isBindingElement(p) || ts.isClassLike(p) || ts.isPropertySignature(p) ||
    ts.isMethodSignature(p) || ts.isTypeAliasDeclaration(p) || ts.isInterfaceDeclaration(p) || ts.isModuleDeclaration(p)) && p.name === node) return false;
  if (ts.isBindingElement(p) && p.propertyName === node) return false;
  if (ts.isLabeledStatement(p) || ts.isBreakOrContinueStatement(p) || ts.isJsxAttribute(p)) return false;
  return !(ts.isBinaryExpression(p) && p.left === node && token(p.operatorToken) === "=");
}

try {
  tree = parse();
  syntax();
  bind(tree, undefined, undefined);
  find(tree, scopes.get(tree));
} catch (e) {
  found.push({ rule: "unreadable", line: 0, column: 0, name: String(e && e.message) });
}
for (const one of found) console.log(JSON.stringify(one));
console.log(JSON.stringify({ done: true }));
