// Tries the page as a person would: page-test.mjs ADDRESS KEY OTHER-KEY [FOLDER-FOR-PICTURES].
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { breaks } from "./page-breaks.mjs";
import { grading } from "./page-grading.mjs";

const [address, key, otherKey, pictures] = process.argv.slice(2);
const adminKey = process.env.BRIG_TEST_ADMIN, agent = Number(process.env.BRIG_TEST_AGENT);
const axe = createRequire(import.meta.url).resolve("axe-core");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const slow = 60_000; // a loaded machine: no step is judged by its time
let passed = 0, of = 0;
const problems = []; // of the policy, and errors of scripts, in any tab

// watched: what the policy refuses in this tab is a fault of the page. axe itself sets styles that the policy refuses.
async function tab(options = {}, watched = true) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(slow);
  const page = await context.newPage();
  page.on("pageerror", (e) => problems.push("error of a script: " + e.message));
  page.on("console", (m) => { if (watched && /^Content Security Policy:|TrustedScript|TrustedHTML/.test(m.text())) problems.push(`in ${now}: ${m.text()}`); });
  page.on("dialog", (d) => { problems.push("a dialog: " + d.message()); void d.dismiss(); });
  // Chromium's own editing gives a style attribute to text that replaces coloured text, and the policy refuses it: that is
  // no style of the page.
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (e) => {
    if (!e.target?.closest?.(".cm-content")) console.error("Content Security Policy: " + e.violatedDirective + " " + e.blockedURI);
  }));
  return page;
}

let now = ""; // the test
async function test(name, act) {
  of++;
  now = name;
  try {
    await act();
    passed++;
  } catch (e) {
    console.log(`FAILED ${name}: ${String(e.message ?? e).slice(0, 1500)}`);
    if (pictures) await page.screenshot({ path: `${pictures}/failed-${of}.png` }).catch(() => {});
  }
}

// rest: a test that the quick share, which BRIG_TEST_PAGE=quick asks for, leaves out.
const quick = process.env.BRIG_TEST_PAGE === "quick";
const rest = (name, act) => quick ? undefined : test(name, act);

const must = (is, words) => { if (!is) throw new Error(words); };
const picture = async (p, name) => { if (pictures) await p.screenshot({ path: `${pictures}/${name}.png` }); };
const logIn = async (p, k) => {
  await p.goto(address + "/ui/");
  await p.fill("#key", k);
  await p.click("button[type=submit]");
  await p.waitForSelector(".cm-content");
};
const program = async (p, text) => {
  await p.locator(".cm-content").click();
  await p.keyboard.press("Control+A");
  await p.keyboard.insertText(text);
};
const runIt = async (p, text, outcome) => {
  await program(p, text);
  await p.keyboard.press("Control+Enter");
  await p.waitForSelector(`.verdict .v.big.v-${outcome}`);
};
const output = (p) => p.locator(".pane .out").innerText();

const page = await tab();

await test("a wrong key stays outside, and the right one leads to where one wanted to go", async () => {
  await page.goto(address + "/ui/runs?q=lang%3Apython");
  must(page.url().includes("/ui/login"), "no login at " + page.url());
  await picture(page, "login");
  await page.fill("#key", "brig_wrong");
  await page.click("button[type=submit]");
  await page.waitForSelector("[role=alert]");
  await page.fill("#key", key);
  await page.click("button[type=submit]");
  await page.waitForSelector("[data-filter]");
  must((await page.inputValue("[data-filter]")) === "lang:python", "the filter was lost at " + page.url());
});

await test("hello, with its input", async () => {
  await page.goto(address + "/ui/");
  await page.waitForSelector(".cm-content");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".verdict .v.big.v-ok");
  must((await output(page)).includes("Hello, brig"), await output(page));
  await picture(page, "run");
});

