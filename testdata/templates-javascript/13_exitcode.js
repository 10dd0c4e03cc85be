process.exitCode = 5; process.on('beforeExit', c => { if (!globalThis.again) { globalThis.again = 1; console.log('before', c); setTimeout(() => console.log('more'), 1); } });
