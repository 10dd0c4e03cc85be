const { spawn, exec, spawnSync } = require('child_process');
const c = spawn('cat'); c.stdout.on('data', d => process.stdout.write('cat: ' + d)); c.on('close', (code, signal) => { console.log('closed', code, signal); exec('echo out; echo err >&2; exit 3', (e, o, r) => { console.log(e.code, o, r); console.log(spawnSync('sh', ['-c', 'kill -9 $$']).signal); }); });
c.stdin.end('hello\n'); spawn('nothing-here').on('error', e => console.log(e.code, e.path));
