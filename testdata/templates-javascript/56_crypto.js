const c = require('crypto'); console.log(c.createHash('sha256').update('a').digest('hex'), c.createHmac('md5', 'k').update('a').digest('base64'), c.getCiphers().length, c.getFips());
const { publicKey, privateKey } = c.generateKeyPairSync('ec', { namedCurve: 'P-256' }); console.log(c.verify('sha256', Buffer.from('a'), publicKey, c.sign('sha256', Buffer.from('a'), privateKey)));
console.log(c.randomBytes(8).length, c.randomUUID().length, new Set(Array.from({ length: 100 }, () => c.randomInt(1e9))).size > 90); c.randomBytes(4, (e, b) => console.log(b.length));
crypto.subtle.digest('SHA-1', new Uint8Array(3)).then(d => console.log(Buffer.from(d).toString('hex')));
