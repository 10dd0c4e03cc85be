// Run: write a program, run it, see why it ended as it did.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, follow, Refusal, textOf, type Diagnosis, type KeptRequest, type Language, type LiveUsage, type Problem, type Result, type Status, type TestResult, type RunEvent } from "../api";
import type { Editor } from "../editor";
import { useAnswer } from "../load";
import { Chip, CopyAs, copy, Diff, Empty, Icon, Menu, Note, Output, say, Spark, Tabs, type Piece } from "../parts";
import { useKeys } from "../keys";
import { sample } from "../samples";
import { bytesOf, failed, nanoseconds, outcome, size, verdicts } from "../words";

type Test = { stdin: string; expected: string };
type Draft = { language: string; source: string; stdin: string; tests: Test[]; limits: Record<string, string>; profile: string };
type Shown = {
  state: "none" | "sending" | "queued" | "running" | "done"; id?: string; pieces: Piece[]; tests: TestResult[]; memory: number[]; cpu: number[];
  live?: LiveUsage; log: string[]; result?: Result; problem?: Problem; lost?: boolean;
};

const nothing: Shown = { state: "none", pieces: [], tests: [], memory: [], cpu: [], log: [] };
const fields = ["cpu", "wall", "memory", "pids", "output"];
const drawEvery = 60; // ms, of the events of a run
const kept = "brig-draft"; // in the browser's own storage, so that a reload loses no program

function firstDraft(): Draft {
  const empty: Draft = { language: "python", ...sample("python"), tests: [], limits: {}, profile: "" };
  try {
    const at = new URLSearchParams(location.hash.slice(1)).get("program"); // a shared link: after #, so that no server logs it
    const text = at ? decodeURIComponent(at) : localStorage.getItem(kept);
    return text ? { ...empty, ...(JSON.parse(text) as Partial<Draft>) } : empty;
  } catch {
    return empty;
  }
}

