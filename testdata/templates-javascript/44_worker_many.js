const { Worker } = require('worker_threads'); let n = 0;
for (let i = 0; i < 4; i++) new Worker('const { parentPort, workerData } = require("worker_threads"); let s = 0; for (let i = 0; i < 1e6; i++) s += i * workerData; parentPort.postMessage(s)', { eval: true, workerData: i }).on('message', m => { n += m; }).on('exit', () => { console.log; });
process.on('exit', () => console.log(n));
