// Errors: what brig itself failed. These programs were not judged, and no average has them.
import { useMemo, useState } from "preact/hooks";
import { call, Refusal, type KeptRequest, type Labels, type Status } from "../api";
import { useAnswer } from "../load";
import { admin, filled, stamp, useChoice, type Failures, type FailureGroup, type Series } from "../operate";
import { Chart, CopyAs, Empty, Head, Icon, Loading, Note, ago, toast } from "../parts";
import { count, visible } from "../words";

const spans: Record<string, [hours: number, words: string]> = { "1h": [1, "the last hour"], "24h": [24, "the last 24 hours"], "7d": [168, "the last 7 days"], "30d": [720, "the last 30 days"] };

export function Errors() {
  const [span, pickSpan] = useChoice("since", "24h"), [whose, pickWhose] = useChoice("keys", admin ? "all" : "own");
  const [hours, words] = spans[span] ?? spans["24h"]!, [turn, again] = useState(0);
  const since = useMemo(() => new Date(Date.now() - hours * 3600e3).toISOString().slice(0, 19) + "Z", [hours, turn]);
  const all = admin && whose === "all" ? "&all=true" : "";
  const list = useAnswer<Failures>(`/v1/failures?since=${since}${all}`, 10_000), f = list.answer;
  const series = useAnswer<Series>(f && f.total > 0 ? `/v1/stats/series?since=${since}&step=${hours * 60}s${all}` : null, 60_000).answer;
  const open = f?.failures.filter((g) => g.open > 0) ?? [], share = f && f.runs > 0 ? (f.total / f.runs) * 100 : 0;

  return (
    <>
      <Head title="Errors" info={`brig's own, ${words}`} acts={<>
        <div class="seg" role="group" aria-label="Time">{Object.keys(spans).map((s) => <button type="button" aria-pressed={s === span} onClick={() => pickSpan(s)}>{s}</button>)}</div>
        {admin && document.documentElement.hasAttribute("data-keys") && <div class="seg" role="group" aria-label="Whose runs">{[["all", "All keys"], ["own", "Mine"]].map(([id, name]) => <button type="button" aria-pressed={id === whose} onClick={() => pickWhose(id!)}>{name}</button>)}</div>}
        <CopyAs path={`/v1/failures?since=${since}${all}`} />
      </>} />
      <div class="body">
        {list.problem && <Note kind="bad" title="The failures could not be read">{list.problem}</Note>}
        {!f ? !list.problem && <Loading /> : f.total === 0
          ? <Empty icon="ok" title="brig has failed nothing" acts={<a class="btn" href="/ui/runs">Look at the runs</a>}>{`Of ${count(f.runs)} runs in ${words}, each was judged.`}</Empty>
          : <>
            <Note kind="ours" title={`${count(f.total)} ${f.total === 1 ? "program was" : "programs were"} not judged. That is brig's fault, not theirs.`}>
              They count in no average, no grade and no verdict. {count(f.total)} of {count(f.runs)} runs, {share < 0.01 ? "below 0.01" : share.toFixed(2)} %.
              {open.length === 0 && " All of them are acknowledged."}
            </Note>
            {series && <section class="panel"><header><h2>Over {words}</h2></header><div class="pad">
              <Chart cls="s" lines={[{ name: "not judged", color: "var(--v-ours)", values: filled(series, (b) => b.errors), area: true }]} max={Math.ceil(Math.max(...series.buckets.map((b) => b.errors), 1) / 2 + 0.01) * 2} format={(x) => (x >= 10 ? x.toFixed(0) : x.toFixed(1).replace(/\.0$/, ""))} from={stamp(series.since)} to="now" />
            </div></section>}
            {f.failures.map((g) => <Group key={g.code} g={g} all={all !== ""} again={() => { list.again(); again(turn + 1); }} />)}
          </>}
      </div>
    </>
  );
}

