// Runs: what has run, filtered, with the failures to walk through by keys.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, Refusal, type Figures, type Page, type Record_ } from "../api";
import { useKeys } from "../keys";
import { useAnswer } from "../load";
import { Chip, Command, CopyAs, Empty, Head, Icon, Loading, Note, say, Split } from "../parts";
import { go } from "../route";
import { clock, count, day, failed, nanoseconds, outcome, size, verdicts } from "../words";

const rowHeight = 32, pageSize = 500, most = 100_000;

// A filter is written as verdict:memory-limit lang:cpp project:finals task:a run:r1 since:1h, with other words that the
// rows must have.
type Filter = { query: URLSearchParams; words: string[]; wrong: string[] };
const names: Record<string, string> = { verdict: "verdict", lang: "language", language: "language", project: "project", task: "task", run: "run" };

export function parse(text: string, onlyFailed: boolean, now = Date.now()): Filter {
  const f: Filter = { query: new URLSearchParams(), words: [], wrong: [] };
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^([a-z]+):(.+)$/.exec(word) ?? [];
    if (!name || !value) { f.words.push(word.toLowerCase()); continue; }
    const ago = /^(\d+)(m|h|d)$/.exec(value);
    if (name === "since" && ago) {
      const length = Number(ago[1]) * { m: 60e3, h: 3600e3, d: 86400e3 }[ago[2] as "m"];
      f.query.set("since", new Date(Math.floor((now - length) / 60e3) * 60e3).toISOString().slice(0, 19) + "Z");
    } else if (names[name]) {
      f.query.append(names[name]!, value);
    } else {
      f.wrong.push(word);
    }
  }
  if (onlyFailed) f.query.append("verdict", "failed");
  return f;
}

// textOf is what words are looked for in; it is made once for each row.
const texts = new WeakMap<Record_, string>();
const textOf = (r: Record_): string => {
  let text = texts.get(r);
  if (text === undefined) texts.set(r, (text = allOf(r)));
  return text;
};
const allOf = (r: Record_): string =>
  `${r.run_id} ${r.project ?? ""} ${r.task ?? ""} ${r.run ?? ""} ${r.owner ?? ""} ${r.language ?? ""} ${r.message ?? ""} ${r.diagnosis?.message ?? ""} ${r.diagnosis?.type ?? ""}`.toLowerCase();
const hasWords = (r: Record_, words: string[]) => words.every((w) => textOf(r).includes(w));

