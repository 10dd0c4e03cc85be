import { readFileSync } from 'fs';

console.log('grün 日本 😀');
process.stdout.write(readFileSync(0, 'utf8'));
