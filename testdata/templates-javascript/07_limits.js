const fs = require('fs');
console.log(fs.readFileSync('/proc/self/limits', 'utf8'));
console.log(fs.readFileSync('/proc/self/cmdline', 'utf8').split('\0'), fs.readFileSync('/proc/self/comm', 'utf8'));
console.log(require('child_process').execFileSync('sh', ['-c', 'ulimit -n; cat /proc/self/status | grep -E "Sig[PBIC]|Threads"']).toString());
