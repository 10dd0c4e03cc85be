process.on('uncaughtException', (e, o) => console.log('caught', e.message, o)); process.on('unhandledRejection', (e) => console.log('rejected', e));
setTimeout(() => { throw new Error('late'); }, 1); Promise.reject('x'); process.nextTick(() => console.log('tick'));
process.on('rejectionHandled', () => console.log('handled')); const p = Promise.reject(1); setTimeout(() => p.catch(() => {}), 200);
process.on('warning', w => console.log('warning', w.name)); process.emitWarning('w');
