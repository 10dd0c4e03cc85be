const { Worker } = require('worker_threads'); const w = new Worker('setTimeout(() => { throw new Error("in the worker") }, 1)', { eval: true });
w.on('error', e => console.log('error', e.message)); w.on('exit', c => console.log('exit', c));
