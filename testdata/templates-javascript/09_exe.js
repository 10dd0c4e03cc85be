console.log(require('fs').readlinkSync('/proc/self/exe'), process.execPath);
console.log(require('child_process').execFileSync('readlink', ['/proc/' + process.pid + '/exe']).toString());
