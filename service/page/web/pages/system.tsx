// System: whether the service and its agent are well, and what an operator should look at.
import { useRef } from "preact/hooks";
import { type Alert, type Page } from "../api";
import { useAnswer } from "../load";
import { admin, filled, stamp, useOverview, withAll, type Failures, type Installation, type Series } from "../operate";
import { Bar, Chart, Command, CopyAs, Empty, Head, Loading, Note, Spark } from "../parts";
import { count, nanoseconds, size, visible } from "../words";

const today = () => new Date(Date.now() - 86400e3).toISOString().slice(0, 16) + ":00Z";

export function System() {
  const { now, past, problem } = useOverview(), alerts = useAnswer<Page<Alert>>(withAll("/v1/alerts?limit=50"), 15_000);
  const series = useLast(useAnswer<Series>(now ? withAll("/v1/stats/series?step=15s&since=" + quarterBefore(now.time)) : null).answer);
  const failures = useAnswer<Failures>(now ? withAll("/v1/failures?since=" + today()) : null).answer;
  const h = now?.health, a = h?.agent;
  if (!now || !h) return <><Head title="System" />{problem ? <div class="body"><Note kind="bad" title="No answer">{problem}</Note></div> : <Loading />}</>;

  const judged = past.map((m) => (m.judged ?? 0) / 5), span = past.length > 1 ? nanoseconds((past.length - 1) * 5e9) + " ago" : "now";
  const oldest = Math.max(0, ...now.queue.map((q) => q.oldest_wait_ns)), busiest = Math.max(1, ...now.queue.map((q) => q.waiting + q.waiting_in_background));
  const recent = alerts.answer?.items.filter((x) => x.time >= today()).length;
  const even = (x: number) => Math.ceil(x / 2 + 0.01) * 2;
  const whole = (x: number) => x.toFixed(x < 10 && x % 1 ? 1 : 0);
  return (
    <>
      <Head title="System" info={<span class="row"><span class={"dot " + (h.status === "ok" ? "good" : "bad")} />{h.status}, up {nanoseconds(h.uptime_ns)}, brig {h.version}</span>} acts={<>
        {failures && failures.total > 0 && <a class="btn" href="/ui/errors">{count(failures.total)} {failures.total === 1 ? "error" : "errors"} of brig</a>}<CopyAs path="/v1/overview" />
      </>} />
      <div class="body">
        {problem && <Note kind="bad" title="No answer">{problem}</Note>}
        {h.status !== "ok" && <Note kind="bad" title={h.status === "stopping" ? "The service is stopping" : "The service is not well"}>{h.history_error ?? (a && !a.reachable ? "The agent does not answer: look at journalctl -u brigd." : "")}</Note>}
        <dl class="figs">
          <div class="fig"><dt>Slots in use</dt><dd>{a?.leased ?? "–"} <small>of {h.capacity}</small><Bar part={(a?.leased ?? 0) / (h.capacity || 1)} color="var(--v-live)" /></dd></div>
          <div class="fig"><dt>Waiting</dt><dd>{h.queued} <small>of {count(h.queue_places ?? 0)}{oldest > 0 ? `, oldest ${nanoseconds(oldest)}` : ""}</small><Bar part={(h.queued ?? 0) / (h.queue_places || 1)} color="var(--v-time)" /></dd></div>
          <div class="fig"><dt>Memory promised</dt><dd>{size(a?.memory_committed_bytes)} <small>of {size(a?.memory_ceiling_bytes)}</small><Bar part={(a?.memory_committed_bytes ?? 0) / (a?.memory_ceiling_bytes || 1)} color="var(--v-memory)" /></dd></div>
          {admin && <div class="fig"><dt>Runs a second</dt><dd>{whole(judged.at(-1) ?? 0)}<Spark values={judged.slice(-40)} width={120} color="var(--accent)" /></dd></div>}
          <div class="fig"><dt>Sandboxes</dt><dd>{a?.cells ?? "–"} <small>{count(now.sessions)} sessions</small></dd></div>
          <div class="fig"><dt>Alerts</dt><dd>{recent === undefined ? "–" : recent} <small>in 24 h</small></dd></div>
        </dl>
        <div class="cols c2">
          {admin
            ? <section class="panel"><header><h2>Runs a second</h2></header><div class="pad"><Chart lines={[{ name: "runs a second", color: "var(--accent)", values: judged, area: true }]} max={even(Math.max(...judged, 1))} format={whole} from={span} to="now" /></div></section>
            : <section class="panel"><header><h2>Runs</h2></header><div class="pad"><Chart lines={[{ name: "runs", color: "var(--accent)", values: past.map((m) => m.running), area: true }]} max={h.capacity} format={whole} from={span} to="now" /></div></section>}
          <section class="panel"><header><h2>Time of a run</h2><span class="ink3 s">half, and 99 of 100, took less</span></header><div class="pad">
            {series && series.buckets.length === 0 ? <Empty icon="gauge" title="No run in 15 minutes">The times of runs show here.</Empty> : series && <Chart lines={[{ name: "p99", color: "var(--v-time)", values: filled(series, (b) => b.wall_p99_ns), area: true }, { name: "p50", color: "var(--ink-2)", values: filled(series, (b) => b.wall_p50_ns) }]} format={nanoseconds} from="15 min ago" to="now" />}
          </div></section>
          <section class="panel"><header><h2>Waiting</h2></header><div class="pad"><Chart lines={[{ name: "waiting", color: "var(--v-time)", values: past.map((m) => m.waiting), area: true }]} max={even(Math.max(4, ...past.map((m) => m.waiting)))} format={whole} from={span} to="now" /></div></section>
          <section class="panel"><header><h2>Memory promised</h2></header><div class="pad"><Chart lines={[{ name: "memory", color: "var(--v-memory)", values: past.map((m) => m.memory_committed_bytes), area: true }]} max={(a?.memory_ceiling_bytes ?? 0) * 1.1 || undefined} limit={a?.memory_ceiling_bytes} limitText={"most " + size(a?.memory_ceiling_bytes)} format={size} from={span} to="now" /></div></section>
        </div>
        <div class="cols c2">
        <section class="panel"><header><h2>Queue by key</h2><span class="ink3 s">keys take turns</span></header>
          {now.queue.length === 0 ? <Empty icon="ok" title="Nobody holds a slot or waits">Who runs or waits is listed here, with the longest wait.</Empty>
            : <div class="scroll" tabIndex={0} role="region" aria-label="Queue by key"><table><thead><tr><th>Key</th><th>Waiting</th><th class="num">Requests</th><th class="num md">Jobs of batches</th><th class="num">Oldest</th><th class="num">Running</th></tr></thead>
              <tbody>{now.queue.map((q) => <tr><td>{q.key ? visible(q.key) : <span class="ink3">no keys</span>}</td><td class="wide"><Bar part={(q.waiting + q.waiting_in_background) / busiest} color="var(--v-live)" /></td><td class="num">{q.waiting}</td><td class="num md">{q.waiting_in_background}</td><td class="num">{q.oldest_wait_ns ? nanoseconds(q.oldest_wait_ns) : "–"}</td><td class="num">{q.running}</td></tr>)}</tbody></table></div>}
        </section>
        <Alerts list={alerts} />
        </div>
        {admin && <Installed />}
        <section class="panel"><header><h2>Host</h2></header><div class="pad"><dl class="kv">
          {([["kernel", a?.kernel], ["control groups", a?.cgroup_mode], ["agent", a?.version], ["service", h.version], ["service memory", "at most " + size(h.service_memory_ceiling_bytes)]] as const).map(([k, x]) => <><dt>{k}</dt><dd>{x ?? "–"}</dd></>)}
        </dl></div></section>
      </div>
    </>
  );
}

