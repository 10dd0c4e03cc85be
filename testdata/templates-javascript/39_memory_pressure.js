let keep = []; for (let i = 0; i < 300; i++) { keep.push(new Array(10000).fill(i)); if (keep.length > 40) keep.shift(); } console.log(keep.length);
const b = []; for (let i = 0; i < 20; i++) b.push(Buffer.alloc(1 << 20, i)); console.log(b.reduce((s, x) => s + x[5], 0));
let s = 0; for (let i = 0; i < 3e6; i++) { const o = { i, p: [i] }; s += o.p[0]; } console.log(s);
