console.log(Object.getOwnPropertyNames(globalThis).sort().join(' '));
console.log(require('module').builtinModules.length, Object.keys(require.cache), Object.keys(require.extensions));
