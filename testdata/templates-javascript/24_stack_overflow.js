let n = 0; function f() { n++; f(); } try { f(); } catch (e) { console.log(e instanceof RangeError, e.message, n > 5000); }
function g(k) { return k ? 1 + g(k - 1) : 0; } console.log(g(8000)); g(1e9);
