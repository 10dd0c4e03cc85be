// Connections of the page that break in the middle of a run, in Chromium. page-test.mjs calls it.
import net from "node:net";

// between passes bytes from a port of its own to the service until cut breaks all connections; while it is away it takes none.
async function between(address) {
  const to = new URL(address), open = new Set();
  let away = false, cuts = 0;
  const server = net.createServer((client) => {
    if (away) return client.destroy();
    const service = net.connect(Number(to.port), to.hostname);
    for (const [a, b] of [[client, service], [service, client]]) {
      open.add(a);
      a.pipe(b);
      a.on("error", () => {});
      a.on("close", () => { open.delete(a); b.destroy(); });
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    cut: () => { cuts++; for (const s of open) s.resetAndDestroy(); },
    away: (is) => { away = is; },
    cuts: () => cuts,
    close: () => { for (const s of open) s.destroy(); server.close(); },
  };
}

const lines = "import time\nfor i in range(400):\n    print('line', i, 'ü' * 40, flush=True)\n    time.sleep(0.015)\n";

// breaks tries them with what page-test.mjs has.
export async function breaks({ test, tab, program, must, address, key }) {
  const begin = async (at) => {
    const p = await tab(), asked = [];
    p.on("request", (r) => { if (r.url().endsWith("/events")) asked.push(r.headers()["last-event-id"] ?? ""); });
    await p.goto(at + "/ui/");
    await p.fill("#key", key);
    await p.click("button[type=submit]");
    await p.waitForSelector(".cm-content");
    return [p, asked];
  };
  // The lines of the output, as the page has them: each is there once, in order.
  const whole = async (p, count) => {
    const numbers = (await p.locator(".pane .out .ol > span").allTextContents()).map((l) => l.match(/^line (\d+) ü{40}$/)?.[1] ?? l);
    const wrong = numbers.findIndex((n, i) => n !== String(i));
    must(wrong < 0 && numbers.length === count, `${numbers.length} lines of ${count}; line ${wrong} is ${JSON.stringify(numbers[wrong])}`);
  };

  await test("connections that break in the middle of a run: no event is lost or doubled", async () => {
    const wire = await between(address), [p, asked] = await begin(wire.address);
    await program(p, lines);
    await p.keyboard.press("Control+Enter");
    for (const n of [60, 150, 240]) {
      await p.locator(".pane .out", { hasText: `line ${n} ` }).waitFor();
      wire.away(n === 150); // the second time it takes no connection for a while, as while a service starts
      wire.cut();
      if (n === 150) {
        await p.waitForTimeout(1200);
        wire.away(false);
      }
    }
    await p.waitForSelector(".verdict .v.big.v-ok");
    await p.waitForFunction(() => document.querySelectorAll(".pane .out .ol").length >= 400);
    await whole(p, 400);
    must(wire.cuts() === 3 && asked.length >= 4 && asked[0] === "" && asked.slice(1).every((id) => Number(id) > 0), `asked after ${asked.join(", ")}`);
    must(await p.getByText("were lost").count() === 0, "the page says that events were lost");
    await p.getByRole("tab", { name: "Events" }).click();
    const log = await p.locator(".log").innerText();
    must(log.match(/ started /g)?.length === 1 && log.match(/ result /g)?.length === 1, log.slice(0, 500));
    await p.context().close();
    wire.close();
  });

  await test("a run that had left the memory of the service when the page was back: its whole output is there", async () => {
    const [p, asked] = await begin(address);
    const id = await p.evaluate(async () => (await (await fetch("/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", "X-Brig-Page": "1" },
      body: JSON.stringify({ language: "python", source: "print('first')\nprint('last')\n" }) })).json()).run_id);
    const past = await p.evaluate(async (id) => (await (await fetch("/v1/runs/" + id)).json()).result, id);
    let answers = 0;
    await p.route(`**/v1/runs/${id}/events`, (r) => r.fulfill({ contentType: "text/event-stream", body: ++answers === 1
      ? `id: 1\nevent: started\ndata: {}\n\nid: 2\nevent: stdout\ndata: {"data":"first\\n"}\n\nid: 3\nevent: stdout\ndata: {"data":"la`
      : `id: 9007199254740991\nevent: result\ndata: ${JSON.stringify(past)}\n\n` }));
    await p.goto(`${address}/ui/?run=${id}`);
    await p.waitForSelector(".verdict .v.big.v-ok");
    const text = (await p.locator(".pane .out .ol > span").allTextContents()).join(" ");
    must(text === "first last", text);
    must(asked.join() === ",2", `asked after ${asked.join()}: what had not come whole is not the last`);
    await p.context().close();
  });

  await test("a login that has ended in the middle of a run leads to the login, and back to the run", async () => {
    const [p] = await begin(address);
    const id = await p.evaluate(async () => (await (await fetch("/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", "X-Brig-Page": "1" },
      body: JSON.stringify({ language: "python", source: "print('there')\n" }) })).json()).run_id);
    await p.route(`**/v1/runs/${id}/events`, (r) => r.fulfill({ status: 401, json: { status: 401, code: "unauthorized", detail: "log in" } }), { times: 1 });
    await p.goto(`${address}/ui/?run=${id}`);
    await p.waitForURL((u) => u.pathname === "/ui/login" && u.searchParams.get("to") === `/ui/?run=${id}`);
    await p.fill("#key", key);
    await p.click("button[type=submit]");
    await p.locator(".pane .out", { hasText: "there" }).waitFor();
    await p.context().close();
  });
}
