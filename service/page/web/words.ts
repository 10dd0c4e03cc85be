// Words for numbers and verdicts, as the whole page writes them.

export type Glyph = string;

// Each verdict with its glyph and its words.
export const verdicts: Record<string, [Glyph, string]> = {
  ok: ["ok", "ok"], accepted: ["ok", "accepted"], "wrong-answer": ["wrong", "wrong answer"], partial: ["partial", "partial"],
  "cpu-limit": ["cpu", "cpu limit"], "wall-limit": ["wall", "wall limit"], "memory-limit": ["memory", "memory limit"],
  "output-limit": ["output", "output limit"], signaled: ["bolt", "signaled"], nonzero: ["fail", "nonzero exit"], denied: ["denied", "denied"],
  "compile-error": ["braces", "compile error"], canceled: ["minus", "canceled"], queued: ["ring", "queued"], running: ["spin", "running"],
  error: ["wrench", "brig failed"], refused: ["blank", "refused"], skipped: ["blank", "not run"], none: ["blank", "–"],
};

// The order of severity, which all bars and lists have.
export const order = [
  "accepted", "ok", "partial", "wrong-answer", "nonzero", "signaled", "output-limit", "wall-limit", "cpu-limit", "memory-limit", "denied",
  "compile-error", "canceled", "error",
];

// outcome is what a person reads as the end of a run: a failure of brig, else a verdict that is not ok, else the answer.
export function outcome(r: { code?: string; verdict?: string; summary?: { answer?: string } }): string {
  if (r.code) return "error";
  if (r.verdict !== "ok") return r.verdict ?? "none";
  return r.summary?.answer ?? "ok";
}

export const failed = (v: string): boolean => v !== "ok" && v !== "accepted";

export const nanoseconds = (n: number | null | undefined): string => {
  if (n == null) return "–";
  if (n === 0) return "0";
  if (n < 1e6) return (n / 1e3).toFixed(0) + " µs";
  if (n < 1e9) return (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + " ms";
  if (n < 120e9) return (n / 1e9).toFixed(n < 1e10 ? 2 : 1) + " s";
  if (n < 7200e9) return (n / 60e9).toFixed(0) + " min";
  return n < 48 * 3600e9 ? (n / 3600e9).toFixed(1) + " h" : (n / 86400e9).toFixed(0) + " d";
};

export const size = (b: number | null | undefined): string => {
  if (b == null) return "–";
  if (b < 1024) return b + " B";
  if (b < 2 ** 20) return (b / 1024).toFixed(0) + " K";
  if (b < 2 ** 30) return (b / 2 ** 20).toFixed(b < 100 * 2 ** 20 ? 1 : 0).replace(/\.0$/, "") + " M";
  return (b / 2 ** 30).toFixed(1).replace(/\.0$/, "") + " G";
};

export const count = (n: number): string => n.toLocaleString("en-US");
export const clock = (iso: string): string => iso.slice(11, 19);
export const day = (iso: string): string => iso.slice(0, 10);

// bytesOf reads a size as the API writes it: 64M, 1G, or a number of bytes.
export function bytesOf(s: string | number | undefined): number | null {
  if (s === undefined) return null;
  if (typeof s === "number") return s;
  const m = /^([\d.]+)\s*([KMGT]?)/i.exec(s);
  return m ? Number(m[1]) * 1024 ** " KMGT".indexOf(m[2]!.toUpperCase() || " ") : null;
}

// durationOf reads a duration as the API writes it: 1m30s, 500ms; in nanoseconds.
export function durationOf(s: string | number | undefined): number | null {
  if (s === undefined) return null;
  if (typeof s === "number") return s;
  let total = 0, any = false;
  for (const m of s.matchAll(/([\d.]+)(h|ms|m|s|µs|us|ns)/g)) {
    total += Number(m[1]) * { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, "µs": 1e3, us: 1e3, ns: 1 }[m[2] as "h"]!;
    any = true;
  }
  return any ? total : null;
}

// visible replaces characters of a program's output that would change how the page reads: controls, and those that turn
// the direction of writing.
export const visible = (s: string): string =>
  s.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, (c) => (c === "\u0000" ? "␀" : c === "\u001b" ? "␛" : "\ufffd"));
