const fs = require('fs'); fs.closeSync(1); try { console.log('lost'); } catch (e) { console.error(e.code); } process.on('exit', c => console.error('exit', c));
