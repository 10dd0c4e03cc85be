function f() { throw new TypeError('what', { cause: new Error('why') }); }
setTimeout(f, 1); console.log('first');
