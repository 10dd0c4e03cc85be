const { text } = require('./other');
console.log(`7 ${text}`);
