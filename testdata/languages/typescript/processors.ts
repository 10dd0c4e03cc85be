import * as os from 'os';
const n: number = os.cpus().length;
console.log('processors', n);
