const t = setTimeout(() => {}, 1000); console.log(t.hasRef(), t._idleTimeout, t._idleStart < 5000, t._repeat, t[Symbol.toPrimitive]() > 0, typeof t.ref); t.unref();
const { setTimeout: s } = require('timers/promises'); s(5, 'v').then(console.log);