await test("a failure says why and marks its line", async () => {
  await runIt(page, "print('before')\nprint(1 / 0)\n", "nonzero");
  must((await page.locator(".why-card").innerText()).includes("ZeroDivisionError"), "no reason");
  must((await page.locator(".cm-mark").innerText()).includes("1 / 0"), "another line is marked");
  await picture(page, "failure");
});

for (const [outcome, text, limits] of [
  ["wall-limit", "import time\ntime.sleep(60)\n", { wall: "1s" }], ["cpu-limit", "while True: pass\n", { cpu: "300ms", wall: "20s" }],
  ["memory-limit", "x = bytearray(1 << 29)\n", { memory: "64M" }], ["output-limit", "while True: print('x' * 1000)\n", { output: "1M" }],
  ["signaled", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", {}], ["nonzero", "raise SystemExit(3)\n", {}],
]) {
  await rest("verdict " + outcome, async () => {
    await page.locator("details.menu > summary", { hasText: "Limits" }).click();
    for (const f of ["cpu", "wall", "memory", "pids", "output"]) await page.fill(`[aria-label="limit ${f}"]`, limits[f] ?? "");
    await page.locator("details.menu > summary", { hasText: "Limits" }).click();
    await runIt(page, text, outcome);
  });
}

await rest("a compiler's refusal", async () => {
  await page.locator("details.menu > summary", { hasText: "Limits" }).click();
  for (const f of ["cpu", "wall", "memory", "pids", "output"]) await page.fill(`[aria-label="limit ${f}"]`, "");
  await page.locator("details.menu > summary", { hasText: "Limits" }).click();
  await page.selectOption('[aria-label="Language"]', "cpp");
  await runIt(page, "#include <iostream>\nint main() { std::cout << missing; }\n", "compile-error");
  must((await page.locator(".why-card").innerText()).includes("missing"), "no reason");
  await page.selectOption('[aria-label="Language"]', "python");
});

await test("cancel", async () => {
  await program(page, "import time\nprint('begun', flush=True)\ntime.sleep(600)\n");
  await page.keyboard.press("Control+Enter");
  await page.locator(".pane .out", { hasText: "begun" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.waitForSelector(".verdict .v.big.v-canceled");
});

await test("a reload in the middle goes on", async () => {
  await program(page, "import time\nprint('first', flush=True)\ntime.sleep(6)\nprint('last')\n");
  await page.keyboard.press("Control+Enter");
  await page.locator(".pane .out", { hasText: "first" }).waitFor();
  await page.reload();
  await page.waitForSelector(".verdict .v.big.v-ok");
  const text = await output(page);
  must(text.includes("first") && text.includes("last"), text);
});

await rest("tests: one right, one wrong, with the difference", async () => {
  await page.getByRole("tab", { name: "Tests" }).click();
  await page.getByRole("button", { name: "Add a test" }).click();
  await page.getByRole("button", { name: "Add a test" }).click();
  await page.fill('[aria-label="input of test 1"]', "2\n");
  await page.fill('[aria-label="expected output of test 1"]', "4\n");
  await page.fill('[aria-label="input of test 2"]', "5\n");
  await page.fill('[aria-label="expected output of test 2"]', "11\n");
  await runIt(page, "print(2 * int(input()))\n", "wrong-answer");
  await page.getByRole("tab", { name: "Tests" }).click();
  await page.locator("button[aria-expanded]").first().click();
  must((await page.locator(".diff").innerText()).includes("11"), "no difference");
  await picture(page, "tests");
  await page.getByRole("button", { name: "Remove test 2" }).click();
  await page.getByRole("button", { name: "Remove test 1" }).click();
  await page.getByRole("tab", { name: "Output" }).click();
});

await breaks({ test, tab, program, must, address, key });

await test("hostile output is text", async () => {
  await runIt(page, String.raw`print("<img src=x onerror=alert(1)><script>alert(2)</script>")
print("\x1b]0;title\x07\x1b[31mred\x00\u202egnorw")
print("x" * 1000000)
print("</script><svg onload=alert(3)>&lt;b&gt;")
import sys
sys.stdout.buffer.write(b"\xff\xfe\n")
raise Exception("<img src=x onerror=alert(4)>")
`, "nonzero");
  const text = await output(page);
  must(text.includes("<script>alert(2)</script>") && !text.includes("\u202e") && !text.includes("\u001b"), text.slice(0, 300));
  must((await page.locator("img, .out script").count()) === 0, "markup of the program became elements");
});

await test("runs: filter, address and back; failures by key; a run; edit it", async () => {
  await page.goto(address + "/ui/runs");
  await page.waitForSelector(".vlist tbody tr.go");
  await picture(page, "runs");
  await page.fill("[data-filter]", "verdict:canceled");
  await page.waitForFunction(() => document.querySelectorAll(".vlist tbody tr.go").length === 1);
  must(page.url().includes("verdict%3Acanceled"), page.url());
  await page.locator(".vlist tbody tr.go").click();
  await page.waitForSelector(".limits");
  must((await page.locator("main").innerText()).includes("canceled"), "the run does not say how it ended");
  await page.goBack();
  await page.waitForSelector("[data-filter]");
  must((await page.inputValue("[data-filter]")) === "verdict:canceled", "the filter was lost by back");
  await page.fill("[data-filter]", "");
  await page.waitForFunction(() => document.querySelectorAll(".vlist tbody tr.go").length > 1);
  must(quick || (await page.locator(".vlist tbody tr.go").count()) > 5, "runs are missing");
  await page.locator("h1").click();
  await page.keyboard.press("n");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".limits");
  await picture(page, "detail");
  await page.keyboard.press("e");
  await page.waitForSelector(".cm-content");
});

await rest("runs that did not compile: the filter by it, and the page of one says why", async () => {
  await page.goto(address + "/ui/runs");
  await page.fill("[data-filter]", "verdict:compile-error");
  await page.waitForFunction(() => document.querySelectorAll(".vlist tbody tr.go").length === 1);
  must(page.url().includes("verdict%3Acompile-error"), page.url());
  await page.locator(".vlist tbody tr.go").click();
  await page.waitForSelector(".limits");
  must((await page.locator("main").innerText()).includes("missing"), "the run does not say why");
});

await rest("run again: a new run of the same program", async () => {
  const res = await page.evaluate(async () => (await (await fetch("/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", "X-Brig-Page": "1" },
    body: JSON.stringify({ language: "python", source: "print(6 * 7)" }) })).json()).run_id);
  await page.goto(address + "/ui/runs/" + res);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((u) => u.pathname.startsWith("/ui/runs/") && !u.pathname.endsWith(res));
  await page.locator(".out", { hasText: "42" }).waitFor();
});

