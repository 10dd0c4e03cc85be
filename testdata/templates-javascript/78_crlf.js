console.log('a');
console.log(`x
y`.length);