// quarterBefore is 15 minutes before a time, in steps of half a minute: so often the times of runs are asked for.
const quarterBefore = (iso: string): string => new Date(Math.floor(new Date(iso).getTime() / 30e3) * 30e3 - 900e3).toISOString().slice(0, 19) + "Z";

// useLast keeps the last answer while the next one is awaited.
function useLast<T>(answer: T | undefined): T | undefined {
  const last = useRef<T | undefined>(undefined);
  if (answer !== undefined) last.current = answer;
  return last.current;
}

function Alerts({ list }: { list: { answer?: Page<Alert>; problem?: string } }) {
  return (
    <section class="panel"><header><h2>Alerts</h2><span class="ink3 s">{list.answer ? count(list.answer.items.length) + (list.answer.next ? " of more" : "") : ""}</span></header>
      {list.answer?.items.length === 0 && <Empty icon="ok" title="No alerts">Crashes, denied calls, memory and rates of failure are told here.</Empty>}
      {list.answer && list.answer.items.length > 0 && <div class="scroll short" tabIndex={0} role="region" aria-label="Alerts"><table><thead><tr><th>Time, UTC</th><th>Kind</th><th>What</th><th class="md">Run</th></tr></thead>
        <tbody>{list.answer.items.map((x) => <tr><td class="mono nowrap">{stamp(x.time)}</td><td class="nowrap">{x.kind.replace("-", " ")}</td><td class="breaks">{visible(x.text)}<span class="sub">{[x.project && visible(x.project), x.owner && "key " + visible(x.owner)].filter(Boolean).join(", ")}</span></td><td class="md">{x.run_id && <a class="mono" href={"/ui/runs/" + x.run_id}>{x.run_id.slice(0, 12)}</a>}</td></tr>)}</tbody></table></div>}
      {list.problem && <div class="pad"><Note kind="warn" title="The alerts could not be read">{list.problem}</Note></div>}
    </section>
  );
}

