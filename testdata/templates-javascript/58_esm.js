import fs, { readFileSync } from 'node:fs'; import path from 'path'; import helper from './helper.js';
console.log(import.meta.url, import.meta.filename, import.meta.dirname, import.meta.resolve('./x.js'), typeof require, this, fs.readFileSync === readFileSync, helper.name, path.sep);
const v = await new Promise(r => setTimeout(r, 5, 'awaited')); console.log(v, process.argv.length); export default 1;
