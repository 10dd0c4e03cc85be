const assert = require('assert');
const { execSync, spawn, spawnSync, fork } = require('child_process');
const { Worker } = require('worker_threads');
const os = require('os');

if (process.argv[2] === 'child') {
  process.on('message', (n) => { process.send(2 * n, () => process.disconnect()); });
  return;
}
assert.equal(spawnSync('sh', ['-c', 'exit 3']).status, 3);
assert.equal(execSync('cat', { input: 'through' }).toString(), 'through');
const sleeper = spawn('sleep', ['9'], { detached: true });
sleeper.on('exit', (code, signal) => {
  assert.equal(signal, 'SIGTERM');
  const child = fork(__filename, ['child']);
  child.on('message', (n) => {
    assert.equal(n, 42);
    const worker = new Worker('require("worker_threads").parentPort.postMessage(7)', { eval: true });
    worker.on('message', (n) => {
      assert.equal(n, 7);
      process.on('SIGUSR2', () => setTimeout(() => { assert(os.availableParallelism() >= 1); console.log('processes ok'); process.exit(0); }, 10));
      setInterval(() => {}, 1000); // a handler does not keep the process alive until its signal comes
      process.kill(process.pid, 'SIGUSR2');
    });
  });
  child.send(21);
});
process.kill(-sleeper.pid, 'SIGTERM');