// Installed shows what brig doctor finds, and the settings in force.
function Installed() {
  const all = useAnswer<Installation>("/v1/installation"), x = all.answer;
  const rank = { fail: 0, warn: 1, ok: 2 };
  if (!x) return all.problem ? <Note kind="bad" title="The settings could not be read">{all.problem}</Note> : null;
  return (
    <>
      <section class="panel"><header><h2>Doctor</h2><span class="ink3 s">what the machine has, as the user of the service sees it</span><div class="acts"><CopyAs path="/v1/installation" /></div></header>
        {x.problem && <div class="pad"><Note kind="warn" title="brig doctor did not answer">{visible(x.problem)}</Note></div>}
        {x.unasked && x.unasked.length > 0 && <div class="pad"><Note kind="info" title="Only root can check the rest" acts={<Command text="sudo brig doctor" />}>{x.unasked.join(", ")}.</Note></div>}
        {x.checks.length > 0 && <div class="scroll short" tabIndex={0} role="region" aria-label="Doctor"><table><thead><tr><th>State</th><th>What</th><th>Found</th><th>Why, and the cure</th></tr></thead>
          <tbody>{[...x.checks].sort((a, b) => rank[a.status] - rank[b.status]).map((c) => <tr>
            <td><span class="row"><span class={"dot " + { ok: "good", warn: "warn", fail: "bad" }[c.status]} />{c.status === "ok" ? <span class="ink3">ok</span> : <b>{c.status}</b>}</span></td>
            <td class="nowrap">{c.name}</td><td class="breaks">{visible(c.found)}</td><td class="breaks">{c.why && <span class="ink2">{visible(c.why)}. </span>}{c.cure && visible(c.cure)}</td>
          </tr>)}</tbody></table></div>}
      </section>
      <section class="panel"><header><h2>Settings in force</h2><span class="ink3 s">of brig serve</span></header>
        {x.settings.length === 0 ? <Empty icon="list" title="The settings are not known">This service was started in another way than by brig serve.</Empty>
          : <div class="scroll short" tabIndex={0} role="region" aria-label="Settings"><table><thead><tr><th>Setting</th><th>Value</th><th>From</th></tr></thead>
            <tbody>{[...x.settings].sort((a, b) => Number(a.from === "default") - Number(b.from === "default")).map((s) => <tr><td class="mono nowrap">{s.name}</td><td class="mono breaks">{visible(s.value)}</td><td class={s.from === "default" ? "ink3" : "ink2"}>{s.from}</td></tr>)}</tbody></table></div>}
      </section>
    </>
  );
}

