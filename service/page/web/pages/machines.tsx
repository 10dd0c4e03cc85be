// Machines: what runs the programs, how busy it is, and in what machines differ.
import { useState } from "preact/hooks";
import { call, Refusal, type Page } from "../api";
import { useAnswer } from "../load";
import { admin, useChoice, type Machine } from "../operate";
import { Bar, Command, CopyAs, Head, Loading, Note, ago, toast } from "../parts";
import { count, size, visible } from "../words";

const states: Record<string, [dot: string, words: string]> = { up: ["good", "takes work"], draining: ["warn", "finishing, takes no more"], gone: ["bad", "does not answer"] };

export function Machines() {
  const list = useAnswer<Page<Machine>>("/v1/machines", 3000), items = list.answer?.items;
  const [name, pick] = useChoice("machine", ""), [asked, ask] = useState("");
  const at = items?.find((m) => m.name === name) ?? items?.[0];
  const sum = (of: (m: Machine) => number | undefined) => items?.reduce((a, m) => a + (of(m) ?? 0), 0) ?? 0;
  const others = items?.filter((m) => !m.this) ?? [], versions = new Set(items?.map((m) => m.version).filter(Boolean));
  const drain = (m: Machine) => {
    ask("");
    call<Machine>(`/v1/machines/${encodeURIComponent(m.name)}/drain`, { method: "POST" }).then(() => { toast(`${visible(m.name)} takes no more jobs`); list.again(); }, (e: Refusal) => toast(e.message));
  };
  return (
    <>
      <Head title="Machines" info={items && `${items.filter((m) => m.state === "up").length} of ${items.length} take work`} acts={<CopyAs path="/v1/machines" />} />
      <div class="body">
        {list.problem && <Note kind="bad" title="The machines could not be read">{list.problem}</Note>}
        {!items ? !list.problem && <Loading /> : <>
          <dl class="figs">
            <div class="fig"><dt>Slots in use</dt><dd>{count(sum((m) => m.running))} <small>of {count(sum((m) => m.slots))}</small><Bar part={sum((m) => m.running) / (sum((m) => m.slots) || 1)} color="var(--v-live)" /></dd></div>
            <div class="fig"><dt>Machines</dt><dd>{items.length} <small>{others.length ? `${others.length} of an engine` : "this one"}</small></dd></div>
            <div class="fig"><dt>Sandboxes alive</dt><dd>{count(sum((m) => m.cells))}</dd></div>
            {items[0]?.judged !== undefined && <div class="fig"><dt>Judged since the start</dt><dd>{count(items[0].judged)}</dd></div>}
            {items[0]?.not_judged !== undefined && <div class="fig"><dt>Not judged</dt><dd>{items[0].not_judged ? <a href="/ui/errors">{count(items[0].not_judged)}</a> : 0}</dd></div>}
          </dl>
          {items.filter((m) => m.problem).map((m) => <Note kind="bad" title={`${visible(m.name)} cannot be used`}>{visible(m.problem!)}</Note>)}
          {others.filter((m) => m.differs?.length).map((m) => <Note kind="warn" title={`${visible(m.name)} has other images`}>Of {visible(m.differs!.join(", "))}: the same job could be judged differently there. Build or copy the images, and start the worker again.</Note>)}
          {versions.size > 1 && <Note kind="warn" title="The machines have different versions of brig">{visible([...versions].join(", "))}. Update the older ones.</Note>}
          <div class="scroll panel" tabIndex={0} role="region" aria-label="Machines"><table>
            <thead><tr><th>Machine</th><th>State</th><th class="num">Slots</th><th class="num md">Load</th><th class="num lo">Memory</th><th class="md">Version</th><th class="num lo">Languages</th><th class="num md">Last seen</th><th><span class="sr">Do</span></th></tr></thead>
            <tbody>{items.map((m) => {
              const [dot, words] = states[m.state] ?? ["off", m.state];
              return (
                <tr key={m.name} class={"go" + (m === at ? " on" : "")} onClick={() => pick(m.name)}>
                  <td><button class="btn bare" type="button" aria-current={m === at ? "true" : undefined} onClick={() => pick(m.name)}><b>{visible(m.name)}</b></button>{m.this ? <span class="tagx">this service</span> : <span class="sub">pool {visible(m.pool ?? "")}</span>}</td>
                  <td><span class="row"><span class={"dot " + dot} /><span>{words}</span></span></td>
                  <td class="num">{m.running} of {m.slots}</td>
                  <td class="num md">{m.load === undefined ? "–" : m.load > (m.processors ?? Infinity) ? <b>{m.load.toFixed(1)}</b> : m.load.toFixed(1)}{m.load !== undefined && m.processors ? <span class="ink3"> of {m.processors}</span> : ""}</td>
                  <td class="num lo">{m.memory_ceiling_bytes ? (m.this ? size(m.memory_committed_bytes ?? 0) + " of " : "") + size(m.memory_ceiling_bytes) : "–"}</td>
                  <td class="md mono">{visible(m.version ?? "–").slice(0, 16)}</td><td class="num lo">{m.languages?.length ?? "–"}</td><td class="num md">{m.seen ? ago(m.seen) : <b>unknown</b>}</td>
                  <td class="num nowrap">{admin && !m.this && m.state === "up" && (asked === m.name
                    ? <span class="row"><button class="btn risk" type="button" onClick={(e) => { e.stopPropagation(); drain(m); }}>Drain {visible(m.name)}</button><button class="btn" type="button" onClick={(e) => { e.stopPropagation(); ask(""); }}>Leave it</button></span>
                    : <button class="btn" type="button" onClick={(e) => { e.stopPropagation(); ask(m.name); }}>Drain</button>)}</td>
                </tr>
              );
            })}</tbody>
          </table></div>
          {asked && <Note kind="info" title="A drained worker ends when it has finished its jobs">It takes no more. To have it take jobs again, start brig worker on its machine.</Note>}
          {at && <section class="panel" aria-label="Machine"><header><h2>{visible(at.name)}</h2>{at.this && <div class="acts"><a class="btn" href="/ui/runs">Its runs</a></div>}</header><div class="pad"><dl class="kv">
            {([["kernel", at.kernel], ["control groups", at.cgroup_mode], ["processors", at.processors], ["brig", at.version], ["languages", at.languages?.join(", ")]] as const).map(([k, x]) => x !== undefined && <><dt>{k}</dt><dd class="breaks">{visible(String(x))}</dd></>)}
            <dt>judges</dt><dd>{at.this ? "all runs and batches of this service. Which worker judged a job of brig batch --engine is in the field worker of its result." : `jobs of brig batch --engine in the pool ${visible(at.pool ?? "")}. Their results have its name in the field worker.`}</dd>
          </dl></div></section>}
          {admin && others.length === 0 && <Note kind="info" title="This service knows no other machine" acts={<Command text="brig serve --engine tls://HOST:PORT" />}>Batches can go to many machines, through an engine. With its address the service shows its workers here.</Note>}
        </>}
      </div>
    </>
  );
}

