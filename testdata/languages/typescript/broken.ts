const count: number = 1;
console.log(count);
const wrong: number = 'text';
