// One run: how it ended, how near each limit was, and what the verdict rests on.
import { useEffect, useState } from "preact/hooks";
import { call, textOf, type Result, type Status } from "../api";
import { useKeys } from "../keys";
import { Later } from "../later";
import { useAnswer } from "../load";
import { Bar, Chart, Chip, Code, copy, CopyAs, Empty, Head, Icon, Loading, Note, Output, Tabs, toast, type Piece } from "../parts";
import { go } from "../route";
import { bytesOf, count, durationOf, failed, nanoseconds, outcome, size, verdicts } from "../words";
import { diagnosisOf, ending, Reasons } from "./run";

const links = (id: string) => () => import("./links").then((m) => () => <m.Links id={id} />);

export function Detail({ id }: { id: string }) {
  const [sharing, share] = useState<ReturnType<typeof links> | null>(null), [refused, refuse] = useState(""), [asking, ask] = useState(false);
  const admin = document.documentElement.hasAttribute("data-admin") ? "&all=true" : "";
  const asked = useAnswer<Status>(`/v1/runs/${encodeURIComponent(id)}?with=request${admin}`, 0);
  const s = asked.answer, r = s?.result;
  useEffect(() => { // a run that is under way is asked again until it has ended
    if (s && s.state !== "done") {
      const t = setTimeout(asked.again, 1000);
      return () => clearTimeout(t);
    }
  }, [s]);

  const edit = () => go("/ui/?edit=" + id);
  const again = () => {
    ask(true);
    refuse("");
    call<Status>(`/v1/runs/${encodeURIComponent(id)}/again?wait=false`, { method: "POST", body: {} }).then(
      (n) => go("/ui/runs/" + n.run_id), (e: Error) => refuse(e.message)).finally(() => ask(false));
  };
  useKeys([["e", "edit", edit]]);
  if (asked.problem) return <><Head title={<span class="mono">{id.slice(0, 16)}</span>} crumb={["Runs", "/ui/runs"]} /><div class="body"><Note kind="bad" title="This run cannot be shown">{asked.problem}</Note></div></>;
  if (!s) return <><Head title={<span class="mono">{id.slice(0, 16)}</span>} crumb={["Runs", "/ui/runs"]} /><Loading /></>;

  const v = s.error ? "error" : r ? outcome(r) : s.state;
  document.title = `${verdicts[v]?.[1] ?? v} - brig`;
  return (
    <>
      <Head title={<span class="mono">{s.run_id}</span>} crumb={["Runs", "/ui/runs"]} acts={<>
        <button class="btn bare icon" type="button" aria-label="Copy the id" onClick={() => copy(s.run_id)}><Icon name="copy" /></button>
        <CopyAs path={`/v1/runs/${s.run_id}?with=request`} />
        <button class="btn" type="button" aria-expanded={sharing !== null} onClick={() => share(() => (sharing ? null : links(id)))}><Icon name="link" />Link</button>
        {s.state === "done" && <button class="btn" type="button" disabled={asking} onClick={again}><Icon name="play" />Run again</button>}
        {s.request && <button class="btn" type="button" onClick={edit}><Icon name="edit" />Edit</button>}
        {s.state !== "done" && <button class="btn risk" type="button" onClick={() => void call("/v1/runs/" + id, { method: "DELETE" }).then(() => toast("Stopped"), (e: Error) => toast(e.message))}>Stop it</button>}
      </>} />
      <div class="body">
        {refused && <Note kind="bad" title="It cannot be run again as it is" acts={s.request && <button class="btn" type="button" onClick={edit}><Icon name="edit" />Edit</button>}>{refused}</Note>}
        {sharing && <Later load={sharing} />}
        <section class={"why-card v-" + v}>
          <div class="row wrap"><Chip v={v} big /><span class="ink2">{r ? ending(r) : s.error ? "" : "it has not ended"}</span></div>
          {r && <Reasons r={r} />}
        </section>
        {s.error && <Note kind="ours" title="brig failed: this says nothing about the program">{s.error.detail} {s.error.retry_safe ? "It is safe to run it again." : ""}</Note>}
        {r?.tests && <Tests r={r} />}
        {r && <div class="cols c2 keep"><Time r={r} created={s.created} labels={s.labels} v={v} /><Limits r={r} /></div>}
        {r?.timeline && r.timeline.memory.length > 1 && <section class="panel"><header><h2>Memory over time</h2></header><div class="pad">
          <Chart cls="l" lines={[{ name: "memory", color: "var(--v-memory)", values: r.timeline.memory, area: true }]} limit={bytesOf(r.limits["memory"]) ?? undefined} format={size} from="exec" to={"after " + nanoseconds(r.timing.wall_ns)}
            max={Math.max(...r.timeline.memory) * 1.2} /></div></section>}
        {r && <Evidence r={r} />}
        {r && <div class="cols c2 keep"><Source s={s} v={v} /><Streams r={r} s={s} /></div>}
      </div>
    </>
  );
}

