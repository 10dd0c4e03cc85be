const fs = require('fs');
const kind = fd => { try { return fs.readlinkSync('/proc/self/fd/' + fd).replace(/\d+/, 'N'); } catch (e) { return e.code; } };
const open = fs.readdirSync('/proc/self/fd').map(Number).sort((a, b) => a - b);
console.log(open.map(fd => fd + ' ' + kind(fd)).join('\n'));
for (const fd of open) try { console.log(fd, fs.readFileSync('/proc/self/fdinfo/' + fd, 'utf8').replace(/(ino|mnt_id|eventfd-id|sdev|pos):\s*[0-9a-f]+/g, '').split('\n').sort().join(' ')); } catch (e) { console.log(fd, e.code); }
console.log(fs.openSync('main.js'));
