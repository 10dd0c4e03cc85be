// The parts that all pages are made of. What a program wrote is always a text node.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { paths } from "./icons";
import { nanoseconds, order, verdicts, visible } from "./words";

export function Icon({ name, cls = "" }: { name: string; cls?: string }) {
  return (
    <svg class={"ic " + cls} viewBox="0 0 16 16" aria-hidden="true" stroke-dasharray={name === "ring" ? "2.6 2.6" : undefined}>
      <path d={paths[name] ?? paths["ring"]} />
      {name === "partial" && <path d="M8 1.75v12.5a6.25 6.25 0 0 0 0-12.5" fill="currentColor" />}
    </svg>
  );
}

// A verdict as glyph, word and colour.
export function Chip({ v, tag, big, only }: { v: string; tag?: boolean; big?: boolean; only?: boolean }) {
  const [glyph, word] = verdicts[v] ?? verdicts["none"]!;
  return (
    <span class={`v v-${v} ${tag ? "tag" : ""} ${big ? "big" : ""} ${only ? "only" : ""}`} title={only ? word : undefined}>
      <Icon name={glyph} />
      {only ? <span class="sr">{word}</span> : word}
    </span>
  );
}

export function Bar({ part, cls = "", color }: { part: number; cls?: string; color?: string }) {
  return (
    <span class={"bar " + cls}>{part > 0 && <i style={{ width: Math.min(100, part * 100) + "%", ...(color ? { "--c": color } : {}) }} />}</span>
  );
}

// Counts by outcome as one bar, in the order of severity.
export function Split({ counts }: { counts: Record<string, number> }) {
  const total = Object.values(counts).reduce((a, n) => a + n, 0);
  const shown = order.filter((v) => counts[v]);
  return (
    <div class="split" role="img" aria-label={shown.map((v) => `${verdicts[v]![1]} ${counts[v]}`).join(", ")}>
      {shown.map((v) => (
        <i class={"v-" + v + (v === "error" ? " hatch" : "")} title={`${verdicts[v]![1]} ${counts[v]}`} style={{ width: (counts[v]! / total) * 100 + "%" }} />
      ))}
    </div>
  );
}

export function Spark({ values, max, color, width = 96 }: { values: number[]; max?: number; color?: string; width?: number }) {
  const top = max ?? Math.max(...values, 1);
  const line = values.map((v, i) => `${((i / Math.max(1, values.length - 1)) * width).toFixed(1)} ${(19 - (v / top) * 18).toFixed(1)}`).join("L");
  return (
    <svg class="spark" viewBox={`0 0 ${width} 20`} preserveAspectRatio="none" aria-hidden="true" style={{ width: width + "px", ...(color ? { "--c": color } : {}) }}>
      {line && <path class="a" d={`M${line}L${width} 20L0 20Z`} />}
      {line && <path d={"M" + line} />}
    </svg>
  );
}

export type Line = { name: string; color: string; values: number[]; area?: boolean };

