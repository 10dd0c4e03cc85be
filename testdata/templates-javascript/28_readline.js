const rl = require('readline').createInterface({ input: process.stdin });
rl.on('line', l => console.log('line', l)).on('close', () => console.log('close'));
