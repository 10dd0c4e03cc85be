const { performance: p } = require('perf_hooks');
const n = p.now(), t = p.nodeTiming, up = process.uptime();
console.log(n > 0 && n < 3000, up > 0 && up < 3, Math.abs(p.timeOrigin + p.now() - Date.now()) < 50);
console.log(t.nodeStart >= 0 && t.nodeStart < t.v8Start && t.v8Start < t.environment && t.environment < t.bootstrapComplete && t.bootstrapComplete <= n, t.loopStart, t.loopExit, t.startTime, t.duration >= n);
console.log(process.hrtime.bigint() > 0n, process.hrtime().length, performance === p);
p.mark('a'); p.measure('m', 'a'); console.log(p.getEntries().map(e => e.name + e.entryType));
setTimeout(() => { console.log(t.loopStart > 0 && t.loopStart <= p.now(), p.eventLoopUtilization().active < 3000); }, 5);
