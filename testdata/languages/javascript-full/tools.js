// Runs each tool of the image on a small input, and prints "ok NAME" if it worked.
const { spawnSync } = require('node:child_process');
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');

function tool(argv, exitCode, says) {
  const done = spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' });
  const said = done.stdout + done.stderr;
  if (done.error || done.status !== exitCode || !said.includes(says)) {
    throw new Error(`${argv.join(' ')}: ${done.error ?? done.status}\n${said}`);
  }
}

writeFileSync('tsconfig.json', '{"compilerOptions": {"strict": true, "target": "es2022", "module": "commonjs", "outDir": "out", "types": ["jest", "node"]}}');
writeFileSync('adder.ts', "import { strict as assert } from 'node:assert';\n\nexport function add(a: number, b: number): number {\n  assert(a >= 0);\n  return a + b;\n}\n");
tool(['tsc'], 0, '');
writeFileSync('wrong.ts', "import { add } from './adder';\nadd(1, 'two');\n");
tool(['tsc', '--noEmit'], 2, "wrong.ts(2,8): error TS2345");
writeFileSync('wrong.ts', '');
if (require('/box/out/adder.js').add(1, 2) === 3) console.log('ok typescript');

const test = (from, want) => `const { add } = require('${from}');\ntest('adds', () => {\n  expect(add(1, 1)).toBe(${want});\n});\n`;
mkdirSync('tests');
writeFileSync('tests/right.test.js', test('../out/adder.js', 2));
writeFileSync('tests/typed.test.ts', "import { add } from '../adder';\n\ntest('adds', () => {\n  expect(add(1, 1)).toBe(2);\n});\n");
tool(['jest', 'tests'], 0, 'Tests:       2 passed, 2 total');
writeFileSync('tests/wrong.test.js', test('../out/adder.js', 3));
tool(['jest', 'tests/wrong'], 1, 'Tests:       1 failed, 1 total');
console.log('ok jest');

writeFileSync('neat.js', 'export const length = (text) => text?.length ?? 0;\n');
tool(['eslint', 'neat.js', 'adder.ts'], 0, '');
writeFileSync('untidy.js', 'export const forgotten = () => {\n  const unused = 1;\n};\n');
tool(['eslint', 'untidy.js'], 1, "2:9  error  'unused' is assigned a value but never used");
writeFileSync('eslint.config.mjs', 'export default [];\n');
tool(['eslint', 'untidy.js'], 0, ''); // its own configuration wins
console.log('ok eslint');

tool(['prettier', '--check', 'adder.ts'], 1, 'adder.ts'); // it prefers other quotes
tool(['prettier', '--single-quote', '--check', 'neat.js', 'adder.ts'], 0, 'All matched files use Prettier code style!');
writeFileSync('ugly.js', 'const  a=1\n');
tool(['prettier', '--write', 'ugly.js'], 0, 'ugly.js');
if (readFileSync('ugly.js', 'utf8') === 'const a = 1;\n') console.log('ok prettier');
