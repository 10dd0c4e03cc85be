// Judge again: choose runs, see what changes, then apply or discard it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, Refusal, type Batch, type Figures, type Page } from "../api";
import { useAnswer } from "../load";
import { Bar, Chip, CopyAs, Empty, Head, Icon, Loading, Note, ago, say } from "../parts";
import { go } from "../route";
import { count, nanoseconds, order, verdicts, visible } from "../words";

type Judged = { outcome: string; accepted: number; tests: number; points?: number };
type Cell = { old: string; new: string; count: number; changed: number };
type Change = { run_id: string; new_run_id?: string; task?: string; job?: string; old: Judged; new?: Judged; changed: boolean; error?: { message: string } };
type Rejudge = {
  rejudge_id: string; state: "running" | "ready" | "applied" | "discarded"; request: Record<string, unknown>; batch: Batch; judged: number; not_judged: number;
  changed: number; matrix: Cell[]; left_out: { run_id: string; why: string }[]; left_out_total: number;
};

const fields: Record<string, string> = { problem: "problem", batch: "batch", project: "project", task: "task", run: "run", lang: "language", language: "language" };

// chosen reads a filter as the request that chooses runs, and as the query that counts them.
export function chosen(text: string, now = Date.now()): { body: Record<string, unknown>; query: URLSearchParams; wrong: string[] } {
  const body: Record<string, unknown> = {}, query = new URLSearchParams(), wrong: string[] = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^([a-z]+):(.+)$/.exec(word) ?? [], ago = /^(\d+)(m|h|d)$/.exec(value ?? "");
    if (name === "verdict") {
      (body["verdicts"] ??= [] as string[]) && (body["verdicts"] as string[]).push(value!);
      query.append("verdict", value!);
    } else if (name === "since" && ago) {
      const at = new Date(Math.floor((now - Number(ago[1]) * { m: 60e3, h: 3600e3, d: 86400e3 }[ago[2] as "m"]) / 60e3) * 60e3).toISOString().slice(0, 19) + "Z";
      body["since"] = at;
      query.set("since", at);
    } else if (name && value && fields[name]) {
      body[fields[name]!] = value;
      query.set(fields[name]!, value);
    } else {
      wrong.push(word);
    }
  }
  return { body, query, wrong };
}