await test("a link: what a student sees without a key, and nothing once it is revoked", async () => {
  const res = await page.evaluate(async () => (await (await fetch("/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", "X-Brig-Page": "1" },
    body: JSON.stringify({ language: "python", source: "print('given'); print(input())", tests: [{ id: "one", stdin: "hidden-in", expected: "hidden-out" }] }) })).json()).run_id);
  await page.goto(address + "/ui/runs/" + res);
  await page.getByRole("button", { name: "Link", exact: true }).click();
  await page.locator(".tog", { hasText: "the first test that fails" }).click();
  await page.fill('[aria-label="Title"]', "<img src=x onerror=alert(5)>\u202eExercise");
  await page.getByRole("button", { name: "Make a link" }).click();
  const link = await page.locator("[data-link]").innerText();
  await picture(page, "links");
  const student = await tab(), asked = [];
  student.on("request", (r) => asked.push(r));
  await student.goto(link);
  await student.waitForSelector(".why-card.v-wrong-answer");
  const text = await student.locator("main").innerText();
  must(/first test that fails is one/.test(text) && text.includes("<img src=x") && !/hidden|given|teacher|\u202e/.test(text), text);
  must((await student.locator("img, nav").count()) === 0, "markup of a title became an element, or other pages are named");
  must(asked.every((r) => /\/ui\/(link|files)\/|\/v1\/links\//.test(r.url()) && !r.headers()["referer"] && !r.headers()["cookie"]), asked.map((r) => r.url()).join(" "));
  await picture(student, "student");
  for (const [name, size] of [["light", 1440], ["dark", 1440], ["phone", 390]]) {
    const p = await tab({ colorScheme: name === "dark" ? "dark" : "light", viewport: { width: size, height: 844 } }, false);
    await p.addInitScript({ path: axe });
    await p.goto(link);
    await p.waitForSelector(".why-card");
    const found = (await p.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa"] }))).violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    must(found.length === 0, found.map((v) => `${v.id}: ${v.nodes[0].html}`).join("; "));
    must(await p.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), `too wide at ${size} px`);
    await picture(p, "student-" + name);
    await p.context().close();
  }
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The link opens nothing now").waitFor();
  await student.reload();
  await student.getByText("this link opens nothing").waitFor();
  await student.context().close();
});

