const kept: number[][] = [];
for (;;) kept.push(new Array<number>(125000).fill(kept.length + 0.5));
