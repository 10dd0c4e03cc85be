import { Worker } from 'worker_threads';

const worker = new Worker('require("worker_threads").parentPort.postMessage("from a thread")', { eval: true });
worker.on('message', (text: string) => console.log(text));
