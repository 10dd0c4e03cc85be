process.title = 'abc'; console.log(process.title);
const fs = require('fs');
console.log(JSON.stringify(fs.readFileSync('/proc/self/cmdline', 'utf8')), fs.readFileSync('/proc/self/comm', 'utf8'));
process.title = 'x'.repeat(500); console.log(process.title.length);
console.log(JSON.stringify(fs.readFileSync('/proc/self/cmdline', 'utf8')), fs.readFileSync('/proc/self/environ', 'utf8').length);
