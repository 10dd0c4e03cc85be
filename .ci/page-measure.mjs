// Measures the page in Chromium: page-measure.mjs ADDRESS KEY. It prints each number beside what issue 36 asks, and judges
// none: a loaded machine is slow. Lists and events are made here, so that the numbers are of the page alone.
import { chromium } from "playwright-core";

const [address, key] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.setDefaultTimeout(120_000);
const say = (what, is, asked) => console.log(`measured ${what}: ${is} (asked: ${asked})`);
await page.goto(address + "/ui/");
await page.fill("#key", key);
await page.click("button[type=submit]");
await page.waitForSelector(".cm-content");

const verdicts = ["ok", "ok", "ok", "nonzero", "cpu-limit", "memory-limit"];
const record = (i) => ({
  run_id: "run" + String(i).padStart(8, "0"), created: new Date(1.79e12 - i * 1e4).toISOString(), project: "p" + (i % 50), task: "t" + (i % 900), problem: "sum",
  job: "person " + i, language: i % 3 ? "python" : "cpp", verdict: verdicts[i % 6], queued_ns: 1e6, wall_ns: (i * 7919) % 1e9, cpu_ns: (i * 104729) % 1e9,
  memory_bytes: (i * 1299709) % 1e8, exit_code: 0, source_bytes: 10,
  summary: { tests: 20, ran: 20, accepted: 20 - (i % 20), verdict: verdicts[i % 6], answer: i % 2 ? "accepted" : "wrong-answer", outcomes: "A".repeat(20 - (i % 20)) + "WTMR".repeat(5).slice(0, i % 20) },
});
const pages = (all) => page.route(/\/v1\/history/, (r) => {
  const q = new URL(r.request().url()).searchParams, from = Number(q.get("after") || 0), to = Math.min(all, from + Math.min(10_000, Number(q.get("limit"))));
  return r.fulfill({ json: { items: Array.from({ length: to - from }, (_, i) => record(from + i)), ...(to < all ? { next: String(to) } : {}) } });
});
// until act and the two frames after it: what a person waits for.
const waits = (act, ...args) => page.evaluate(async ([act, args]) => {
  const start = performance.now();
  new Function("a", act)(args);
  await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
  return Math.round(performance.now() - start);
}, [act, args]);
const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);

// 1. A list of 100,000 runs.
await pages(100_000);
await page.goto(address + "/ui/runs");
await page.waitForSelector(".vlist tbody tr.go");
const few = await nodes();
for (let i = 0; i < 40; i++) {
  const all = await page.locator("header.head span").first().innerText();
  if (all === "100,000") break;
  await page.evaluate(() => { const b = document.querySelector(".vlist"); b.scrollTop = b.scrollHeight; });
  await page.waitForTimeout(800);
}
say("runs in the list", await page.locator("header.head span").first().innerText(), "100,000");
say("nodes of the document", `${few} with 500 runs, ${await nodes()} with all`, "the same");
await page.evaluate(() => { document.querySelector(".vlist").scrollTop = 0; });
const native = `const i = document.querySelector("[data-filter]"); Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(i, a[0]); i.dispatchEvent(new Event("input", { bubbles: true }));`;
for (const words of ["p7", "p7 t13", ""]) say(`filter by ${JSON.stringify(words)}`, (await waits(native, words)) + " ms", "200 ms");
for (const name of ["Wall", "Memory", "Time, UTC"]) {
  say(`sort by ${name}`, (await waits(`[...document.querySelectorAll(".vlist thead button")].find((b) => b.textContent.startsWith(a[0])).click()`, name)) + " ms", "200 ms");
}

