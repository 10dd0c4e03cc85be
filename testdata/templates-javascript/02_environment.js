console.log(Object.keys(process.env).sort().map(k => k + '=' + process.env[k]).join('\n'));
process.env.ADDED = 'yes'; delete process.env.NAME;
console.log(require('child_process').execFileSync('sh', ['-c', 'echo $ADDED/$NAME']).toString());