export function Run() {
  const [draft, setDraft] = useState(firstDraft);
  const [shown, show] = useState<Shown>(nothing);
  const [tab, pick] = useState("out");
  const [chosen, choose] = useState(false); // the person has picked a tab: the page picks no other
  const [refused, refuse] = useState<Problem | null>(null);
  const languages = useAnswer<Language[]>("/v1/languages");
  const box = useRef<HTMLDivElement>(null), editor = useRef<Editor | null>(null), stop = useRef<() => void>(() => {});
  const now = useRef(draft);
  now.current = draft;

  const change = (part: Partial<Draft>) => setDraft((d) => {
    const next = { ...d, ...part };
    try { localStorage.setItem(kept, JSON.stringify(next)); } catch { /* a private window */ }
    return next;
  });

  useEffect(() => { // the editor comes after the page
    let gone = false;
    import("../editor").then(({ open }) => {
      if (gone || !box.current) return;
      box.current.replaceChildren();
      editor.current = open(box.current, now.current.source, now.current.language, () => change({ source: editor.current!.text() }));
    });
    return () => { gone = true; editor.current?.close(); stop.current(); };
  }, []);

  useEffect(() => { // ?run=ID goes on where a reload left, ?edit=ID begins with the program of an earlier run
    const query = new URLSearchParams(location.search), run = query.get("run"), edit = query.get("edit");
    if (run) watch(run);
    if (edit) {
      call<Status>(`/v1/runs/${edit}?with=request`).then((s) => load(s.request), (e: unknown) => refuse((e as Refusal).problem ?? null));
    }
  }, []);

  function load(request: KeptRequest | undefined) {
    if (!request) return refuse({ status: 0, code: "not-kept", detail: "The service has not kept the program of this run (brig serve --keep-requests=false, or the history no longer has it)." });
    const source = textOf(request.source);
    change({ source, stdin: textOf(request.stdin), tests: [], language: request.language ?? now.current.language });
    editor.current?.set(source);
    editor.current?.language(request.language ?? now.current.language);
  }

  function watch(id: string) {
    stop.current();
    const began = performance.now(), at = () => (performance.now() - began) / 1000;
    let waiting: RunEvent[] = [], timer = 0, drawn = 0; // they come faster than a screen shows them
    const flush = () => {
      timer = 0;
      drawn = performance.now();
      const more = waiting, time = at();
      waiting = [];
      show((s) => afterAll(s, more, time));
      const end = more.at(-1);
      if (end?.name === "result" || end?.name === "error") ended(end);
    };
    const on = (some: RunEvent[]) => {
      for (const e of some) waiting.push(e);
      timer ||= window.setTimeout(flush, Math.max(0, drawn + drawEvery - performance.now()));
    };
    show({ ...nothing, state: "queued", id });
    const close = follow(id, on, () => show((s) => ({ ...s, lost: true })));
    stop.current = () => { clearTimeout(timer); close(); };
  }

  function ended(e: RunEvent) {
    history.replaceState(null, "", "/ui/");
    if (e.name === "error") return say("brig failed. " + (e.data as Problem).detail);
    const r = e.data as Result;
    say(`${verdicts[outcome(r)]![1]}. ${ending(r)}`);
    const line = diagnosisOf(r)?.line;
    editor.current?.mark(line ?? null);
  }

  async function start() {
    if (busy) return;
    refuse(null);
    editor.current?.mark(null);
    const d = now.current;
    show({ ...nothing, state: "sending" });
    if (!chosen) pick(d.tests.length ? "tests" : "out");
    try {
      const s = await call<Status>("/v1/runs?wait=false", { method: "POST", body: bodyOf(d) });
      history.replaceState(null, "", "/ui/?run=" + s.run_id);
      watch(s.run_id);
    } catch (e) {
      show(nothing);
      refuse(e instanceof Refusal ? e.problem : { status: 0, code: "unknown", detail: String(e) });
    }
  }

  const busy = shown.state === "sending" || shown.state === "queued" || shown.state === "running";
  const cancel = () => { if (busy && shown.id) call("/v1/runs/" + shown.id, { method: "DELETE" }).catch((e: Refusal) => refuse(e.problem)); };
  useKeys([["Ctrl Enter", "run", () => void start()], ["Esc", "stop", cancel]]);

  const stored = (languages.answer ?? []).filter((l) => l.stored);
  const known = stored.some((l) => l.name === draft.language) ? stored : [...stored, { name: draft.language } as Language];
  const share = () => copy(location.origin + "/ui/#program=" + encodeURIComponent(JSON.stringify(draft)));

  return (
    <>
      <header class="head">
        <h1>Run</h1>
        <div class="runbar grow">
          <select class="sel auto" aria-label="Language" value={draft.language} onChange={(e) => {
            const to = e.currentTarget.value, old = sample(draft.language), fresh = sample(to);
            const untouched = draft.source.trim() === "" || draft.source === old.source;
            change({ language: to, ...(untouched ? fresh : {}) });
            editor.current?.language(to);
            if (untouched) editor.current?.set(fresh.source);
          }}>
            {known.map((l) => <option value={l.name}>{l.name} {l.version ?? ""}</option>)}
          </select>
          <Menu icon="gauge" label={<span>Limits{Object.values(draft.limits).filter(Boolean).map((x) => " " + x).join(",")}</span>} pop="left">
            <h3>Limits</h3>
            <p class="s ink3">An empty field takes the default of the language.</p>
            {fields.map((f) => (
              <label class="row"><span class="s ink2 grow">{f}</span>
                <input class="in mono" aria-label={"limit " + f} value={draft.limits[f] ?? ""} placeholder={({ cpu: "1s", wall: "5s", memory: "128M", pids: "100", output: "16M" } as Record<string, string>)[f]}
                  onInput={(e) => change({ limits: { ...draft.limits, [f]: e.currentTarget.value.trim() } })} />
              </label>
            ))}
            <hr />
            <label class="row"><span class="s ink2 grow">profile</span>
              <select class="sel" aria-label="profile" value={draft.profile} onChange={(e) => change({ profile: e.currentTarget.value })}>
                <option value="">of the language</option><option>default</option><option>strict</option>
              </select>
            </label>
          </Menu>
          <span class="grow" />
          <span class="md"><CopyAs method="POST" path="/v1/runs" body={bodyOf(draft)} /></span>
          <button class="btn md" type="button" onClick={share}><Icon name="link" />Share</button>
          <button class="btn" type="button" onClick={cancel} disabled={!busy}><Icon name="stop" cls="fill" />Stop</button>
          <button class="btn main" type="button" onClick={() => void start()} disabled={busy}><Icon name="play" cls="fill" />Run<kbd>Ctrl ⏎</kbd></button>
        </div>
      </header>
      <div class="ide">
        <section class="left" aria-label="Program">
          <div class="edit" ref={box}>
            <textarea class="plain" aria-label="Source" value={draft.source} onInput={(e) => change({ source: e.currentTarget.value })} />
          </div>
          <div class="stdin">
            <div class="lab"><label for="stdin">Standard input</label>{draft.tests.length > 0 && <span class="ink3">not used: the tests have their own</span>}</div>
            <textarea class="plain" id="stdin" rows={4} spellcheck={false} value={draft.stdin} onInput={(e) => change({ stdin: e.currentTarget.value })} />
          </div>
        </section>
        <section class="right" aria-label="What came of it">
          <div class="verdict"><Verdict shown={shown} /></div>
          {refused && <Note kind="bad" title={refused.code === "unreachable" ? "No answer" : "The service refused the run"}>{refused.detail}</Note>}
          {shown.lost && <Note kind="ours" title="The events of this run were lost">Its result is in Runs when it has ended.</Note>}
          {shown.problem && <Note kind="ours" title="brig failed: this says nothing about the program">{shown.problem.detail}{shown.problem.retry_safe ? " It is safe to run it again." : ""}</Note>}
          {shown.result && <Why r={shown.result} />}
          <div class="fillcol">
            <Tabs now={tab} pick={(t) => { pick(t); choose(true); }} tabs={[
              { id: "out", name: "Output", show: () => <Out shown={shown} /> },
              { id: "tests", name: "Tests", n: draft.tests.length || "", show: () => <Tests draft={draft} shown={shown} change={(tests) => change({ tests })} /> },
              { id: "events", name: "Events", show: () => <div class="log" tabIndex={0} role="region" aria-label="events">{shown.log.join("\n") || "No events yet."}</div> },
            ]} />
          </div>
        </section>
      </div>
    </>
  );
}

