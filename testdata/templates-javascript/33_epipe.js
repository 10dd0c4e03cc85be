const c = require('child_process').spawn('true'); c.stdin.on('error', e => console.log(e.code)); c.on('close', () => { c.stdin.write('x', e => console.log(e && e.code)); });