export function Rejudges() {
  const [text, write] = useState(new URLSearchParams(location.search).get("q") ?? ""), [busy, setBusy] = useState(false), [problem, fail] = useState("");
  const list = useAnswer<Page<Rejudge>>("/v1/rejudges", 3000), items = list.answer?.items;
  const choice = useMemo(() => chosen(text), [text]);
  const enough = (choice.body["problem"] || choice.body["batch"]) && !choice.wrong.length;
  const stats = useAnswer<Figures>(enough ? "/v1/stats?" + choice.query : null);
  useEffect(() => history.replaceState(null, "", "/ui/rejudge" + (text ? "?q=" + encodeURIComponent(text) : "")), [text]);
  const start = () => {
    setBusy(true); fail("");
    call<Rejudge>("/v1/rejudges", { method: "POST", body: choice.body }).then((r) => go("/ui/rejudge/" + r.rejudge_id), (e: Refusal) => fail(e.message)).finally(() => setBusy(false));
  };
  return (
    <>
      <Head title="Judge again" crumb={["Grading", "/ui/grading"]} acts={<CopyAs method="POST" path="/v1/rejudges" body={choice.body} />} />
      <div class="body">
        <section class="panel"><header><h2>Which runs</h2></header><div class="pad stack">
          <div class="search"><Icon name="filter" /><input class="in" data-filter aria-label="Runs to judge again" spellcheck={false} autocomplete="off" placeholder="problem:sum verdict:failed project:class since:2d" value={text} onInput={(e) => write(e.currentTarget.value)} /></div>
          {choice.wrong.length > 0 && <Note kind="warn" title={`${visible(choice.wrong.join(" "))} is no filter`}>Use problem:, batch:, verdict:, project:, task:, run:, lang: and since:.</Note>}
          {problem && <Note kind="bad" title="Nothing was judged again">{visible(problem)}</Note>}
          <div class="row wrap"><span class="s ink2">{!enough ? "Name a problem or a batch." : stats.answer ? `${count(stats.answer.runs)} runs match.` : ""} They are judged after all other work, with the problem as it is now. Results change only when you apply.</span><span class="grow" />
            <button class="btn main" type="button" disabled={busy || !enough || stats.answer?.runs === 0} onClick={start}><Icon name="redo" />{`Judge ${stats.answer && enough ? count(stats.answer.runs) + " runs " : ""}again`}</button></div>
        </div></section>
        {list.problem && <Note kind="bad" title="The list could not be read">{list.problem}</Note>}
        {!items ? !list.problem && <Loading /> : items.length === 0 ? <Empty icon="redo" title="Nothing was judged again yet">When a test was wrong, mend the problem, store it under the same name, and judge its runs again here.</Empty>
          : <div class="scroll panel" tabIndex={0} role="region" aria-label="Past ones"><table>
            <thead><tr><th>Created</th><th>Runs</th><th>State</th><th class="num">Judged</th><th class="num">Change</th><th class="num md">Not judged</th></tr></thead>
            <tbody>{items.map((r) => <tr><td><a href={"/ui/rejudge/" + r.rejudge_id}>{ago(r.batch.created)}</a></td><td class="cut">{visible(words(r.request))}</td><td>{r.state}</td><td class="num">{count(r.judged)}/{count(r.batch.jobs)}</td><td class="num">{count(r.changed)}</td><td class="num md">{count(r.not_judged)}</td></tr>)}</tbody>
          </table></div>}
      </div>
    </>
  );
}

const words = (request: Record<string, unknown>) => Object.entries(request).map(([k, v]) => `${k}:${Array.isArray(v) && k === "runs" ? v.length + " ids" : String(v)}`).join(" ");

const byOrder = (a: string, b: string) => order.indexOf(a) - order.indexOf(b);