function Time({ r, created, labels, v }: { r: Result; created: string; labels?: { project?: string; task?: string }; v: string }) {
  const compiled = r.compile && !r.compile.cached ? r.compile.timing.wall_ns + r.compile.timing.set_up_ns : 0, refused = r.stage === "compile";
  const parts: [string, number, string, string][] = [
    ["queued", r.timing.queued_ns, "wait", "waiting for a slot"], ["set-up", r.timing.set_up_ns, "", "from the slot to exec"],
    ["compile", refused ? r.timing.wall_ns : compiled, "compile", "the compiler, with its own set-up"], ["run", refused ? 0 : r.timing.wall_ns, "run", "from exec to exit"],
    ["finish", r.timing.finish_ns, "", "emptying the group, collecting files"],
  ];
  const all = parts.reduce((n, p) => n + p[1], 0) || 1;
  const facts: [string, string | undefined][] = [["project", labels?.project], ["task", labels?.task], ["at", created.replace("T", " ").slice(0, 19) + " UTC"], ["profile", r.host?.profile],
    ["image", r.host?.image.slice(7, 19)], ["policy", r.host?.policy_hash.slice(0, 12)], ["brig", r.host?.brig_version], ["kernel", r.host?.kernel]];
  return (
    <section class="panel">
      <header><h2>Where the time went</h2><span class="ink3 s">{nanoseconds(all)} in all</span></header>
      <div class="pad">
        <div class={"phases v-" + v} role="img" aria-label={parts.map((p) => `${p[0]} ${nanoseconds(p[1])}`).join(", ")}>
          {parts.filter((p) => p[1]).map((p) => <i class={p[2]} title={`${p[0]} ${nanoseconds(p[1])}: ${p[3]}`} style={{ width: (p[1] / all) * 100 + "%" }} />)}
        </div>
        <dl class="phlab">{parts.map((p) => <div><dt>{p[0]}</dt><dd>{p[0] === "compile" && !p[1] ? (r.compile ? "cached" : "none") : nanoseconds(p[1])}</dd></div>)}</dl>
        {r.timing.killed_ns ? <p class="s ink2">brig ended what was left {nanoseconds(r.timing.killed_ns)} after exec.</p> : null}
        <dl class="factgrid">{facts.filter(([, x]) => x).map(([k, x]) => <div><dt>{k}</dt><dd>{x}</dd></div>)}</dl>
      </div>
    </section>
  );
}

