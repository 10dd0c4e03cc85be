// Batches: how far each is, and what came of its jobs.
import { call, Refusal, type Batch, type Page } from "../api";
import { useAnswer } from "../load";
import { Bar, Command, CopyAs, Empty, Head, Loading, Note, ago, toast } from "../parts";
import { count, nanoseconds } from "../words";

export function Batches() {
  const list = useAnswer<Page<Batch>>("/v1/batches", 2000);
  const items = list.answer?.items;
  const cancel = (b: Batch) => {
    if (!confirm(`Cancel the batch? ${count(b.jobs - b.results)} jobs are not judged yet.`)) return;
    call("/v1/batches/" + b.batch_id, { method: "DELETE" }).then(() => { toast("Canceled"); list.again(); }, (e: Refusal) => toast(e.message));
  };
  return (
    <>
      <Head title="Batches" info={items ? count(items.length) : ""} acts={<CopyAs path="/v1/batches" />} />
      <div class="body">
        {list.problem && <Note kind="bad" title="The list could not be read">{list.problem}</Note>}
        {!items ? !list.problem && <Loading /> : items.length === 0
          ? <Empty icon="batch" title="No batches" acts={<Command text="brig batch --service URL jobs.jsonl" />}>A batch judges many programs in order of arrival. Results stay for a week.</Empty>
          : <div class="scroll panel" tabIndex={0} role="region" aria-label="Batches"><table>
            <thead><tr><th>Batch</th><th>State</th><th>Project</th><th>Progress</th><th class="num">Jobs</th><th class="num md">Rate</th><th class="num md">Left</th><th class="num lo">brig failed</th><th class="num lo">Refused</th><th class="md">Created</th><th /></tr></thead>
            <tbody>{items.map((b) => (
              <tr key={b.batch_id}>
                <td class="mono"><a href={"/ui/batches/compare?a=" + b.batch_id}>{b.batch_id.slice(0, 12)}</a></td><td>{b.state}</td><td>{b.labels?.project} {b.labels?.task}</td>
                <td style={{ "min-width": "120px" }}><Bar part={b.jobs ? b.results / b.jobs : 0} color="var(--v-live)" /></td>
                <td class="num">{count(b.results)}/{count(b.jobs)}</td><td class="num md">{b.jobs_per_second ? b.jobs_per_second.toFixed(1) + "/s" : "–"}</td><td class="num md">{b.eta_seconds ? nanoseconds(Math.ceil(b.eta_seconds) * 1e9) : "–"}</td>
                <td class="num lo">{count(b.statuses["error"] ?? 0)}</td><td class="num lo">{count(b.statuses["refused"] ?? 0)}</td><td class="md">{ago(b.created)}</td>
                <td class="nowrap"><a class="btn bare" href={`/v1/batches/${b.batch_id}/results`} download={`${b.batch_id}.jsonl`}>Results</a>{(b.state === "open" || b.state === "running") && <button class="btn bare risk" type="button" onClick={() => cancel(b)}>Cancel</button>}</td>
              </tr>
            ))}</tbody>
          </table></div>}
      </div>
    </>
  );
}

