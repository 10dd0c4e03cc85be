// The driver of a JavaScript kernel: it executes cells and keeps their variables. It is executed with node -e, and needs
// Node 18. It reads requests from descriptor 3 and writes events to descriptor 4, as kernel.py does, and like there
// whoever runs code here can change all of it.
//
// Cells are evaluated by V8's own evaluation for consoles: it has await, the value of the last expression, and let, const
// and class that another cell may declare anew.
'use strict';
(() => {
  const fs = require('fs');
  const inspector = require('inspector');
  const net = require('net');
  const util = require('util');
  const vm = require('vm');

  const MAX_EVENT = 8 << 20; // bytes of an event, as in frames.go
  const MAX_LINES = 120; // of a traceback

  const session = new inspector.Session();
  session.connect();

  function send(event) {
    const body = Buffer.from(JSON.stringify(event));
    if (body.length > MAX_EVENT) {
      return false;
    }
    const data = Buffer.concat([Buffer.from(`${body.length}\n`), body]);
    for (let at = 0; at < data.length;) {
      at += fs.writeSync(4, data, at);
    }
    return true;
  }

  // Node's own streams would stay as they are when a SIGINT ends a write in its middle, and write nothing more.
  class Output extends require('stream').Writable {
    constructor(fd) {
      super({ decodeStrings: false });
      this.fd = fd;
    }

    write(chunk, encoding, done) {
      const data = typeof chunk === 'string' ? Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8') : chunk;
      for (let at = 0; at < data.length;) {
        at += fs.writeSync(this.fd, data, at);
      }
      const callback = typeof encoding === 'function' ? encoding : done;
      if (callback) {
        process.nextTick(callback);
      }
      return true;
    }
  }
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value: new Output(fd) });
  }

  // The forms of a value.

  const FORMS = Symbol.for('Jupyter.display');

  function formsOf(value) {
    let data;
    try {
      const forms = value === null || value === undefined ? undefined : value[FORMS];
      data = typeof forms === 'function' ? forms.call(value) : undefined;
    } catch (e) {
      process.stderr.write(`a form of the value failed: ${e}\n`);
    }
    data = data && typeof data === 'object' ? { ...data } : {};
    if (data['text/plain'] === undefined) {
      data['text/plain'] = util.inspect(value);
    }
    return data;
  }

  function sendData(type, data) {
    const encoded = {};
    for (const [mime, form] of Object.entries(data)) {
      encoded[mime] = form instanceof Uint8Array ? Buffer.from(form).toString('base64') : form;
    }
    if (!send({ type, data: encoded, metadata: {} })) {
      throw new RangeError(`display: an event has at most ${MAX_EVENT >> 20} MiB: show less`);
    }
  }

  function display(value, { raw = false } = {}) {
    sendData('display', raw ? value : formsOf(value));
  }

  // Calls of tools.

  const calls = new Map(); // by the id of their events
  let asked = 0;

  function ask(name, ...args) {
    return new Promise((resolve, reject) => {
      const id = String(++asked);
      if (!send({ type: 'ask', id, name: String(name), args })) {
        reject(new RangeError(`ask: a call has at most ${MAX_EVENT >> 20} MiB of arguments`));
        return;
      }
      calls.set(id, { resolve, reject });
    });
  }

  function answer({ id, error, value }) {
    const call = calls.get(id);
    calls.delete(id);
    if (call && error) {
      call.reject(new Error(error));
    } else if (call) {
      call.resolve(value);
    }
  }

  // Cells.

  const post = (method, params) => new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error ? reject(error) : resolve(result)));
  });

  let taken;
  let take; // the id of a function that keeps its argument in taken

  // valueOf returns the value that the inspector describes.
  async function valueOf(remote) {
    if (remote.type === 'undefined') {
      return undefined;
    }
    let arg = { value: remote.value };
    if (remote.objectId) {
      arg = { objectId: remote.objectId };
    } else if (remote.unserializableValue) {
      arg = { unserializableValue: remote.unserializableValue };
    }
    await post('Runtime.callFunctionOn', {
      objectId: take, functionDeclaration: 'function (v) { this(v); }', arguments: [arg],
    });
    if (remote.objectId) {
      await post('Runtime.releaseObject', { objectId: remote.objectId });
    }
    const value = taken;
    taken = undefined;
    return value;
  }

  // withImports returns a cell whose imports, which only modules may have, are calls.
  function withImports(code) {
    if (!/\bimport\b/.test(code)) {
      return code;
    }
    let tree;
    try {
      const acorn = require('internal/deps/acorn/acorn/dist/acorn');
      tree = acorn.parse(code, {
        ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: true, checkPrivateFields: false,
      });
    } catch {
      return code; // V8 says what is wrong with it
    }

    const edits = [];
    const walk = (node) => {
      if (!node || typeof node !== 'object') {
        return;
      }
      if (node.type === 'ImportExpression') {
        edits.push([node.start, node.start + 'import'.length, '__brig_import']);
      } else if (node.type === 'ImportDeclaration') {
        edits.push([node.start, node.end, declarationOf(node)]);
        return;
      }
      for (const child of Object.values(node)) {
        (Array.isArray(child) ? child : [child]).forEach(walk);
      }
    };
    tree.body.forEach(walk);
    edits.sort((a, b) => b[0] - a[0]);
    for (const [start, end, text] of edits) {
      code = code.slice(0, start) + text + code.slice(end);
    }
    return code;
  }

  function declarationOf(node) {
    const from = `await __brig_import(${JSON.stringify(node.source.value)})`;
    const named = [];
    let all = '';
    for (const s of node.specifiers) {
      if (s.type === 'ImportNamespaceSpecifier') {
        all = s.local.name;
      } else {
        const imported = s.type === 'ImportDefaultSpecifier' ? 'default' : s.imported.name ?? s.imported.value;
        named.push(`${JSON.stringify(imported)}: ${s.local.name}`);
      }
    }
    if (all) {
      return `const ${all} = ${from};` + (named.length ? ` const { ${named.join(', ')} } = ${all};` : '');
    }
    return named.length ? `const { ${named.join(', ')} } = ${from};` : `${from};`;
  }

  // asExpression returns a cell that is an object in braces as an expression, as consoles take it.
  function asExpression(code) {
    if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) {
      return code;
    }
    try {
      new vm.Script(`(${code}\n)`);
      return `(${code}\n)`;
    } catch {
      return code;
    }
  }

  let interruptCell = null; // rejects the cell that waits
  process.on('SIGINT', () => {
    if (interruptCell) {
      interruptCell(new Interrupted());
    }
  });

  class Interrupted extends Error {
    constructor() {
      super('the cell was interrupted');
      this.name = 'Interrupted';
      this.stack = `${this.name}: ${this.message}`;
    }
  }

  let evaluation; // what the next call of __brig_evaluate evaluates, and how its promise is settled
  const evaluator = new vm.Script('__brig_evaluate()', { filename: 'driver' });

  function evaluate() {
    const { expression, settle } = evaluation;
    session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true }, settle);
  }

  async function run(code, name) {
    const expression = `${asExpression(withImports(code))}\n//# sourceURL=${name}`;
    const interrupted = new Promise((_, reject) => { interruptCell = reject; });
    const done = new Promise((resolve, reject) => {
      evaluation = { expression, settle: (error, result) => (error ? reject(error) : resolve(result)) };
    });
    done.catch(() => {});
    interrupted.catch(() => {});
    try {
      // While this runs, SIGINT ends what is executed, and the variables stay.
      evaluator.runInThisContext({ breakOnSigint: true });
    } catch (e) {
      throw e && e.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' ? new Interrupted() : e;
    }
    const { result, exceptionDetails: failed } = await Promise.race([done, interrupted]);
    const value = await valueOf(failed && failed.exception ? failed.exception : result);
    if (failed) {
      throw new Failed(value, failed);
    }
    return value;
  }

  // Failed is what a cell has thrown, which can be any value.
  class Failed {
    constructor(value, details) {
      this.value = value;
      this.line = details.lineNumber + 1;
      this.column = details.columnNumber + 1;
      this.known = Boolean(details.stackTrace && details.stackTrace.callFrames.length);
    }
  }

  function sendError(thrown, name, code) {
    const value = thrown instanceof Failed ? thrown.value : thrown;
    let kind = 'Error';
    let text;
    let lines;
    try {
      if (util.types.isNativeError(value) || value instanceof Error) {
        kind = String(value.name);
        text = String(value.message);
        lines = ownLines(String(value.stack));
        if (kind === 'SyntaxError' && !lines.some((l) => l.includes(`${name}:`)) && thrown instanceof Failed) {
          lines = [`    at ${name}:${thrown.line}:${thrown.column}`, code.split('\n')[thrown.line - 1] ?? '', ...lines];
        }
      } else {
        text = typeof value === 'string' ? value : util.inspect(value);
        lines = [`Uncaught ${text}`];
      }
    } catch {
      text = 'an error that cannot be shown';
      lines = [text];
    }
    lines = lines.slice(0, MAX_LINES).map((l) => l.slice(0, 2000));
    send({ type: 'error', name: kind.slice(0, 200), value: text.slice(0, 1 << 16), traceback: lines });
  }

  // ownLines returns the lines of a stack without the frames of this driver, which come last.
  function ownLines(stack) {
    const lines = stack.split('\n');
    const driver = lines.findIndex((l) => /at (.* \()?(\[eval\]|node:inspector|driver:)/.test(l));
    return driver < 0 ? lines : lines.slice(0, driver);
  }

  async function execute({ cell, count, silent, env, code }) {
    const name = silent ? `silent-cell-${cell}` : `cell-${count}`;
    const before = Object.keys(env).map((k) => [k, process.env[k]]);
    Object.assign(process.env, env);
    let status = 'ok';
    try {
      const value = await run(code, name);
      if (value !== undefined && !silent) {
        globalThis._ = value;
        sendData('result', formsOf(value));
      }
    } catch (e) {
      status = e instanceof Interrupted ? 'interrupted' : 'error';
      sendError(e, name, code);
    } finally {
      interruptCell = null;
      calls.clear();
      for (const [k, v] of before) {
        if (v === undefined) {
          delete process.env[k];
        } else {
          process.env[k] = v;
        }
      }
    }
    await post('Runtime.discardConsoleEntries'); // what console.log wrote would stay in memory
    send({ type: 'done', cell, status });
  }

  // What cells see.
  for (const name of ['module', 'exports', '__filename', '__dirname']) {
    delete globalThis[name];
  }
  const { createRequire } = require('module');
  const hidden = { enumerable: false, configurable: true, writable: true };
  Object.defineProperties(globalThis, {
    require: { ...hidden, value: createRequire(`${process.cwd()}/`) },
    display: { ...hidden, value: display },
    ask: { ...hidden, value: ask },
    _: { ...hidden, value: undefined },
    __brig_import: { ...hidden, value: (name) => import(name) },
    __brig_evaluate: { ...hidden, value: evaluate },
    __brig_take: { ...hidden, value: (v) => { taken = v; } },
  });

  for (const kind of ['uncaughtException', 'unhandledRejection']) {
    process.on(kind, (e) => process.stderr.write(`Uncaught ${util.inspect(e)}\n`));
  }

  async function serve() {
    take = (await post('Runtime.evaluate', { expression: '__brig_take' })).result.objectId;
    const requests = new net.Socket({ fd: 3, readable: true, writable: false });
    let buffer = Buffer.alloc(0);
    requests.on('data', (part) => {
      buffer = Buffer.concat([buffer, part]);
      for (;;) {
        const end = buffer.indexOf(10);
        const size = end < 0 ? 0 : Number(buffer.subarray(0, end));
        if (end < 0 || buffer.length < end + 1 + size) {
          return;
        }
        const request = JSON.parse(buffer.subarray(end + 1, end + 1 + size).toString());
        buffer = buffer.subarray(end + 1 + size);
        if (request.type === 'execute') {
          execute(request);
        } else if (request.type === 'answer') {
          answer(request);
        }
      }
    });
    requests.on('end', () => process.exit(0));
    send({ type: 'ready' });
  }

  if (process.argv[1]) {
    process.chdir(process.argv[1]);
  }
  serve();
})();
