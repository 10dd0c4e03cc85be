if (process.argv[2] === 'child') { process.on('message', m => { process.send([m, process.argv, process.execArgv, process.connected]); process.disconnect(); }); }
else { const c = require('child_process').fork(__filename, ['child', 'q']); c.on('message', m => console.log(m)); c.on('exit', (c, s) => console.log('exit', c, s)); c.send({ a: 1 }); }
