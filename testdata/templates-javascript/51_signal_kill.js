console.log('x'); process.kill(process.pid, 'SIGKILL');
