process.on('exit', () => console.log('not said')); process.kill(process.pid, 'SIGINT'); setTimeout(() => {}, 1000);