await test("a terminal: echo, size, Ctrl-C", async () => {
  await page.goto(address + "/ui/sessions");
  await page.getByRole("button", { name: "New session" }).click();
  await page.waitForSelector(".xterm-rows");
  const rows = page.locator(".xterm-rows");
  await rows.filter({ hasText: "$" }).waitFor();
  await page.keyboard.type("stty size; sleep 600\n");
  await rows.filter({ hasText: /\d+ \d+/ }).waitFor();
  await page.keyboard.press("Control+C");
  await page.keyboard.type("echo at $((6*7))\n");
  await rows.filter({ hasText: "at 42" }).waitFor();
  await page.keyboard.type("echo x >seen.txt\n");
  await page.locator(".tree", { hasText: "seen.txt" }).waitFor();
  await picture(page, "terminal");
  await page.getByRole("button", { name: "End the session" }).click();
  await page.waitForURL("**/ui/sessions");
});

// The pages of the operator: a key with admin sees what belongs to all keys.
const operator = await tab();
const at = async (p, path, selector) => { await p.goto(address + path); await p.waitForSelector(selector); };
const ask = (p, path, body) => p.evaluate(async ([to, sent]) => {
  const answer = await fetch(to, { method: "POST", headers: { "Content-Type": "application/json", "X-Brig-Page": "1" }, body: JSON.stringify(sent) });
  return answer.status;
}, [path, body]);
const hostile = "<img src=x onerror=alert(1)>\u202eevil\u0007</td>";

await logIn(operator, adminKey);
await rest("system: the queue by key, the doctor's table, settings in force", async () => {
  await at(operator, "/ui/system", ".figs");
  await at(page, "/ui/", ".cm-content");
  await program(page, "import time\nprint('begun', flush=True)\ntime.sleep(600)\n");
  await page.keyboard.press("Control+Enter");
  await page.locator(".pane .out", { hasText: "begun" }).waitFor();
  await operator.locator('[aria-label="Queue by key"] tr', { hasText: "teacher" }).waitFor();
  await operator.locator('[aria-label="Doctor"] tbody tr').first().waitFor();
  const settings = await operator.locator('[aria-label="Settings"]').innerText();
  must(/keys\s+\S*keys\.yaml\s+flag/.test(settings) && /grace\s+10s\s+default/.test(settings), settings.slice(0, 600));
  await picture(operator, "system");
  await page.getByRole("button", { name: "Stop" }).click({ timeout: 2000 }).catch(() => {}); // on a slow machine its limit was first
  await page.waitForSelector(".verdict .v.big");
  await operator.getByText("Nobody holds a slot or waits").waitFor(); // the page follows by itself
});

