import { execFileSync } from 'child_process';

process.stdout.write(execFileSync('echo', ['from a child']));
