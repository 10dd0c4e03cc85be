const fs = require('fs');
for (const t of fs.readdirSync('/proc/self/task')) {
  const s = fs.readFileSync(`/proc/self/task/${t}/status`, 'utf8');
  console.log(t, ['Name', 'SigBlk', 'SigIgn', 'SigCgt', 'Cpus_allowed', 'NoNewPrivs', 'Seccomp'].map(k => s.match(new RegExp('^' + k + ':\\s*(.*)$', 'm'))[1]).join(' '));
}
