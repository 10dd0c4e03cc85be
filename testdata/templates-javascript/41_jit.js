function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } console.log(fib(27));
const a = new Float64Array(1e6); for (let k = 0; k < 5; k++) for (let i = 0; i < a.length; i++) a[i] = a[i] * 0.5 + i; console.log(a[999999]);
console.log([...Array(1e5).keys()].map(x => x * 7 % 1000).sort((x, y) => x - y)[5000]);
