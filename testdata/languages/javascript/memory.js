const kept = [];
for (;;) kept.push(new Array(125000).fill(kept.length + 0.5));