function bodyOf(d: Draft) {
  const limits = Object.fromEntries(Object.entries(d.limits).filter(([, v]) => v).map(([k, v]) => [k, k === "pids" ? Number(v) : v]));
  return {
    language: d.language, source: d.source, ...(d.tests.length ? { tests: d.tests.map((t, i) => ({ id: String(i + 1), stdin: t.stdin, expected: t.expected })) } : { stdin: d.stdin }),
    ...(Object.keys(limits).length ? { limits } : {}), ...(d.profile ? { profile: d.profile } : {}),
  };
}

// joined appends output, and makes one piece of those that came together.
function joined(old: Piece[], more: Piece[]): Piece[] {
  const all = old.length > 20_000 ? old.slice(-10_000) : [...old]; // the page shows the last 5,000 lines
  for (const p of more) {
    const last = all.at(-1);
    if (last && last.kind === p.kind && !last.text.endsWith("\n") && last.text.length < 65536) all[all.length - 1] = { ...last, text: last.text + p.text };
    else all.push(p);
  }
  let length = all.reduce((n, p) => n + p.text.length, 0);
  while (length > 4 << 20 && all.length > 1) length -= all.shift()!.text.length; // what is left is more than the page shows
  return all;
}

// afterAll is what the page shows after events: pieces of output that came together are joined once, and no other event is
// passed by them.
function afterAll(s: Shown, some: RunEvent[], at: number): Shown {
  let waiting: Piece[] = [];
  const joinThem = () => {
    if (waiting.length) s = { ...s, pieces: joined(s.pieces, waiting) };
    waiting = [];
  };
  for (const e of some) {
    if (e.name === "stdout" || e.name === "stderr") {
      waiting.push({ at, kind: e.name === "stdout" ? "out" : "err", text: textOf((e.data as { data: string }).data) });
      continue;
    }
    joinThem();
    s = after(s, e, at);
  }
  joinThem();
  return s;
}

