// JupyterLab's own client, @jupyterlab/services, at brig's dialect: node jupyter.js ADDRESS
const { KernelManager, KernelSpecManager, ServerConnection } = require('@jupyterlab/services');
const WebSocket = require('ws');

let passed = 0, of = 0;
const check = (name, got, want) => {
  of++;
  if (JSON.stringify(got) === JSON.stringify(want)) passed++;
  else console.log(`failed ${name}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};

async function execute(kernel, code, on) {
  const seen = [];
  const future = kernel.requestExecute({ code });
  future.onIOPub = m => { seen.push([m.header.msg_type, m.content]); if (on) on(m); };
  const reply = await future.done;
  return { seen, reply: reply.content, text: seen.filter(m => m[0] === 'stream').map(m => m[1].text).join('') };
}

(async () => {
  const base = process.argv[2];
  const serverSettings = ServerConnection.makeSettings({ baseUrl: base, wsUrl: base.replace('http', 'ws'), WebSocket, fetch, Request, Headers });
  const specs = new KernelSpecManager({ serverSettings });
  await specs.ready;
  check('specs', [specs.specs.default, specs.specs.kernelspecs.python3.language], ['python3', 'python']);
  const manager = new KernelManager({ serverSettings });
  await manager.ready;
  const kernel = await manager.startNew({ name: 'python3' });
  check('info', (await kernel.info).implementation, 'brig');
  let o = await execute(kernel, "x = 20\nprint('hi')\nx + 1");
  check('stream', o.text, 'hi\n');
  check('result', o.seen.filter(m => m[0] === 'execute_result').map(m => m[1].data['text/plain']), ['21']);
  check('reply', [o.reply.status, o.reply.execution_count], ['ok', 1]);
  o = await execute(kernel, '1/0');
  check('error', [o.reply.status, o.reply.ename], ['error', 'ZeroDivisionError']);
  o = await execute(kernel, "class P:\n  def _repr_png_(self): return b'\\x89PNG'\ndisplay(P())");
  check('picture', o.seen.filter(m => m[0] === 'display_data').map(m => m[1].data['image/png'].trim()), ['iVBORw==']);
  o = await execute(kernel, "print('begun')\nwhile True: pass", m => { if (m.header.msg_type === 'stream') kernel.interrupt(); });
  check('interrupt', o.reply.ename, 'KeyboardInterrupt');
  check('kept', (await execute(kernel, 'print(x)')).text, '20\n');
  while (kernel.status !== 'idle') await new Promise(then => setTimeout(then, 20)); // it is told a moment later
  check('complete', (await kernel.requestComplete({ code: 'pr', cursor_pos: 2 })).content.matches, []);
  check('history', (await kernel.requestHistory({ output: false, raw: true, hist_access_type: 'tail', n: 1 })).content.history, []);
  await kernel.restart();
  check('restart', (await execute(kernel, "print('x' in globals())")).text, 'False\n');
  const again = manager.connectTo({ model: kernel.model });
  check('another connection', (await execute(again, 'print(5)')).text, '5\n');
  await manager.refreshRunning();
  check('running', [...manager.running()].length, 1);
  await kernel.shutdown();
  await manager.refreshRunning();
  check('shutdown', [...manager.running()].length, 0);
})().catch(e => console.log(`failed: ${e.stack}`)).finally(() => { console.log(`${passed} ${Math.max(of, 15)}`); process.exit(0); });
