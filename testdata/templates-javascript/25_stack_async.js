async function a() { await null; throw new Error('deep'); } async function b() { await a(); } b().catch(e => console.log(e.stack));
console.log(new Error('s').stack);
function h() { Error.captureStackTrace(h); return h.stack; } console.log(h());
