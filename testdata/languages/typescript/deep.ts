function deep(n: number): number { return n === 0 ? 0 : 1 + deep(n - 1); }
console.log(deep(100000));