function Limits({ r }: { r: Result }) {
  const hit = (k: string) => r.limits_hit.includes(k), tests = r.tests !== undefined;
  const rows: [string, number | null, number | null, (n: number | null) => string, string][] = [
    ["wall", r.timing.wall_ns, durationOf(r.limits["wall"]), nanoseconds, "a timer of the agent"],
    ["cpu", r.usage.cpu_ns.value, durationOf(r.limits["cpu"] ?? r.limits["wall"]), nanoseconds, r.usage.cpu_ns.source],
    ["memory", r.usage.memory_bytes.value, bytesOf(r.limits["memory"]), size, r.usage.memory_bytes.source],
    ["pids", r.usage.pids_peak.value, bytesOf(r.limits["pids"]), (n) => (n == null ? "–" : count(n)), r.usage.pids_peak.source],
    ["output", Math.max(r.usage.stdout_bytes, r.usage.stderr_bytes), bytesOf(r.limits["output"]), size, "counted by the agent"],
  ];
  return (
    <section class="panel">
      <header><h2>Limits</h2><span class="ink3 s">{r.limits_hit.length ? "hit: " + r.limits_hit.join(", ") : "none was hit"}{tests ? "; each test has them anew" : ""}</span></header>
      <div class="pad limits">
        {rows.map(([k, x, most, words, source]) => (
          <>
            <span class={"l" + (hit(k) ? " is" : "")} title={source}>{k}</span>
            <Bar cls={hit(k) ? "hit v-" + r.verdict : ""} part={x != null && most ? x / most : 0} />
            <span class={"n" + (hit(k) ? " is" : "")}>{words(x)}<span class="ink3"> of {words(most)}</span></span>
            <span class="hitc">{hit(k) && <span class="hit">HIT</span>}</span>
          </>
        ))}
      </div>
    </section>
  );
}

function Evidence({ r }: { r: Result }) {
  const oom = r.usage.oom_kills.value ?? 0;
  const rows: [string, string | number, string, boolean][] = [
    ["killed by the kernel for memory", r.usage.oom_kills.value ?? "unknown", r.usage.oom_kills.source, oom > 0],
    ["signal", r.signal_name ?? "none", oom > 0 ? "wait4; sent by the kernel" : r.timing.killed_ns ? "wait4; sent by brig" : "wait4", !!r.signal_name],
    ["exit code", r.exit_code, "wait4", r.exit_code > 0], ["processor time", nanoseconds(r.usage.cpu_ns.value), r.usage.cpu_ns.source, r.limits_hit.includes("cpu")],
    ["user", nanoseconds(r.usage.user_ns.value), r.usage.user_ns.source, false], ["system", nanoseconds(r.usage.system_ns.value), r.usage.system_ns.source, false],
    ["most memory", size(r.usage.memory_bytes.value), r.usage.memory_bytes.source, r.limits_hit.includes("memory")],
    ["largest resident", size(r.usage.max_rss_bytes.value), r.usage.max_rss_bytes.source, false],
    ["forks refused", r.usage.forks_refused.value ?? "unknown", r.usage.forks_refused.source, (r.usage.forks_refused.value ?? 0) > 0],
    ["refused calls", (r.refused ?? []).map((c) => `${c.syscall} ${c.errno ?? ""} x${c.count}`).join(", ") || "none", "seccomp", false],
  ];
  if (r.denial) rows.unshift(["system call", `${r.denial.syscall} (${r.denial.number}, ${r.denial.arch})`, `${r.denial.rule}: ${r.denial.why}`, true]);
  return (
    <section class="panel">
      <header><h2>Evidence</h2><span class="ink3 s md">each figure and where it was read</span></header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Evidence"><table class="kv"><tbody>
        {rows.map(([k, x, source, on]) => <tr><th scope="row">{k}</th><td class={on ? "" : "ink2"}>{on ? <b>{x}</b> : x}</td><td class="ink3"><code>{source}</code></td></tr>)}
      </tbody></table></div>
    </section>
  );
}

