const line = 'x'.repeat(99) + '\n'; for (let i = 0; i < 5000; i++) process.stdout.write(line); process.stdout.end(() => process.exit(3));
