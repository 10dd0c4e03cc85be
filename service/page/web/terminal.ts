// A terminal at a program of a session, which pages load when they need it.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { withNonce } from "./nonce";

const stdin = 0, stdout = 1, stderr = 2, status = 3, resize = 4; // channels of v5.channel.k8s.io

// open starts a command of a session at a terminal in parent. ended is called once, with why it is over.
export function open(parent: HTMLElement, session: string, command: string[], ended: (why: string) => void): () => void {
  withNonce();
  const term = new Terminal({ fontSize: 13, cursorBlink: false, scrollback: 5000, screenReaderMode: false, allowProposedApi: false, linkHandler: null });
  const fit = new FitAddon();
  term.loadAddon(fit);
  term.open(parent);
  fit.fit();

  const query = new URLSearchParams({ tty: "true", stdin: "true", stdout: "true", rows: String(term.rows), cols: String(term.cols) });
  for (const word of command) query.append("command", word);
  const line = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/sessions/${session}/exec?${query}`, ["v5.channel.k8s.io"]);
  line.binaryType = "arraybuffer";

  const send = (channel: number, text: string) => {
    if (line.readyState !== WebSocket.OPEN) return;
    const bytes = new TextEncoder().encode(text), message = new Uint8Array(1 + bytes.length);
    message[0] = channel;
    message.set(bytes, 1);
    line.send(message);
  };
  term.onData((text) => send(stdin, text));
  term.onResize(({ cols, rows }) => send(resize, JSON.stringify({ Width: cols, Height: rows })));
  const sized = new ResizeObserver(() => fit.fit());
  sized.observe(parent);

  let why = "";
  line.onopen = () => { send(resize, JSON.stringify({ Width: term.cols, Height: term.rows })); term.focus(); };
  line.onmessage = (e) => {
    const bytes = new Uint8Array(e.data as ArrayBuffer), rest = bytes.subarray(1);
    if (bytes[0] === stdout || bytes[0] === stderr) term.write(rest);
    if (bytes[0] === status) {
      const s = JSON.parse(new TextDecoder().decode(rest)) as { status: string; message?: string };
      why = s.status === "Success" ? "The program has ended." : s.message ?? "The program has failed.";
    }
  };
  line.onclose = (e) => ended(why || e.reason || "The connection was closed.");
  return () => {
    sized.disconnect();
    line.onclose = null;
    line.close();
    term.dispose();
  };
}
