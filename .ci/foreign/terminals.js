// terminals.js API ID: terminals of others at the WebSocket of the session ID. It needs @xterm/headless,
// @xterm/addon-attach, ws and wscat. The last line says how many cases passed, and of how many.
const { spawn } = require("child_process");
const path = require("path");
const WebSocket = require("ws");
const { Terminal } = require("@xterm/headless");
global.self = global; // the add-on is written for a page
global.WebSocket = WebSocket;
const { AttachAddon } = require("@xterm/addon-attach");

const [api, id] = process.argv.slice(2);
const at = api.replace("http", "ws") + "/v1/sessions/" + id + "/exec?";
let passed = 0, of = 0;

function check(name, got, want) {
  of++;
  if (JSON.stringify(got) === JSON.stringify(want)) passed++;
  else console.log(`FAILED ${name}\n  got  ${JSON.stringify(got)}\n  want ${JSON.stringify(want)}`);
}

// within fails where nothing else would end a wait.
const within = (name, promise) => Promise.race([
  promise, new Promise((_, no) => setTimeout(() => no(new Error("nothing for 60 s: " + name)), 60_000).unref())]);

// A page is what a page with xterm.js is: a terminal whose WebSocket is attached by the add-on.
class Page {
  constructor(query, cols, rows) {
    this.term = new Terminal({ cols, rows, allowProposedApi: true });
    this.socket = new WebSocket(at + query + `&tty=true&cols=${cols}&rows=${rows}`);
    this.term.loadAddon(new AttachAddon(this.socket));
    this.closed = new Promise((yes) => this.socket.on("close", (code, reason) => yes([code, reason.toString()])));
    this.open = new Promise((yes, no) => { this.socket.on("open", yes); this.socket.on("error", no); });
  }
  lines() {
    const all = [], buffer = this.term.buffer.active;
    for (let i = 0; i < buffer.length; i++) all.push(buffer.getLine(i).translateToString(true).trimEnd());
    return all.filter((line) => line !== "");
  }
  shows(text) {
    return within(text + ", after " + this.lines().slice(-3), new Promise((yes) => {
      const look = () => this.lines().includes(text) && yes();
      this.term.onWriteParsed(look);
      look();
    }));
  }
  type(text) { this.term.input(text); }
}

// A shell without a prompt: whatever it prints is a line of its own.
const sh = "command=sh&command=-c&command=" + encodeURIComponent("PS1= exec sh");

async function xterm() {
  const page = new Page(sh, 99, 33);
  await within("open", page.open);
  page.type("echo ready\r");
  await page.shows("ready");
  page.type("stty size\r");
  await page.shows("33 99");
  page.type("echo h\u00e9llo \u{1f600}\r");
  await page.shows("h\u00e9llo \u{1f600}");
  page.type("printf '\\033[31mred\\033[m\\n'\r");
  await page.shows("red");
  page.type("sh -c 'echo on; exec sleep 1000'\r");
  await page.shows("on");
  page.type("\x03");
  page.type("echo $?\r");
  await page.shows("130");
  const long = "x".repeat(3000); // longer than one line of a terminal is; in pieces of what one holds
  page.type("stty -echo; echo quiet\r"); // a full terminal drops echoes, also that of the end of a line
  await page.shows("quiet");
  page.type("cat | tr -d '\\n' | wc -c\r");
  for (let i = 0; i < 20; i++) page.type(long + "\r");
  page.type("\x04");
  await page.shows("60000");
  page.type("exit 5\r");
  check("xterm.js with its add-on", await within("close", page.closed), [1000, "exit code 5"]);
}

// What a page sends when its window changes: the add-on sends no size.
async function sizes() {
  const socket = new WebSocket(at + "command=sh&tty=true&stdin=true&rows=33&cols=99", ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
  let shown = "", status = "";
  const closed = new Promise((yes) => socket.on("close", (code) => yes(code)));
  const shows = (text) => within(text, new Promise((yes) => {
    const look = () => shown.includes(text) && yes();
    socket.on("message", look);
    look();
  }));
  socket.on("message", (data, binary) => {
    if (!binary) status += "text";
    if (data[0] === 1) shown += data.subarray(1);
    if (data[0] === 3) status += data.subarray(1);
  });
  await within("open", new Promise((yes, no) => { socket.on("open", yes); socket.on("error", no); }));
  check("the subprotocol", socket.protocol, "v5.channel.k8s.io");
  socket.send("\x00stty size\n"); // a text: the channel is its first character
  await shows("33 99");
  socket.send(Buffer.from("\x04" + JSON.stringify({ Width: 120, Height: 40 })));
  socket.send(Buffer.from("\x00until stty size | grep -x '40 120'; do :; done\n"));
  await shows("40 120\r\n"); // what was typed has more behind it
  const pong = new Promise((yes) => socket.on("pong", (data) => yes(data.toString())));
  socket.ping("are you there");
  check("a ping", await within("pong", pong), "are you there");
  socket.send(Buffer.from("\x00"));
  socket.send(Buffer.from("\x00exit 6\n"));
  check("ws with sizes", [await within("close", closed), JSON.parse(status).details.causes[0].message], [1000, "6"]);
}

// A refusal is an HTTP status, which ws tells.
async function refusals() {
  for (const [name, url, protocols, want] of [
    ["no such session", at.replace(id, "nosuch") + "command=sh", [], 404],
    ["no command", at, [], 400],
    ["a subprotocol that there is not", at + "command=sh", ["tty"], 400],
  ]) {
    const socket = new WebSocket(url, protocols);
    check(name, await within(name, new Promise((yes) => {
      socket.on("unexpected-response", (_, answer) => { yes(answer.statusCode); answer.resume(); });
      socket.on("open", () => yes("open"));
      socket.on("error", (err) => yes(String(err)));
    })), want);
  }
}

// wscat sends each line without its end, and prints what it gets, so it is for programs that read Enter as CR.
async function wscat() {
  const script = path.join(path.dirname(require.resolve("wscat/package.json")), "bin", "wscat");
  const child = spawn(process.execPath, [script, "--no-color", "-w", "60", "-x", "hello", "-c", at + "command=head&command=-c5"]);
  let shown = "";
  child.stdout.on("data", (data) => (shown += data));
  child.stderr.on("data", (data) => (shown += data));
  const code = await within("wscat", new Promise((yes) => child.on("close", yes)));
  check("wscat", [code, shown.includes("hello")], [0, true]);
  if (!shown.includes("hello")) console.log(JSON.stringify(shown));
}

(async () => {
  for (const act of [xterm, sizes, refusals, wscat]) {
    try {
      await act();
    } catch (err) {
      of++;
      console.log(`FAILED ${act.name}: ${err.stack}`);
    }
  }
  console.log(passed, of);
  process.exit(0);
})();
