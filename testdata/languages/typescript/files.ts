import * as fs from 'fs';

fs.writeFileSync('a.txt', 'hello');
fs.renameSync('a.txt', 'b.txt');
fs.mkdirSync('d/e', { recursive: true });
fs.copyFileSync('b.txt', 'd/b.txt');
const names: string[] = fs.readdirSync('d').sort();
if (names.join() !== 'b.txt,e' || fs.statSync('d/b.txt').size !== 5) throw new Error(names.join());
fs.truncateSync('b.txt', 2);
fs.rmSync('d', { recursive: true });
fs.unlinkSync('b.txt');
console.log('files ok');
