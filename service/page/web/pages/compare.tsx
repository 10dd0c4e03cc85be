// Two batches beside each other: jobs of the same name, from which outcome to which.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, Refusal, type Batch, type Page } from "../api";
import { outcomesOf, result, type Submission } from "../grades";
import { useAnswer } from "../load";
import { Chip, Empty, Head, Loading, Note, ago } from "../parts";
import { TestGrid } from "../testgrid";
import { count, order, visible } from "../words";

async function jobsOf(batch: string): Promise<Submission[]> {
  const rows: Submission[] = [];
  for (let after: string | undefined = ""; after !== undefined && rows.length < 100_000;) {
    const page: Page<Submission> = await call(`/v1/history?replaced=true&limit=10000&batch=${encodeURIComponent(batch)}` + (after && "&after=" + encodeURIComponent(after)));
    rows.push(...page.items);
    after = page.next;
  }
  const seen = new Set<string>(); // the newest of each job: brig may have failed on it before
  return rows.filter((r) => !seen.has(r.job ?? "") && !!seen.add(r.job ?? ""));
}

export function Compare() {
  const start = new URLSearchParams(location.search);
  const list = useAnswer<Page<Batch>>("/v1/batches"), items = list.answer?.items ?? [];
  const [a, setA] = useState(start.get("a") ?? ""), [b, setB] = useState(start.get("b") ?? ""), [problem, fail] = useState("");
  const [rows, set] = useState<[Submission[], Submission[]] | null>(null);
  useEffect(() => {
    history.replaceState(null, "", "/ui/batches/compare?" + new URLSearchParams({ a, b }));
    set(null);
    if (!a) return;
    let live = true;
    Promise.all([jobsOf(a), b ? jobsOf(b) : Promise.resolve([])]).then((r) => live && set(r as [Submission[], Submission[]]), (e: Refusal) => live && fail(e.message));
    return () => { live = false; };
  }, [a, b]);

  const pairs = useMemo(() => {
    if (!rows || !b) return [];
    const other = new Map(rows[1].map((r) => [r.job, r]));
    return rows[0].flatMap((r) => { const o = other.get(r.job); return o ? [[r, o] as const] : []; });
  }, [rows, b]);
  const cells = new Map<string, number>();
  for (const [x, y] of pairs) cells.set(result(x) + ">" + result(y), (cells.get(result(x) + ">" + result(y)) ?? 0) + 1);
  const changed = pairs.filter(([x, y]) => result(x) !== result(y) || outcomesOf(x) !== outcomesOf(y));
  const some = (i: 0 | 1) => order.filter((v) => [...cells.keys()].some((k) => k.split(">")[i] === v));
  const pick = (name: string, value: string, to: (v: string) => void) => <label class="row"><span class="s ink2">{name}</span><select class="sel" aria-label={name} value={value} onChange={(e) => to(e.currentTarget.value)}>
    <option value="">none</option>{items.map((x) => <option value={x.batch_id}>{`${ago(x.created)}, ${x.labels?.project ?? ""} ${x.jobs} jobs, ${x.batch_id.slice(0, 8)}`}</option>)}</select></label>;
  return (
    <div class={"fillcol" + (b ? "" : " tall")}>
      <Head title={b ? "Two batches" : "A batch"} crumb={["Batches", "/ui/batches"]} info={b && rows ? `${count(changed.length)} of ${count(pairs.length)} jobs differ` : ""} />
      <div class="tools wrap">{pick("Before", a, setA)}{pick("After", b, setB)}</div>
      {problem && <div class="body"><Note kind="bad" title="The jobs could not be read">{problem}</Note></div>}
      {!a ? <Empty icon="batch" title="Choose a batch">Its jobs and their tests are shown; with a second one, what differs.</Empty> : !rows ? <Loading />
        : !b ? (rows[0].length ? <TestGrid rows={rows[0]} /> : <Empty icon="batch" title="No job of it is in the history">They may be so old that they were removed.</Empty>)
        : <div class="body"><div class="cols c2">
          <section class="panel"><header><h2>Before to after</h2></header><div class="pad scroll" tabIndex={0} role="region" aria-label="Before to after"><table class="matrix">
            <thead><tr><th><span class="sr">before</span></th>{some(1).map((v) => <th scope="col"><Chip v={v} /></th>)}</tr></thead>
            <tbody>{some(0).map((o) => <tr><th scope="row"><Chip v={o} /></th>{some(1).map((n) => { const c = cells.get(o + ">" + n); return <td>{c ? <i class={o === n ? "same" : "chg"}>{count(c)}</i> : <i>·</i>}</td>; })}</tr>)}</tbody>
          </table></div>{rows[0].length + rows[1].length > 2 * pairs.length && <div class="pad s ink2">{count(rows[0].length + rows[1].length - 2 * pairs.length)} jobs are in one of them only.</div>}</section>
          <section class="panel"><header><h2>What differs</h2></header><div class="scroll" tabIndex={0} role="region" aria-label="What differs"><table>
            <thead><tr><th>Job</th><th>Before</th><th>After</th></tr></thead>
            <tbody>{changed.slice(0, 500).map(([x, y]) => <tr><td class="cut">{visible(x.job ?? "")}</td><td><a href={"/ui/runs/" + x.run_id}><Chip v={result(x)} /></a></td><td><a href={"/ui/runs/" + y.run_id}><Chip v={result(y)} /></a></td></tr>)}</tbody>
          </table></div></section>
        </div></div>}
    </div>
  );
}