await rest("images: what is ready, and the command for what is not; the filter is in the address", async () => {
  await at(operator, "/ui/images", '[aria-label="Languages"]');
  const row = (name) => operator.locator('[aria-label="Languages"] tbody tr').filter({ has: operator.locator("td:first-child b", { hasText: new RegExp("^" + name + "$") }) });
  must((await row("python").innerText()).includes("ready"), await row("python").innerText());
  must((await row("rust").innerText()).includes("sudo brig rootfs build rust"), await row("rust").innerText());
  await picture(operator, "images");
  await operator.fill("[data-filter]", "rust");
  await operator.reload();
  await operator.waitForFunction(() => document.querySelectorAll('[aria-label="Languages"] tbody tr').length === 1);
  must((await operator.inputValue("[data-filter]")) === "rust", operator.url());
});

await rest("machines: this machine, its slots and languages", async () => {
  await at(operator, "/ui/machines", '[aria-label="Machines"] tbody tr');
  const text = await operator.locator("main").innerText();
  must(/takes work/.test(text) && /this service/.test(text) && /python/.test(text) && /Judged since the start/.test(text), text);
  await picture(operator, "machines");
});

await test("errors: a failure of brig with its cause and cure, acknowledged; hostile names are text", async () => {
  await at(operator, "/ui/errors", ".empty, .note.ours");
  const broken = { language: "python", source: "print(1)", labels: { project: hostile, task: hostile, run: hostile }, tests: [{ stdin: "", expected: "1" }],
    check: { language: "python", source: "import sys\nsys.stderr.write(" + JSON.stringify(hostile) + ")\nraise SystemExit(7)", protocol: "kattis" } };
  const status = await ask(page, "/v1/runs", broken);
  must(status === 422, `a checker that breaks its protocol: ${status}`);
  await operator.reload();
  const group = operator.locator('section[aria-label="check-failed"]');
  await group.waitFor();
  const text = await group.innerText();
  must(/cause/.test(text) && /mend the checker/.test(text) && /teacher 1/.test(text), text);
  await picture(operator, "errors");
  await group.getByRole("button", { name: "Acknowledge" }).click();
  await group.getByText("acknowledged by operator").waitFor();
  await group.locator("a.mono").first().click();
  await operator.getByRole("heading", { level: 1 }).waitFor();
  must((await operator.locator("img, td td").count()) === 0, "markup of a name became elements");
});

await test("keys: use without secrets, and who changed what; hostile names are text", async () => {
  must((await ask(page, "/v1/end", { run: hostile })) === 200, "nothing could be ended");
  await at(operator, "/ui/keys", '[aria-label="Keys"] tbody tr');
  await operator.locator('[aria-label="Changes"] tr', { hasText: "ended what has a label" }).first().waitFor();
  const text = await operator.locator("main").innerText();
  must(/teacher/.test(text) && /operator\s+admin/.test(text) && /started the service/.test(text) && /acknowledged failures/.test(text), text.slice(0, 1500));
  must(!/brig_[A-Za-z0-9_-]{20}|[0-9a-f]{64}/.test(text) && !text.includes("\u202e") && text.includes("<img src=x"), text);
  must((await operator.locator("main img").count()) === 0, "markup of a label became an element");
  await picture(operator, "keys");
  await operator.fill('[aria-label="Changes by key"]', "teacher");
  await operator.waitForFunction(() => [...document.querySelectorAll('[aria-label="Changes"] tbody td:nth-child(2)')].every((td) => td.textContent === "teacher"));
  must(operator.url().includes("by=teacher"), operator.url());
});

await rest("another key sees no keys, no errors of others, and only its own queue", async () => {
  const other = await tab();
  await logIn(other, otherKey);
  must((await other.locator('nav a[href="/ui/keys"]').count()) === 0, "a key without admin is led to the keys");
  await at(other, "/ui/keys", ".empty");
  must((await other.locator("main").innerText()).includes("for keys with admin"), await other.locator("main").innerText());
  await at(other, "/ui/errors", ".empty");
  await at(other, "/ui/machines", '[aria-label="Machines"] tbody tr');
  must((await other.getByText("Judged since the start").count()) === 0, "it sees how many runs all keys have");
  await at(other, "/ui/system", ".figs");
  must((await other.getByText("Settings in force").count()) === 0, "it sees the settings");
  await other.context().close();
});

