// The pages of grading in Chromium: a class, its tests, the jury, judging again, two batches. page-test.mjs calls it.

// tar is an archive of files, by name.
export function tar(files) {
  const blocks = [];
  for (const [name, text] of Object.entries(files)) {
    const body = Buffer.from(text), head = Buffer.alloc(512);
    head.write(name, 0);
    head.write("0000644\0", 100);
    head.write("0000000\0", 108);
    head.write("0000000\0", 116);
    head.write(body.length.toString(8).padStart(11, "0") + "\0", 124);
    head.write("00000000000\0", 136);
    head.write("        0", 148);
    head.write("ustar\0" + "00", 257);
    head.write(head.reduce((a, b) => a + b, 0).toString(8).padStart(6, "0") + "\0 ", 148);
    blocks.push(head, body, Buffer.alloc((512 - (body.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

// grading tries the pages with what page-test.mjs has.
export async function grading({ test, tab, logIn, must, picture, address, key, otherKey, axe }) {
  const api = async (method, path, body, kind = "application/json", k = key) => {
    const r = await fetch(address + path, { method, headers: { Authorization: "Bearer " + k, "Content-Type": kind }, body });
    const text = await r.text();
    must(r.ok, `${method} ${path}: ${r.status} ${text.slice(0, 300)}`);
    return text && JSON.parse(text.trim().split("\n").at(-1));
  };
  const problem = (second) => tar({ "1.in": "1 2\n", "1.out": "3\n", "2.in": "2 5\n", "2.out": second });
  const hostile = '<img src=x onerror=alert(1)>\u202eevil';
  const right = "print(sum(map(int, input().split())))", wrong = "print(3)";
  const page = await tab();

  await test("a class: submissions of a batch, with a hostile name", async () => {
    await api("PUT", "/v1/problems/sum", problem("8\n"), "application/x-tar"); // the second test is wrong
    const jobs = [["ann", right], ["bob", wrong], [hostile, "raise Exception('<b>no</b>')"]]
      .map(([id, source]) => JSON.stringify({ id, problem: "sum", language: "python", source }));
    const open = JSON.stringify({ defaults: { labels: { project: "class" } }, labels: { project: "class" } });
    await api("POST", "/v1/batches?wait=true", [open, ...jobs].join("\n"), "application/x-ndjson");
    await logIn(page, key);
    await page.goto(address + "/ui/grading?project=class");
    await page.locator(".sheet tbody tr").nth(2).waitFor();
    const text = await page.locator(".sheet").innerText();
    must(text.includes("ann") && text.includes("1/2") && text.includes("<img src=x") && !text.includes("\u202e"), text);
    must((await page.locator("main img").count()) === 0, "markup of a name became an element");
    await picture(page, "grading");
  });

  await test("the tests of a problem, and back to the class by the address", async () => {
    await page.getByRole("link", { name: "Tests of a problem" }).click();
    await page.selectOption('[aria-label="Problem"]', "sum");
    await page.locator(".testgrid tbody tr").nth(2).waitFor();
    must(page.url().includes("view=tests"), page.url());
    const row = page.locator(".testgrid tbody tr", { hasText: "ann" });
    must(/·\s*W/.test(await row.innerText()), await row.innerText());
    must((await page.locator(".testmap canvas").getAttribute("data-took")) !== null, "the picture is not drawn");
    await picture(page, "grading-tests");
    await page.reload();
    await page.locator(".testgrid tbody tr").nth(2).waitFor();
  });

  await test("judge again with the mended problem: matrix, discard, apply", async () => {
    await api("PUT", "/v1/problems/sum", problem("7\n"), "application/x-tar");
    for (const act of ["Discard", "Apply 1 changes"]) {
      await page.goto(address + "/ui/rejudge?q=" + encodeURIComponent("problem:sum project:class"));
      await page.getByRole("button", { name: "Judge 3 runs again" }).click();
      await page.getByRole("button", { name: act }).waitFor();
      must((await page.locator(".matrix .chg").innerText()) === "1", await page.locator(".matrix").innerText());
      must((await page.locator("main").innerText()).includes("1 of 3 change"), await page.locator("main").innerText());
      if (act !== "Discard") await picture(page, "rejudge");
      await page.getByRole("button", { name: act }).click();
      await page.locator(".note", { hasText: act === "Discard" ? "Nothing was changed" : "1 results changed" }).waitFor();
      const list = await api("GET", "/v1/history?problem=sum&project=class");
      const ann = list.items.find((r) => r.job === "ann");
      must(list.items.length === 3 && ann.summary.accepted === (act === "Discard" ? 1 : 2), JSON.stringify(ann));
    }
  });

  await test("grade a folder, and compare two batches", async () => {
    await page.goto(address + "/ui/grading?project=class");
    await page.getByRole("button", { name: "Submissions" }).click();
    await page.selectOption('[aria-label="Judge by"]', "sum");
    await page.getByLabel("Files").setInputFiles([
      { name: "ann.py", mimeType: "text/plain", buffer: Buffer.from(wrong) }, { name: "cyd.py", mimeType: "text/plain", buffer: Buffer.from(right) },
      { name: "notes.xyz", mimeType: "text/plain", buffer: Buffer.from("?") }]);
    await page.locator(".note", { hasText: "1 files are left out" }).waitFor();
    await page.getByRole("button", { name: "Judge 2 programs" }).click();
    await page.locator(".sheet tbody tr", { hasText: "cyd" }).waitFor();
    must((await page.locator(".sheet tbody tr", { hasText: "ann" }).innerText()).includes("2×"), "the second try does not count");

    const own = (await api("GET", "/v1/batches")).items.filter((b) => !b.rejudge);
    await page.goto(`${address}/ui/batches/compare?a=${own[1].batch_id}&b=${own[0].batch_id}`);
    await page.locator(".matrix .chg").waitFor();
    must((await page.locator("main").innerText()).includes("1 of 1 jobs differ"), await page.locator("main").innerText());
    await picture(page, "compare");
  });

  await test("the programs of the jury against the limit", async () => {
    await api("PUT", "/v1/problems/pkg", tar({
      "problem.yaml": "problem_format_version: 2025-09\nname: Sum\nlicense: unknown\nuuid: 8ee7605a-6d1f-4d2a-a1a1-3bb9e2d8e0a1\nlimits:\n  time_limit: 2\n",
      "problem_statement/problem.en.tex": "Sum", "data/secret/1.in": "1 2\n", "data/secret/1.ans": "3\n", "data/secret/2.in": "2 5\n", "data/secret/2.ans": "7\n",
      "submissions/accepted/good.py": right + "\n", "submissions/wrong_answer/bad.py": wrong + "\n", "submissions/wrong_answer/not_caught.py": right + "\n",
    }), "application/x-tar");
    await page.goto(address + "/ui/grading?view=jury&problem=pkg");
    await page.getByRole("button", { name: "Run the programs of the jury" }).click();
    await page.locator("tbody tr", { hasText: "not_caught.py" }).waitFor();
    must((await page.locator("tbody tr", { hasText: "not_caught.py" }).innerText()).includes("DIFFERS"), await page.locator("main").innerText());
    must(!(await page.locator("tbody tr", { hasText: "good.py" }).innerText()).includes("DIFFERS"), await page.locator("main").innerText());
    await picture(page, "jury");
  });

  await test("another key sees no submission, and no rejudge", async () => {
    const mine = (await api("GET", "/v1/rejudges")).items[0].rejudge_id;
    const other = await tab();
    await logIn(other, otherKey);
    await other.goto(address + "/ui/grading");
    await other.getByText("No problems").waitFor();
    await other.goto(address + "/ui/rejudge/" + mine);
    await other.locator(".note", { hasText: "could not be read" }).waitFor();
    await other.context().close();
  });

  let rejudge = "", batch = "";
  await test("what there is to look at", async () => {
    rejudge = (await api("GET", "/v1/rejudges")).items[0].rejudge_id;
    batch = (await api("GET", "/v1/batches")).items.at(-1).batch_id;
  });
  const paths = ["/ui/grading", "/ui/grading?view=tests&problem=sum", "/ui/grading?view=jury", "/ui/rejudge", "/ui/rejudge/" + rejudge,
    "/ui/batches/compare?a=" + batch];
  for (const colorScheme of ["light", "dark"]) {
    for (const [i, path] of paths.entries()) {
      await test(`axe finds nothing serious at ${path}, ${colorScheme}`, async () => {
        const p = await tab({ colorScheme }, false);
        await logIn(p, key);
        await p.addInitScript({ path: axe });
        await p.goto(address + path);
        await p.waitForSelector("main h1");
        await p.waitForTimeout(700);
        await picture(p, `grading-axe-${i}-${colorScheme}`);
        const found = await p.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa"] }));
        const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
        must(serious.length === 0, serious.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`).join("; "));
        await p.context().close();
      });
    }
  }

  await test("a phone scrolls no page of grading sideways", async () => {
    const p = await tab({ viewport: { width: 390, height: 844 } });
    await logIn(p, key);
    for (const [i, path] of paths.entries()) {
      await p.goto(address + path);
      await p.waitForSelector("main h1");
      await p.waitForTimeout(700);
      await picture(p, "phone-grading-" + i);
      const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      must(wide <= 0, `${path} is ${wide} px too wide`);
    }
    await p.context().close();
  });
  await page.context().close();
}