// after is what the page shows after an event that is not output.
function after(s: Shown, e: RunEvent, at: number): Shown {
  const words = e.data === undefined ? "" : e.name === "result" ? (e.data as Result).verdict : JSON.stringify(e.data); // a result has all output
  const log = s.log.length < 2000 ? [...s.log, `${at.toFixed(3).padStart(8)}  ${e.name.padEnd(9)} ${words.slice(0, 200)}`] : s.log;
  switch (e.name) {
    case "started":
      return { ...s, log, state: "running" };
    case "usage": {
      const u = e.data as LiveUsage;
      return { ...s, log, live: u, memory: [...s.memory, u.memory_bytes.value ?? 0].slice(-120), cpu: [...s.cpu, u.cpu_ns.value ?? 0].slice(-120) };
    }
    case "test":
      return { ...s, log, state: "running", tests: [...s.tests, e.data as TestResult] };
    case "gap":
      return { ...s, log, pieces: [...s.pieces, { at, kind: "sys", text: "some output was lost here: this page read too slowly" }] };
    case "result": {
      const r = e.data as Result;
      return { ...s, log, state: "done", result: r, tests: r.tests ?? s.tests, pieces: outputAfter(s.pieces, r, e.past) };
    }
    case "error":
      return { ...s, log, state: "done", problem: e.data as Problem };
    default:
      return { ...s, log };
  }
}

// outputAfter is the output to show once the result is there: what came, unless nothing did, or the connection broke and the
// run had left the memory of the service before it was there again. Then the result has more.
function outputAfter(came: Piece[], r: Result, past?: boolean): Piece[] {
  if (r.tests || (came.length && !past)) return came;
  const all = piecesOf(r), length = (some: Piece[]) => some.reduce((n, p) => n + (p.kind === "sys" ? 0 : p.text.length), 0);
  return length(all) > length(came) ? all : came;
}

function piecesOf(r: Result): Piece[] {
  const all: Piece[] = [];
  if (r.stdout) all.push({ at: null, kind: "out", text: textOf(r.stdout) });
  if (r.stderr) all.push({ at: null, kind: "err", text: textOf(r.stderr) });
  return all;
}

// diagnosisOf is the explanation of a run, or of its first test that has one.
export function diagnosisOf(r: Result): Diagnosis | undefined {
  return r.diagnosis ?? r.tests?.find((t) => t.result.diagnosis)?.result.diagnosis;
}

// ending says in a few words how a run ended.
export function ending(r: Result): string {
  if (r.summary) return `${r.summary.accepted} of ${r.summary.tests} tests accepted` + (r.summary.first_failed ? `, the first that failed is ${r.summary.first_failed}` : "");
  if (r.stage === "compile") return "the compiler refused it";
  if (r.verdict === "ok") return "exit code 0";
  if (r.verdict === "canceled") return "it was stopped";
  if ((r.usage.oom_kills.value ?? 0) > 0) return `killed by the kernel after ${nanoseconds(r.timing.wall_ns)}`;
  if (r.signal_name) return `ended by ${r.signal_name}` + (r.timing.killed_ns ? `, which brig sent after ${nanoseconds(r.timing.killed_ns)}` : "");
  return `exit code ${r.exit_code}`;
}

function Verdict({ shown }: { shown: Shown }) {
  const r = shown.result, u = shown.live;
  if (shown.state === "none") return <div class="top"><span class="ink2">Nothing has run yet.</span><span class="ink3 s">Ctrl ⏎ runs what you see on the left.</span></div>;
  const v = r ? outcome(r) : shown.problem ? "error" : shown.state === "running" ? "running" : "queued";
  const wall = r ? r.timing.wall_ns : u?.wall_ns, cpu = r ? r.usage.cpu_ns.value : u?.cpu_ns.value, memory = r ? r.usage.memory_bytes.value : u?.memory_bytes.value;
  const limit = r ? bytesOf(r.limits["memory"]) : null;
  return (
    <>
      <div class="top"><Chip v={v} big /><span class="ink2">{r ? ending(r) : v === "queued" ? "waits for a slot" : shown.tests.length ? `${shown.tests.length} tests have ended` : ""}</span>
        {shown.id && shown.state === "done" && <a class="btn bare" href={"/ui/runs/" + shown.id}>Open run<Icon name="right" /></a>}
      </div>
      <dl class="meters">
        <div><dt>wall</dt><dd>{nanoseconds(wall)}</dd></div>
        <div><dt>cpu</dt><dd>{nanoseconds(cpu)}</dd>{shown.cpu.length > 1 && <Spark values={shown.cpu.map((c, i) => c - (shown.cpu[i - 1] ?? 0))} color="var(--v-time)" width={64} />}</div>
        <div><dt>memory</dt><dd>{size(memory)}{limit ? ` of ${size(limit)}` : ""}</dd>{shown.memory.length > 1 && <Spark values={shown.memory} color="var(--v-memory)" width={64} max={limit ?? undefined} />}</div>
      </dl>
    </>
  );
}