await test("another key sees none of this", async () => {
  const other = await tab();
  await logIn(other, otherKey);
  await other.goto(address + "/ui/runs");
  await other.getByText("No runs yet").waitFor();
  await other.context().close();
});

await rest("a hidden tab asks nothing", async () => {
  const p = await tab();
  await logIn(p, key);
  await p.goto(address + "/ui/system");
  await p.waitForSelector(".figs");
  await p.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await p.waitForTimeout(1000); // an answer that was under way
  let asked = 0;
  p.on("request", () => asked++);
  await p.waitForTimeout(7000); // longer than the page's slowest question
  must(asked === 0, `${asked} requests`);
  await p.context().close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const path of ["/ui/login", "/ui/", "/ui/runs", "/ui/sessions", "/ui/batches", "/ui/system", "/ui/machines", "/ui/errors", "/ui/images", "/ui/keys", "/ui/none"]) {
    await rest(`axe finds nothing serious at ${path}, ${colorScheme}`, async () => {
      const p = await tab({ colorScheme }, false);
      if (path !== "/ui/login") await logIn(p, adminKey);
      await p.goto(address + path);
      await p.waitForSelector("main h1");
      await p.waitForTimeout(500);
      await picture(p, `${path.replace(/\W+/g, "-")}${colorScheme}`);
      await p.addInitScript({ path: axe });
      await p.reload();
      await p.waitForSelector("main h1");
      await p.waitForTimeout(500);
      const found = await p.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa"] }));
      const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
      must(serious.length === 0, serious.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`).join("; "));
      await p.context().close();
    });
  }
}

await rest("a phone scrolls no page sideways", async () => {
  const p = await tab({ viewport: { width: 390, height: 844 } });
  await logIn(p, adminKey);
  for (const path of ["/ui/", "/ui/runs", "/ui/sessions", "/ui/system", "/ui/machines", "/ui/errors", "/ui/images", "/ui/keys"]) {
    await p.goto(address + path);
    await p.waitForSelector("main h1");
    await p.waitForTimeout(500);
    await picture(p, "phone" + path.replace(/\W+/g, "-"));
    const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    must(wide <= 0, `${path} is ${wide} px too wide`);
  }
  await p.context().close();
});

if (!quick) await grading({ test, tab, logIn, must, picture, address, key, otherKey, axe });
await rest("an agent that was killed: the run failed by brig, the machine does not answer", async () => {
  await at(page, "/ui/", ".cm-content");
  await program(page, "import time\nprint('begun', flush=True)\ntime.sleep(600)\n");
  await page.keyboard.press("Control+Enter");
  await page.locator(".pane .out", { hasText: "begun" }).waitFor();
  process.kill(agent, "SIGKILL");
  await at(operator, "/ui/machines", '[aria-label="Machines"] tbody tr');
  await operator.getByText("does not answer").first().waitFor();
  await at(operator, "/ui/errors?keys=all", ".note.ours");
  const group = operator.locator('section[aria-label="agent-gone"]');
  await group.waitFor();
  await picture(operator, "errors-retry");
  await group.getByRole("button", { name: "Retry" }).click();
  await group.getByText("of 1 are run again").waitFor(); // a key with admin has not what another key sent
  must((await group.innerText()).includes("runs of another key"), await group.innerText());
});

await test("no violation of the policy, no error of a script, no dialog", async () => must(problems.length === 0, problems.join("\n")));
await browser.close();
console.log(`page ${passed} ${of}`);
process.exit(passed === of ? 0 : 1);
