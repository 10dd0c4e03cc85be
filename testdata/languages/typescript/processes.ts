import { execFileSync, spawnSync } from 'child_process';

const code: number | null = spawnSync('sh', ['-c', 'exit 3']).status;
const text: string = execFileSync('cat', { input: 'through' }).toString();
if (code !== 3 || text !== 'through') throw new Error(`${code} ${text}`);
console.log('processes ok');
