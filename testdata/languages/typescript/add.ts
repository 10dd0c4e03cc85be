import * as fs from 'fs';

const words: string[] = fs.readFileSync(0, 'utf8').trim().split(/\s+/);
console.log(Number(words[0]) + Number(words[1]));