// Chart draws figures over time. from and to are the words below its ends.
export function Chart(p: { lines: Line[]; max?: number; limit?: number; limitText?: string; format: (x: number) => string; from: string; to: string; cls?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [[w, h], resize] = useState([0, 0]);
  useEffect(() => {
    const see = new ResizeObserver(() => box.current && resize([box.current.clientWidth, box.current.clientHeight]));
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);

  const left = 48, bottom = 18, top = 6, width = w - left - 4, height = h - bottom - top;
  const max = p.max ?? (Math.max(...p.lines.flatMap((l) => l.values), 0) * 1.1 || 1);
  const y = (v: number) => top + height - Math.min(1, v / max) * height;
  return (
    <div class={"chart " + (p.cls ?? "")} ref={box}>
      {w > 0 && (
        <svg viewBox={`0 0 ${w} ${h}`} role="img" aria-label={p.lines.map((l) => `${l.name}: last ${p.format(l.values.at(-1) ?? 0)}`).join("; ")}>
          {[0, 0.5, 1].map((q) => (
            <g>
              <line class={q ? "gl" : "ax"} x1={left} x2={w - 4} y1={y(max * q)} y2={y(max * q)} />
              <text x={left - 6} y={y(max * q) + 3.5} text-anchor="end">{p.format(max * q)}</text>
            </g>
          ))}
          <text x={left} y={h - 4}>{p.from}</text>
          <text x={w - 4} y={h - 4} text-anchor="end">{p.to}</text>
          {p.lines.map((l) => {
            const d = l.values.map((v, i) => `${(left + (width * i) / Math.max(1, l.values.length - 1)).toFixed(1)} ${y(v).toFixed(1)}`).join("L");
            return d && (
              <g>
                {l.area && <path d={`M${d}L${left + width} ${top + height}L${left} ${top + height}Z`} style={{ fill: l.color, "fill-opacity": ".14" }} />}
                <path class="ln" d={"M" + d} style={{ stroke: l.color }} />
              </g>
            );
          })}
          {p.limit ? (
            <g>
              <line class="lim" x1={left} x2={w - 4} y1={y(p.limit)} y2={y(p.limit)} />
              <text x={left + 6} y={y(p.limit) + 12} style={{ fill: "var(--v-wrong)" }}>{p.limitText ?? "limit"}</text>
            </g>
          ) : null}
        </svg>
      )}
    </div>
  );
}

// A source with one line marked, and below it the reason.
export function Code({ text, line, why, verdict, label = "source" }: { text: string; line?: number; why?: string; verdict?: string; label?: string }) {
  return (
    <div class={"code " + (verdict ? "v-" + verdict : "")} role="region" aria-label={label} tabIndex={0}>
      {text.replace(/\n$/, "").split("\n").flatMap((l, i) => {
        const row = <div class={"cl" + (line === i + 1 ? " mark" : "")}><span>{visible(l)}</span></div>;
        return line === i + 1 && why ? [row, <div class="why"><Icon name={(verdicts[verdict ?? "nonzero"] ?? verdicts["nonzero"]!)[0]} /><span>{visible(why)}</span></div>] : [row];
      })}
    </div>
  );
}

export type Piece = { at: number | null; kind: "out" | "err" | "sys"; text: string };

const mostLines = 5000; // of output on the page; what came before them is said in one line
const liveLines = 200, liveText = 64 << 10; // of them while the program runs: more would not be drawn in time, and nobody reads them
const drawnAtOnce = 200; // lines; further ones follow frame by frame

type Row = { kind: string; at: string; text: string };

// rowsOf makes lines of output, the last ones alone if there are more than most of them. It also says how many are left out.
function rowsOf(pieces: Piece[], most: number): [Row[], number] {
  const rows: Row[] = [];
  for (const p of pieces) {
    const lines = p.text.replace(/\n$/, "").split("\n"), at = p.at == null ? "" : p.at.toFixed(2);
    for (let i = 0; i < lines.length; i++) rows.push({ kind: p.kind, at: i ? "" : at, text: lines[i]! });
  }
  return rows.length > most ? [rows.slice(-most), rows.length - most] : [rows, 0];
}

const rowOf = (r: Row) => (
  <div class={r.kind === "out" ? "ol" : "ol " + r.kind}>
    <i>{r.at}</i>
    <span>{r.kind === "err" && <span class="sr">stderr: </span>}{visible(r.text.slice(0, 4096)) || " "}</span>
  </div>
);

// Output shows what a program wrote, in the order of its arrival; while it is live, the end of it.
export function Output({ pieces, live }: { pieces: Piece[]; live?: boolean }) {
  const [rows, left] = useMemo((): [Row[], number] => {
    if (!live) return rowsOf(pieces, mostLines);
    let lines = 0, text = 0, from = pieces.length;
    while (from > 0 && lines < liveLines && text < liveText) {
      const p = pieces[--from]!;
      text += p.text.length;
      lines += p.text.split("\n", liveLines + 1).length;
    }
    const [some, more] = rowsOf(pieces.slice(from), liveLines);
    let first = some.length, shown = 0;
    while (first > 0 && shown < liveText) shown += Math.min(4096, some[--first]!.text.length);
    return [some.slice(first), more + from + first];
  }, [pieces, live]);

  // Blocks of lines that are drawn already are the same elements as before, so that they are not compared again.
  const blocks = useMemo(() => [] as JSX.Element[], [rows]), [, drawMore] = useState(0);
  const all = Math.ceil(rows.length / drawnAtOnce);
  if (blocks.length < all) {
    const from = blocks.length * drawnAtOnce;
    blocks.push(<div class="ob">{rows.slice(from, from + drawnAtOnce).map(rowOf)}</div>);
  }
  useEffect(() => {
    if (blocks.length >= all) return;
    const frame = requestAnimationFrame(() => drawMore((n) => n + 1));
    return () => cancelAnimationFrame(frame);
  });
  return (
    <div class="out" role="log" aria-label="output of the program" tabIndex={0}>
      {live && left > 0 && <div class="ol sys"><i /><span>earlier lines are shown when it ends</span></div>}
      {!live && left > 0 && <div class="ol sys"><i /><span>{left} earlier lines are not shown: open the run and download them</span></div>}
      {[...blocks]}
    </div>
  );
}

// Diff shows what was expected beside what came, with the part of each line that differs.
export function Diff({ want, got }: { want: string; got: string }) {
  const a = want.replace(/\n$/, "").split("\n").slice(0, 500), b = got.replace(/\n$/, "").split("\n").slice(0, 500);
  const n = Math.max(a.length, b.length);
  const side = (x: string[], y: string[], cls: string, sign: string) => Array.from({ length: n }, (_, i) => {
    const own = x[i];
    if (own === undefined) return <div class="dl"><i /><b /><span class="ink3">{i === x.length ? "nothing more" : ""}</span></div>;
    if (own === y[i]) return <div class="dl"><i>{i + 1}</i><b /><span>{visible(own)}</span></div>;
    const other = y[i] ?? "";
    let p = 0;
    while (p < own.length && own[p] === other[p]) p++;
    let e = 0;
    while (e < own.length - p && e < other.length - p && own.at(-1 - e) === other.at(-1 - e)) e++;
    return (
      <div class={"dl " + cls}>
        <i>{i + 1}</i><b>{sign}</b>
        <span>{visible(own.slice(0, p))}<mark>{visible(own.slice(p, own.length - e)).replace(/ /g, "·") || "∅"}</mark>{visible(own.slice(own.length - e))}</span>
      </div>
    );
  });
  return (
    <div class="diff">
      <div tabIndex={0} role="region" aria-label="expected"><p class="dh3">Expected</p>{side(a, b, "want", "+")}</div>
      <div tabIndex={0} role="region" aria-label="got"><p class="dh3">Got</p>{side(b, a, "bad", "−")}</div>
    </div>
  );
}

export function Note({ kind, title, children, acts }: { kind: "info" | "warn" | "bad" | "good" | "ours"; title: string; children?: ComponentChildren; acts?: ComponentChildren }) {
  const glyph = { warn: "warn", bad: "warn", ours: "wrench", good: "ok", info: "info" }[kind];
  return (
    <div class={"note " + kind} role={kind === "bad" ? "alert" : undefined}>
      <Icon name={glyph} /><div><b>{title}</b>{children && <p class="s ink2">{children}</p>}</div>{acts && <div class="row wrap acts">{acts}</div>}
    </div>
  );
}

export function Empty({ icon, title, children, acts }: { icon: string; title: string; children?: ComponentChildren; acts?: ComponentChildren }) {
  return <div class="empty"><Icon name={icon} /><h2>{title}</h2><p class="s">{children}</p>{acts && <div class="row">{acts}</div>}</div>;
}

export function Command({ text }: { text: string }) {
  return (
    <span class="cmd"><span>{text}</span>
      <button class="btn bare icon" type="button" aria-label={"Copy: " + text} onClick={() => copy(text)}><Icon name="copy" /></button>
    </span>
  );
}

export function toast(text: string) {
  let box = document.querySelector(".toasts");
  if (!box) {
    box = document.createElement("div");
    box.className = "toasts";
    document.body.append(box);
  }
  const t = document.createElement("div");
  t.className = "toast";
  t.setAttribute("role", "status");
  t.textContent = text;
  box.append(t);
  setTimeout(() => t.remove(), 2600);
}

export function copy(text: string) {
  navigator.clipboard?.writeText(text).then(() => toast("Copied"), () => toast("The browser does not let this page copy"));
}

// say tells readers of the screen what has changed.
export function say(text: string) {
  let live = document.getElementById("live");
  if (!live) {
    live = document.createElement("div");
    live.id = "live";
    live.className = "sr";
    live.setAttribute("aria-live", "polite");
    document.body.append(live);
  }
  live.textContent = text;
}

export function Menu({ label, icon, children, cls = "", pop = "" }: { label: ComponentChildren; icon?: string; children: ComponentChildren; cls?: string; pop?: string }) {
  const own = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (e: Event) => { if (own.current && !own.current.contains(e.target as Node)) own.current.open = false; };
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  return (
    <details class="menu" ref={own}>
      <summary class={"btn " + cls}>{icon && <Icon name={icon} />}{label}<Icon name="down" /></summary>
      <div class={"pop " + pop}>{children}</div>
    </details>
  );
}

// The request that gives what a page shows.
export function CopyAs({ method = "GET", path, body }: { method?: string; path: string; body?: unknown }) {
  const keys = document.documentElement.hasAttribute("data-keys");
  const url = location.origin + path, json = body === undefined ? "" : JSON.stringify(body);
  const quoted = "'" + json.replace(/'/g, "'\\''") + "'";
  const curl = `curl -s ${keys ? '-H "Authorization: Bearer $BRIG_KEY" ' : ""}${method === "GET" ? "" : `-X ${method} `}"${url}"` +
    (json ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted}` : "");
  const headers = [keys ? `"Authorization": "Bearer " + os.environ["BRIG_KEY"]` : "", json ? `"Content-Type": "application/json"` : ""].filter(Boolean).join(", ");
  const python = `import json, os, urllib.request\nrequest = urllib.request.Request(${JSON.stringify(url)}, method="${method}", headers={${headers}}` +
    (json ? `,\n    data=json.dumps(json.loads(${JSON.stringify(json)})).encode()` : "") + `)\nprint(json.load(urllib.request.urlopen(request)))`;
  return (
    <Menu label="Copy as" icon="copy" pop="wide">
      {[["curl", curl], ["Python", python]].map(([name, text]) => (
        <div>
          <div class="row"><b class="s grow">{name}</b><button class="btn bare" type="button" onClick={() => copy(text!)}>Copy</button></div>
          <pre tabIndex={0}>{text}</pre>
        </div>
      ))}
    </Menu>
  );
}

export type Tab = { id: string; name: string; n?: ComponentChildren; show: () => ComponentChildren };

export function Tabs({ tabs, now, pick }: { tabs: Tab[]; now: string; pick: (id: string) => void }) {
  const at = Math.max(0, tabs.findIndex((t) => t.id === now));
  const keys = (e: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    const to = ({ ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 } as Record<string, number>)[e.key];
    if (to === undefined || !tabs[to]) return;
    e.preventDefault();
    pick(tabs[to]!.id);
    (e.currentTarget.children[to] as HTMLElement).focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" onKeyDown={keys}>
        {tabs.map((t, i) => (
          <button type="button" role="tab" id={"tab-" + t.id} aria-selected={i === at} tabIndex={i === at ? 0 : -1} onClick={() => pick(t.id)}>
            {t.name}<span class="n">{t.n}</span>
          </button>
        ))}
      </div>
      <div class="pane" role="tabpanel" aria-labelledby={"tab-" + tabs[at]!.id} tabIndex={-1}>{tabs[at]!.show()}</div>
    </>
  );
}

export function Head({ title, crumb, info, acts, children }: { title: ComponentChildren; crumb?: [string, string]; info?: ComponentChildren; acts?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <header class="head">
      <h1>{crumb && <span class="crumb"><a href={crumb[1]}>{crumb[0]}</a> / </span>}{title}</h1>
      {info && <span class="ink3 s" aria-live="polite">{info}</span>}
      {children}
      {acts && <div class="acts">{acts}</div>}
    </header>
  );
}

// What shows while an answer is awaited, after a moment.
export function Loading() {
  const [late, set] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => set(true), 150);
    return () => clearTimeout(t);
  }, []);
  return late ? <div class="loading" aria-label="loading">{[3, 2, 3, 1].map((w) => <span class={"sk w" + w} />)}</div> : null;
}

export function ago(iso: string): string {
  const d = Date.now() - new Date(iso).getTime();
  return d < 5000 ? "now" : nanoseconds(Math.floor(d / 1000) * 1e9) + " ago";
}
