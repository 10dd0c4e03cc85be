process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 100);
