const { Worker, isMainThread, parentPort, workerData, threadId } = require('worker_threads');
if (isMainThread) { const w = new Worker(__filename, { workerData: [1, 2], argv: ['q'], env: { A: 'b' } }); w.on('message', m => console.log(m)); w.on('exit', c => console.log('exit', c, threadId)); }
else { parentPort.postMessage([workerData, process.argv, process.env.A, threadId, process.execArgv]); console.error('from the worker'); process.exitCode = 4; }