function Source({ s, v }: { s: Status; v: string }) {
  const d = s.result && diagnosisOf(s.result), text = textOf(s.request?.source);
  return (
    <section class="panel">
      <header><h2>{s.request?.source_name ?? "Source"}</h2><span class="ink3 s">{s.request ? size(text.length) : ""}{s.request?.cut ? ", cut" : ""}</span>
        {text && <div class="acts"><button class="btn bare" type="button" onClick={() => copy(text)}><Icon name="copy" />Copy</button></div>}
      </header>
      {text ? <Code text={text} line={d?.line} verdict={failed(v) ? (v === "wrong-answer" ? "nonzero" : v) : undefined} why={d?.line ? `${d.message} ${d.hint ?? ""}` : undefined} label={s.request?.source_name ?? "source"} />
        : <Empty icon="file" title="No source is kept">The service keeps programs unless its operator says otherwise, or the run was a command of an image.</Empty>}
    </section>
  );
}

function Streams({ r, s }: { r: Result; s: Status }) {
  const [tab, pick] = useState("out");
  const pieces: Piece[] = [];
  if (r.stdout) pieces.push({ at: null, kind: "out", text: textOf(r.stdout) });
  if (r.stderr) pieces.push({ at: null, kind: "err", text: textOf(r.stderr) });
  if (!pieces.length) pieces.push({ at: null, kind: "sys", text: r.tests ? "With tests, each test has its own output." : "The program printed nothing." });
  if (r.stdout_truncated || r.stderr_truncated) pieces.push({ at: null, kind: "sys", text: "More was written: what is kept is cut." });
  return (
    <section class="panel">
      <Tabs now={tab} pick={pick} tabs={[
        { id: "out", name: "Output", show: () => <Output pieces={pieces} /> },
        { id: "in", name: "Input", show: () => s.request?.stdin ? <Code text={textOf(s.request.stdin)} label="input" /> : <p class="s ink3" style={{ padding: "12px 16px" }}>{r.tests ? "Each test has its own input." : "Empty, or not kept."}</p> },
        { id: "compiler", name: "Compiler", show: () => r.compile?.stderr ? <Code text={textOf(r.compile.stderr)} label="messages of the compiler" /> : <p class="s ink3" style={{ padding: "12px 16px" }}>{r.compile ? (r.compile.cached ? "From the cache." : `Compiled in ${nanoseconds(r.compile.timing.wall_ns)}, ${size(r.compile.artifact_bytes)}. No messages.`) : "No compile stage succeeded before this."}</p> },
      ]} />
    </section>
  );
}

function Tests({ r }: { r: Result }) {
  const tests = r.tests!, first = Math.max(0, tests.findIndex((t) => failed(t.answer ?? t.result.verdict))), [at, pick] = useState(first);
  const t = tests[at];
  return (
    <section class="panel">
      <header><h2>Tests</h2><span class="ink3 s">{r.summary ? `${r.summary.accepted} of ${r.summary.tests} accepted` : ""}</span></header>
      <div class="pad stack">
        <div class="tstrip" role="group" aria-label="Tests">
          {tests.slice(0, 400).map((x, i) => {
            const v = x.answer ?? x.result.verdict;
            return <button type="button" class={"v-" + v} aria-pressed={i === at} aria-label={`test ${x.id}: ${verdicts[v]?.[1] ?? v}`} title={`${x.id}: ${verdicts[v]?.[1] ?? v}`} onClick={() => pick(i)}><Icon name={(verdicts[v] ?? verdicts["none"]!)[0]} /></button>;
          })}
        </div>
        {t && <div class="row wrap s"><b>Test {t.id}</b><Chip v={t.answer ?? t.result.verdict} /><span class="ink3">{nanoseconds(t.result.timing.wall_ns)}, {size(t.result.usage.memory_bytes.value)}</span>{t.difference && <span class="ink2">{t.difference}</span>}{t.message && <span class="ink2">{t.message}</span>}</div>}
        {t && <Output pieces={[...(t.result.stdout ? [{ at: null, kind: "out" as const, text: textOf(t.result.stdout) }] : []), ...(t.result.stderr ? [{ at: null, kind: "err" as const, text: textOf(t.result.stderr) }] : []), ...(!t.result.stdout && !t.result.stderr ? [{ at: null, kind: "sys" as const, text: "This test printed nothing, or its output is not kept." }] : [])]} />}
      </div>
    </section>
  );
}
