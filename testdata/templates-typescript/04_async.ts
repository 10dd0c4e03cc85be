import { readFile } from "fs/promises";
import * as rl from "readline";
(async () => {
  const lines: string[] = [];
  for await (const line of rl.createInterface({ input: process.stdin })) lines.push(line);
  console.log(lines, (await readFile("main.ts", "utf8")).length > 10);
})();
