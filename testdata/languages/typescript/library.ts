import * as crypto from 'crypto';
import * as fs from 'fs';
import * as os from 'os';
import * as path from 'path';

const numbers: number[] = JSON.parse('[1,2]');
console.log('json ' + numbers.reduce((a, b) => a + b));
console.log('regex ' + 'the year 2026, I think'.match(/\d{4}/)![0]);
console.log('big ' + 2n ** 100n);
const noon = new Date(Date.UTC(2026, 0, 1, 12, 0));
console.log('zone ' + new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Tokyo', hour: '2-digit', minute: '2-digit' }).format(noon));
console.log('random ' + (Math.random() < 1 && crypto.randomBytes(16).length === 16 ? 'ok' : 'bad'));
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'test-'));
fs.writeFileSync(path.join(dir, 'file'), 'ok');
console.log('temp ' + fs.readFileSync(path.join(dir, 'file'), 'utf8'));
fs.rmSync(dir, { recursive: true });