export function Runs() {
  const start = new URLSearchParams(location.search);
  const [text, write] = useState(start.get("q") ?? ""), [bad, setBad] = useState(start.has("failed")), [only, pickOnly] = useState(start.get("only"));
  const [by, sort] = useState<Sorted>((start.get("sort") as Sorted | null) ?? "created");
  const [rows, setRows] = useState<Record_[] | null>(null), [next, setNext] = useState(""), [problem, fail] = useState(""), [at, select] = useState(0);
  const filter = useMemo(() => parse(text, bad), [text, bad]);
  const asked = filter.query.toString();
  const admin = document.documentElement.hasAttribute("data-admin");
  const all = admin ? "&all=true" : "";
  const stats = useAnswer<Figures>(`/v1/stats?${asked}${all}`);

  useEffect(() => {
    const q = new URLSearchParams();
    if (text) q.set("q", text);
    if (bad) q.set("failed", "");
    if (only) q.set("only", only);
    if (by !== "created") q.set("sort", by);
    history.replaceState(null, "", "/ui/runs" + (q.size ? "?" + q.toString().replace(/=(&|$)/g, "$1") : ""));
  }, [text, bad, only, by]);

  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      call<Page<Record_>>(`/v1/history?limit=${pageSize}&${asked}${all}`, { signal: stop.signal }).then(
        (p) => { setRows(p.items); setNext(p.next ?? ""); fail(""); },
        (e: unknown) => { if (!stop.signal.aborted) fail(e instanceof Refusal ? e.message : String(e)); });
    }, rows ? 200 : 0);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [asked, all]);

  const more = () => {
    if (!next || !rows || rows.length >= most) return;
    const after = next;
    setNext("");
    call<Page<Record_>>(`/v1/history?limit=10000&after=${encodeURIComponent(after)}&${asked}${all}`).then(
      (p) => { p.items.forEach(textOf); setRows((r) => [...(r ?? []), ...p.items]); setNext(p.next ?? ""); },
      (e: Refusal) => { fail(e.message); setNext(after); });
  };

  const matching = useMemo(() => (filter.words.length ? (rows ?? []).filter((r) => hasWords(r, filter.words)) : rows ?? []), [rows, filter]);
  const shown = useMemo(() => {
    const some = only ? matching.filter((r) => outcome(r) === only) : matching;
    return by === "created" ? some : [...some].sort((a, b) => (b[by] ?? -1) - (a[by] ?? -1)); // the largest first
  }, [matching, only, by]);
  const counts = useMemo(() => {
    const n: Record<string, number> = {};
    for (const r of matching) { const v = outcome(r); n[v] = (n[v] ?? 0) + 1; }
    return n;
  }, [matching]);

  const pick = (i: number) => {
    const to = Math.max(0, Math.min(shown.length - 1, i)), r = shown[to];
    select(to);
    if (r) say(`${verdicts[outcome(r)]![1]}, ${r.project ?? ""} ${r.task ?? ""}`);
  };
  const failure = (by: number) => {
    for (let i = at + by; shown[i]; i += by) if (failed(outcome(shown[i]!))) return pick(i);
  };
  useKeys([
    ["j", "down", () => pick(at + 1)], ["k", "up", () => pick(at - 1)], ["n", "next failure", () => failure(1)], ["p", "previous failure", () => failure(-1)],
    ["f", "failures only", () => setBad(!bad)], ["Enter", "open", () => { const r = shown[at]; if (r) go("/ui/runs/" + r.run_id); }],
  ]);

  return (
    <div class="fillcol tall">
      <Head title="Runs" info={rows ? `${count(shown.length)}${next ? " of more" : ""}` : ""} acts={<>
        <button class="btn" type="button" onClick={() => csv(shown)} disabled={!shown.length}><Icon name="save" />CSV</button>
        <CopyAs path={`/v1/history?${asked}`} />
      </>} />
      <div class="tools">
        <div class="search"><Icon name="filter" />
          <input class="in" data-filter aria-label="Filter" spellcheck={false} autocomplete="off" placeholder="verdict:memory-limit lang:cpp project:finals since:1h" value={text} onInput={(e) => { write(e.currentTarget.value); select(0); }} />
        </div>
        <label class="tog"><input type="checkbox" checked={bad} onChange={(e) => { setBad(e.currentTarget.checked); select(0); }} /> Failures only <kbd>f</kbd></label>
      </div>
      {filter.wrong.length > 0 && <div class="tools"><Note kind="warn" title={`${filter.wrong.join(" ")} is no filter`}>Use verdict:, lang:, project:, task:, run: and since: (such as since:2h), or plain words.</Note></div>}
      {stats.answer && <div class="tools">
        <dl class="facts">
          <div><dt>runs</dt><dd>{count(stats.answer.runs)}</dd></div><div><dt>success</dt><dd>{count(stats.answer.success)}</dd></div>
          <div><dt>failure</dt><dd>{count(stats.answer.failure)}</dd></div><div><dt>brig failed</dt><dd>{count(stats.answer.errors)}</dd></div>
          <div><dt>wall p50</dt><dd>{nanoseconds(stats.answer.wall_p50_ns)}</dd></div><div><dt>p99</dt><dd>{nanoseconds(stats.answer.wall_p99_ns)}</dd></div>
        </dl>
        {matching.length > 0 && <div class="grow"><Split counts={counts} /></div>}
      </div>}
      <div class="tools legendrow"><div class="legend" role="group" aria-label="Show one outcome">
        {Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([v, n]) => (
          <button type="button" aria-pressed={only === v} onClick={() => { pickOnly(only === v ? null : v); select(0); }}><Chip v={v} /><span class="n">{count(n)}</span></button>
        ))}
      </div></div>
      {problem ? <div class="tools"><Note kind="bad" title="The list could not be read">{problem}</Note></div>
        : rows === null ? <Loading />
        : shown.length ? <List rows={shown} by={by} sort={(k) => { sort(k); select(0); }} at={at} pick={pick} more={more} owners={admin} />
        : text || bad || only ? <Empty icon="filter" title="No run matches" acts={<button class="btn" type="button" onClick={() => { write(""); setBad(false); pickOnly(null); }}>Clear the filter</button>}>The filter leaves nothing. Take a word away, or look further back.</Empty>
        : <Empty icon="list" title="No runs yet" acts={<><a class="btn main" href="/ui/">Run a program</a><Command text="brig run hello.py" /></>}>Each run of this key is listed here: from this page, the API, or a batch.</Empty>}
    </div>
  );
}

type Sorted = "created" | "wall_ns" | "cpu_ns" | "memory_bytes";

