const log = []; const t0 = performance.now();
setTimeout(() => log.push('t2'), 20); setTimeout(() => log.push('t1'), 5); setImmediate(() => log.push('i')); process.nextTick(() => log.push('n')); Promise.resolve().then(() => log.push('p')); queueMicrotask(() => log.push('q'));
const iv = setInterval(() => { log.push('v'); if (log.filter(x => x === 'v').length === 2) clearInterval(iv); }, 40);
setTimeout(() => { const d = performance.now() - t0; console.log(log.join(), d >= 145 && d < 5000); }, 150);