// 2. Submissions x tests.
await page.unroute(/\/v1\/history/);
await pages(8192);
await page.route(/\/v1\/problems$/, (r) => r.fulfill({ json: { items: [{ name: "sum", tests: 20, format: "tests", stored: "", bytes: 1 }] } }));
await page.goto(address + "/ui/grading?view=tests&problem=sum");
await page.waitForFunction(() => document.querySelector(".testmap canvas")?.height === 8192 && document.querySelector(".testmap canvas").dataset.took);
say("the grid of 8,192 x 20, its picture", (await page.locator(".testmap canvas").getAttribute("data-took")) + " ms", "30 ms");
say("the grid, nodes of the document", await nodes(), "constant");
say("the grid, scrolled to its middle", (await waits(`document.querySelector(".testgrid .vlist").scrollTop = 130000`)) + " ms", "30 ms");
await page.unroute(/\/v1\/history/);

// 3. A run of 20,000 events.
let events = `id: 1\nevent: started\ndata: {"run_id":"many","state":"running","created":"2026-01-01T00:00:00Z"}\n\n`;
for (let i = 0; i < 19_998; i++) events += `id: ${i + 2}\nevent: stdout\ndata: ${JSON.stringify({ data: `line ${i}\n`, at_ns: i * 1e5 })}\n\n`;
const usage = Object.fromEntries(["cpu_ns", "user_ns", "system_ns", "memory_bytes", "max_rss_bytes", "pids_peak", "oom_kills", "forks_refused"].map((n) => [n, { value: 1, source: "x" }]));
events += `id: 20000\nevent: result\ndata: ${JSON.stringify({ run_id: "many", verdict: "ok", stage: "run", exit_code: 0, limits_hit: [], usage, timing: { queued_ns: 1, set_up_ns: 1, wall_ns: 1, finish_ns: 1 }, limits: {} })}\n\n`;
await page.route(/\/v1\/runs\/many\/events/, (r) => r.fulfill({ contentType: "text/event-stream", body: events }));
await page.route(/\/v1\/runs\/many(\?|$)/, (r) => r.fulfill({ json: { run_id: "many", state: "running", created: "2026-01-01T00:00:00Z" } }));
await page.addInitScript(() => {
  window.opened = 0;
  const own = window.fetch;
  window.fetch = async (to, ...more) => {
    const answer = await own(to, ...more);
    if (String(to).endsWith("/runs/many/events")) window.opened ||= performance.now();
    return answer;
  };
});
await page.goto(address + "/ui/?run=many");
await page.waitForFunction(() => document.querySelector(".verdict .v.big.v-ok"));
say("a run of 20,000 events, from its answer to its verdict", await page.evaluate(() => Math.round(performance.now() - window.opened)) + " ms", "300 ms");

// 4. 10,000 lines at 50 MB/s, of a real program.
await page.unrouteAll();
await page.goto(address + "/ui/");
await page.waitForSelector(".cm-content");
await page.locator(".cm-content").click();
await page.keyboard.press("Control+A");
await page.keyboard.insertText("import sys, time\nline = 'x' * 4999 + '\\n'\nstart = time.time()\nfor i in range(100):\n    sys.stdout.write(line * 100)\n    time.sleep(max(0, start + (i + 1) / 100 - time.time()))\n");
await page.locator("details.menu > summary", { hasText: "Limits" }).click();
await page.fill('[aria-label="limit output"]', "64M");
await page.locator("details.menu > summary", { hasText: "Limits" }).click();
await page.evaluate(() => {
  window.frames_ = [];
  let last = performance.now();
  const on = (t) => { window.frames_.push(t - last); last = t; requestAnimationFrame(on); };
  requestAnimationFrame(on);
});
await page.keyboard.press("Control+Enter");
await page.waitForFunction(() => document.querySelector(".verdict .v.big") && !document.querySelector(".verdict .v-running, .verdict .v-queued"));
const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
say("10,000 lines of 5,000 bytes, frames", `${frames.length}, median ${frames[frames.length >> 1].toFixed(0)} ms, 99 % ${frames[Math.floor(frames.length * 0.99)].toFixed(0)} ms, longest ${frames.at(-1).toFixed(0)} ms`, "below 50 ms");
say("that run", await page.locator(".verdict").first().innerText().then((t) => t.replace(/\s+/g, " ").slice(0, 120)), "ok");
await browser.close();