function Group({ g, all, again }: { g: FailureGroup; all: boolean; again: () => void }) {
  const [busy, work] = useState(false), [sent, tell] = useState<Sent | null>(null);
  const acknowledge = () => call(`/v1/failures/${g.code}/acknowledge${all ? "?all=true" : ""}`, { method: "POST" }).then(() => { toast("Acknowledged"); again(); }, (e: Refusal) => toast(e.message));
  const retry = () => { work(true); void sendAgain(g.run_ids).then((s) => { tell(s); work(false); }); };
  return (
    <section class="panel" aria-label={g.code}>
      <header><span class="v tag v-error"><Icon name="wrench" />{g.code}</span>
        <div class="acts">
          {g.retry_safe && <button class="btn" type="button" disabled={busy} onClick={retry}><Icon name="redo" />Retry {g.run_ids.length < g.count ? `the last ${g.run_ids.length}` : g.count}</button>}
          {g.open > 0 ? <button class="btn" type="button" onClick={acknowledge}>Acknowledge{g.open < g.count ? " " + count(g.open) : ""}</button>
            : <span class="s ink3">acknowledged{g.acknowledged_by ? " by " + visible(g.acknowledged_by) : ""}, {ago(g.acknowledged ?? g.last)}</span>}
        </div>
      </header>
      <div class="pad cols c2">
        <dl class="kv">
          <dt>how often</dt><dd><b>{count(g.count)}</b>{g.first === g.last ? `, at ${stamp(g.last)}` : `, from ${stamp(g.first)} to ${stamp(g.last)}`}{g.open > 0 && g.open < g.count ? `; ${count(g.open)} since it was acknowledged` : ""}</dd>
          <dt>cause</dt><dd>{g.cause}</dd><dt>cure</dt><dd>{g.cure}</dd>
        </dl>
        <dl class="kv">
          <dt>last message</dt><dd class="breaks">{visible(g.message)}</dd>
          {g.keys && <><dt>keys</dt><dd>{Object.entries(g.keys).sort((a, b) => b[1] - a[1]).slice(0, 8).map(([k, n]) => `${visible(k) || "no key"} ${count(n)}`).join(", ")}</dd></>}
          <dt>runs</dt><dd class="breaks">{g.run_ids.slice(0, 8).map((id) => <><a class="mono" href={"/ui/runs/" + encodeURIComponent(id)}>{id.slice(0, 10)}</a>{" "}</>)}{g.count > 8 && <span class="ink3">and {count(g.count - 8)} more</span>}</dd>
        </dl>
      </div>
      {sent && <div class="pad"><Note kind={sent.runs.length ? "info" : "warn"} title={`${sent.runs.length} of ${g.run_ids.length} are run again`}>
        {sent.runs.map((id) => <><a class="mono" href={"/ui/runs/" + encodeURIComponent(id)}>{id.slice(0, 10)}</a>{" "}</>)}
        {sent.runs.length > 0 && "They have the default limits, because the limits of the first time are not kept. "}
        {sent.not > 0 && `Of ${sent.not}, not all that was sent is kept: tests, files, or runs of another key. Whoever sent them can send them again.`}
        {sent.problem && " " + sent.problem}
      </Note></div>}
    </section>
  );
}

type Sent = { runs: string[]; not: number; problem?: string };

// sendAgain sends the runs again of which everything is kept, one after the other: the queue is for others, too.
async function sendAgain(ids: string[]): Promise<Sent> {
  const sent: Sent = { runs: [], not: 0 };
  for (const id of ids) {
    try {
      const s = await call<Status & { labels?: Labels }>(`/v1/runs/${encodeURIComponent(id)}?with=request`), r = s.request;
      if (!whole(r)) { sent.not++; continue; }
      const body = { language: r.language, source: r.source, source_name: r.source_name, flags: r.flags, stdin: r.stdin, labels: s.labels };
      sent.runs.push((await call<Status>("/v1/runs?wait=false", { method: "POST", body })).run_id);
    } catch (e) {
      sent.not++;
      sent.problem = e instanceof Refusal ? e.message : String(e);
      if (e instanceof Refusal && (e.problem.status === 429 || e.problem.status === 503 || e.problem.status === 0)) break;
    }
  }
  return sent;
}

// whole reports whether a run can be made of what is kept of its request.
function whole(r: (KeptRequest & { files?: unknown[]; stdin_blob?: string }) | undefined): r is KeptRequest {
  return !!r && !r.cut && !r.tests && !r.files?.length && !r.stdin_blob && r.language !== undefined && r.source !== undefined;
}

