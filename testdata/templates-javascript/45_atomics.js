const { Worker } = require('worker_threads'); const a = new Int32Array(new SharedArrayBuffer(8));
new Worker('const { workerData: a } = require("worker_threads"); setTimeout(() => { Atomics.store(a, 0, 1); Atomics.notify(a, 0); }, 10)', { eval: true, workerData: a });
console.log(Atomics.wait(a, 0, 0, 5000), a[0], Atomics.wait(a, 1, 0, 5));
