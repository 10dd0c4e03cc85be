const { execFileSync, spawnSync } = require('child_process');
console.log(execFileSync(process.execPath, ['-p', 'process.argv.join() + process.execArgv + process.version'], { encoding: 'utf8' }));
const r = spawnSync(process.argv[0], ['-e', 'process.exit(7)']); console.log(r.status, r.signal, r.stderr.toString());