export function RejudgePage({ id }: { id: string }) {
  const [every, setEvery] = useState(1000), [all, setAll] = useState(false), [problem, fail] = useState(""), [busy, setBusy] = useState(false);
  const own = useAnswer<Rejudge>("/v1/rejudges/" + encodeURIComponent(id), every), r = own.answer;
  const ended = !!r && r.state !== "running";
  useEffect(() => { if (ended) { setEvery(0); say("All runs are judged again"); } }, [ended]);
  const changes = useAnswer<Page<Change>>(ended ? `/v1/rejudges/${encodeURIComponent(id)}/changes?limit=500${all ? "&unchanged=true" : ""}` : null);
  const act = (what: "apply" | "discard") => {
    setBusy(true); fail("");
    call<Rejudge>(`/v1/rejudges/${id}/${what}`, { method: "POST" }).then(() => own.again(), (e: Refusal) => fail(e.message)).finally(() => setBusy(false));
  };
  const from = [...new Set(r?.matrix.map((c) => c.old))].sort(byOrder), to = [...new Set(r?.matrix.map((c) => c.new))].sort(byOrder);
  const worse = changes.answer?.items.filter((c) => c.changed && c.new && c.new.accepted < c.old.accepted).length ?? 0;
  return (
    <>
      <Head title={r ? visible(words(r.request)) : "…"} crumb={["Judge again", "/ui/rejudge"]} info={r?.state} acts={<CopyAs path={"/v1/rejudges/" + id} />} />
      <div class="body">
        {own.problem && <Note kind="bad" title="It could not be read">{own.problem}</Note>}
        {problem && <Note kind="bad" title="Nothing was changed">{visible(problem)}</Note>}
        {!r ? !own.problem && <Loading /> : <>
          {r.state === "running" && <section class="panel"><div class="pad stack"><div class="row wrap"><Chip v="running" /><span>{count(r.batch.results)} of {count(r.batch.jobs)}</span><span class="ink3">{r.batch.jobs_per_second ? r.batch.jobs_per_second.toFixed(1) + " a second" : ""} {r.batch.eta_seconds ? nanoseconds(Math.ceil(r.batch.eta_seconds) * 1e9) + " left" : ""}</span><span class="grow" /><button class="btn risk" type="button" disabled={busy} onClick={() => act("discard")}>Cancel it</button></div><Bar part={r.batch.jobs ? r.batch.results / r.batch.jobs : 0} color="var(--v-live)" /></div></section>}
          {r.state === "applied" && <Note kind="good" title={`${count(r.changed)} results changed.`}>The old runs stay, and say by which they were replaced.</Note>}
          {r.state === "discarded" && <Note kind="info" title="Nothing was changed.">The old results count.</Note>}
          {r.not_judged > 0 && <Note kind="ours" title={`${count(r.not_judged)} runs were not judged again.`}>They keep their old result. See why below, with all runs shown.</Note>}
          {r.left_out_total > 0 && <Note kind="warn" title={`${count(r.left_out_total)} runs cannot be judged again.`}>{visible([...new Set(r.left_out.map((l) => l.why))].slice(0, 3).join("; "))}</Note>}
          <div class="cols c2">
            <section class="panel"><header><h2>Old to new</h2><span class="ink3 s">{count(r.changed)} of {count(r.judged)} change</span></header>
              <div class="pad scroll" tabIndex={0} role="region" aria-label="Old to new"><table class="matrix">
                <thead><tr><th><span class="sr">old</span></th>{to.map((v) => <th scope="col"><Chip v={verdicts[v] ? v : "none"} /></th>)}</tr></thead>
                <tbody>{from.map((o) => <tr><th scope="row"><Chip v={verdicts[o] ? o : "none"} /></th>{to.map((n) => {
                  const c = r.matrix.find((x) => x.old === o && x.new === n);
                  return <td>{c ? <i class={c.changed ? "chg" : "same"} title={`${c.count} from ${o} to ${n}, ${c.changed} changed`}>{count(c.count)}</i> : <i>·</i>}</td>;
                })}</tr>)}</tbody>
              </table></div>
              <div class="pad"><p class="s ink2">Read a row from left to right: what was judged so becomes this. Outlined: no change. Filled: changes, also in points alone.</p></div>
            </section>
            <section class="panel"><header><h2>What changes</h2><div class="acts"><label class="tog"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> All runs</label></div></header>
              {changes.answer && changes.answer.items.length === 0 ? <div class="pad s ink2">No run changes.</div> : <div class="scroll" tabIndex={0} role="region" aria-label="What changes"><table>
                <thead><tr><th>Name</th><th>Old</th><th>New</th><th class="num">Tests</th></tr></thead>
                <tbody>{changes.answer?.items.map((c) => <tr key={c.run_id}><td class="cut"><a href={"/ui/runs/" + c.run_id}>{visible(c.job || c.task || c.run_id.slice(0, 12))}</a></td><td><Chip v={c.old.outcome} /></td>
                  <td>{c.new ? <a href={"/ui/runs/" + c.new_run_id}><Chip v={c.new.outcome} /></a> : <span class="s ink2">not judged: {visible(c.error?.message ?? "")}</span>}</td><td class="num">{c.old.accepted} → {c.new?.accepted ?? "–"}</td></tr>)}</tbody>
              </table></div>}
              {changes.answer?.next && <div class="pad s ink3">The first 500 are shown; Copy as has the request for the rest.</div>}
              {r.state === "ready" && <div class="pad row wrap">
                <button class="btn main" type="button" disabled={busy} onClick={() => act("apply")}>{`Apply ${count(r.changed)} changes`}</button><button class="btn" type="button" disabled={busy} onClick={() => act("discard")}>Discard</button>
                <span class="s ink3">{changes.answer?.next ? "" : worse ? `${worse} lose accepted tests.` : "No one loses accepted tests."}</span>
              </div>}
            </section>
          </div>
        </>}
      </div>
    </>
  );
}
