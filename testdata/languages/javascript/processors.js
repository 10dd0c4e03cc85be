const os = require('os');
if (os.cpus().length !== os.availableParallelism()) throw new Error(`${os.cpus().length} processors`);
console.log('processors', os.cpus().length);