// List draws the rows that are seen, and no others: the document stays as small as the window.
function List({ rows, by, sort, at, pick, more, owners }: { rows: Record_[]; by: Sorted; sort: (by: Sorted) => void; at: number; pick: (i: number) => void; more: () => void; owners: boolean }) {
  const box = useRef<HTMLDivElement>(null), [top, scroll] = useState(0), [height, resize] = useState(600);
  useEffect(() => {
    const see = new ResizeObserver(() => resize(box.current!.clientHeight));
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);
  useEffect(() => { // the selected row is seen
    const b = box.current!, y = at * rowHeight;
    if (y < b.scrollTop) b.scrollTop = y;
    else if (y > b.scrollTop + b.clientHeight - 2 * rowHeight - 30) b.scrollTop = y - b.clientHeight + 2 * rowHeight + 30;
  }, [at]);

  const first = Math.max(0, Math.floor(top / rowHeight) - 8), last = Math.min(rows.length, first + Math.ceil(height / rowHeight) + 24);
  useEffect(() => { if (last >= rows.length) more(); }, [last, rows.length]);
  const pad = (n: number) => n > 0 && <tr class="pad" aria-hidden="true"><td colSpan={9} style={{ height: n * rowHeight + "px" }} /></tr>;
  const head = (k: Sorted, name: string, cls = "") => <th class={cls} aria-sort={by === k ? "descending" : undefined}><button class="btn bare sorter" type="button" onClick={() => sort(k)}>{name}{by === k && <span aria-hidden="true"> ↓</span>}</button></th>;
  return (
    <div class="vlist" ref={box} tabIndex={0} role="region" aria-label="Runs" onScroll={(e) => scroll(e.currentTarget.scrollTop)}>
      <table aria-rowcount={rows.length + 1}>
        <thead><tr>
          {head("created", "Time, UTC")}<th>Outcome</th><th>Project</th><th class="md">Task</th><th>Language</th><th class="num lo">Tests</th>{head("wall_ns", "Wall", "num lo")}{head("cpu_ns", "Processor", "num lo")}{head("memory_bytes", "Memory", "num lo")}
          {owners && <th class="lo">Key</th>}<th class="lo">Run</th>
        </tr></thead>
        <tbody>
          {pad(first)}
          {rows.slice(first, last).map((r, i) => (
            <tr key={r.run_id} class={"go" + (first + i === at ? " on" : "")} aria-rowindex={first + i + 2} onClick={() => { pick(first + i); go("/ui/runs/" + r.run_id); }}>
              <td class="mono" title={r.created}>{day(r.created) === new Date().toISOString().slice(0, 10) ? clock(r.created) : day(r.created).slice(5) + " " + clock(r.created).slice(0, 5)}</td>
              <td><Chip v={outcome(r)} /></td><td>{r.project}</td><td class="md">{r.task}</td><td>{r.language}</td>
              <td class="num lo">{r.summary ? `${r.summary.accepted}/${r.summary.tests}` : ""}</td>
              <td class="num lo">{nanoseconds(r.wall_ns)}</td><td class="num lo">{nanoseconds(r.cpu_ns)}</td><td class="num lo">{size(r.memory_bytes)}</td>
              {owners && <td class="lo ink2">{r.owner}</td>}
              <td class="lo"><a class="mono" href={"/ui/runs/" + r.run_id} onClick={(e) => e.stopPropagation()}>{r.run_id.slice(0, 16)}</a></td>
            </tr>
          ))}
          {pad(rows.length - last)}
        </tbody>
      </table>
    </div>
  );
}

// csv saves the rows as a file. A cell that a spreadsheet would compute is text: what a program or a caller wrote is no formula.
function csv(rows: Record_[]) {
  const cell = (x: unknown) => {
    let s = x == null ? "" : String(x);
    if (/^[=+\-@\t\r]/.test(s)) s = "'" + s;
    return /[",;\n\t]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
  };
  const head = ["run_id", "created", "owner", "project", "task", "language", "outcome", "verdict", "code", "wall_ns", "cpu_ns", "memory_bytes"];
  const lines = rows.map((r) => [r.run_id, r.created, r.owner, r.project, r.task, r.language, outcome(r), r.verdict, r.code, r.wall_ns, r.cpu_ns, r.memory_bytes].map(cell).join(","));
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob(["\ufeff" + [head.join(","), ...lines].join("\r\n") + "\r\n"], { type: "text/csv" }));
  a.download = "runs.csv";
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}
