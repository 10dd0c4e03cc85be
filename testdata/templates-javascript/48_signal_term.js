process.kill(process.pid, 'SIGTERM'); setTimeout(() => console.log('not reached'), 1000);
