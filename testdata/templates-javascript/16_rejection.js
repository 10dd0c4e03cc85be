process.on('exit', c => console.log('exit', c)); Promise.reject(new RangeError('r')); setTimeout(() => console.log('not reached'), 50);
