const test = require('node:test'); const assert = require('assert'); try { assert.deepStrictEqual({ a: 1 }, { a: 2 }); } catch (e) { console.log(e.message); } assert.strictEqual(1, 2);
