import { text } from './other';

console.log(`7 ${text}`);
