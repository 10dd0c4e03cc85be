process.on('exit', c => console.log('exit', c, process.exitCode)); process.exit(300);
