process.kill(process.pid, 'SIGPIPE'); console.log('pipe is ignored'); process.kill(process.pid, 'SIGHUP'); setTimeout(() => {}, 1000);