export function Why({ r }: { r: Result }) {
  const v = outcome(r);
  return hasReasons(r) ? <div class={"why-card v-" + v}><Reasons r={r} /></div> : null;
}

const firstFailed = (r: Result) => r.tests?.find((t) => t.id === r.summary?.first_failed);
const hasReasons = (r: Result) => failed(outcome(r)) && !!(diagnosisOf(r) || firstFailed(r)?.difference);

// Reasons says why a run failed, and where: in brig's words for beginners, and the first difference of a wrong answer.
export function Reasons({ r }: { r: Result }) {
  const d = diagnosisOf(r), first = firstFailed(r);
  if (!hasReasons(r)) return null;
  return (
    <>
      {first?.difference && <p class="line">Test {first.id}: {first.difference}</p>}
      {d && <p class="line">{d.type !== r.verdict && d.category !== "syntax" ? d.type + ": " : ""}{d.message}</p>}
      {d && <div class="row wrap s ink2">{d.line ? <span>{d.file}, line {d.line}</span> : null}{d.hint && <span>{d.hint}</span>}</div>}
    </>
  );
}

function Out({ shown }: { shown: Shown }) {
  if (shown.pieces.length) return <Output pieces={shown.pieces} live={shown.state === "running"} />;
  const text = shown.result?.tests ? "With tests, each test has its own output: see Tests." : shown.state === "done" ? "The program printed nothing." : "Output appears here while the program writes it.";
  return <Output pieces={[{ at: null, kind: "sys", text }]} />;
}

function Tests({ draft, shown, change }: { draft: Draft; shown: Shown; change: (tests: Test[]) => void }) {
  const [open, toggle] = useState<string | null>(null);
  const add = () => change([...draft.tests, { stdin: draft.tests.length ? "" : draft.stdin, expected: "" }]);
  if (!draft.tests.length) {
    return <Empty icon="list" title="No tests" acts={<button class="btn" type="button" onClick={add}><Icon name="plus" />Add a test</button>}>With tests, brig compares what the program prints with what you expect.</Empty>;
  }
  const of = (i: number) => shown.tests.find((t) => t.id === String(i + 1));
  const set = (i: number, part: Partial<Test>) => change(draft.tests.map((t, j) => (j === i ? { ...t, ...part } : t)));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Tests">
      <table>
        <thead><tr><th>Test</th><th>Outcome</th><th>Input</th><th>Expected</th><th>Got</th><th class="num">Wall</th><th /></tr></thead>
        <tbody>
          {draft.tests.flatMap((t, i) => {
            const r = of(i), id = String(i + 1), v = r ? r.answer ?? r.result.verdict : shown.state === "queued" || shown.state === "running" ? "queued" : "none";
            const bad = r && failed(v);
            const row = (
              <tr>
                <td>{bad ? <button class="btn bare" type="button" aria-expanded={open === id} onClick={() => toggle(open === id ? null : id)}>{id}<Icon name="down" /></button> : id}</td>
                <td><Chip v={v} /></td>
                <td><textarea class="plain" rows={2} aria-label={"input of test " + id} value={t.stdin} onInput={(e) => set(i, { stdin: e.currentTarget.value })} /></td>
                <td><textarea class="plain" rows={2} aria-label={"expected output of test " + id} value={t.expected} onInput={(e) => set(i, { expected: e.currentTarget.value })} /></td>
                <td class="mono short">{r ? textOf(r.result.stdout).slice(0, 80) || <span class="ink3">{r.result.diagnosis?.type ?? "nothing"}</span> : ""}</td>
                <td class="num">{r ? nanoseconds(r.result.timing.wall_ns) : ""}</td>
                <td><button class="btn bare icon" type="button" aria-label={"Remove test " + id} onClick={() => change(draft.tests.filter((_, j) => j !== i))}><Icon name="x" /></button></td>
              </tr>
            );
            return open === id && r ? [row, <tr><td colSpan={7}><Diff want={t.expected} got={textOf(r.result.stdout)} /></td></tr>] : [row];
          })}
        </tbody>
      </table>
      <p class="row" style={{ padding: "8px 16px" }}><button class="btn" type="button" onClick={add}><Icon name="plus" />Add a test</button></p>
    </div>
  );
}
