const v8 = require('v8'); v8.setFlagsFromString('--expose-gc'); const gc = require('vm').runInNewContext('gc'); gc();
let r = new WeakRef({}), f = 0; const reg = new FinalizationRegistry(() => f++); reg.register({}, 1);
setTimeout(() => { gc(); setTimeout(() => { console.log(r.deref() === undefined, f); }, 5); }, 5);
