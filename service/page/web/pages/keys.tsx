// Keys: what each may do and does, and who changed what. It never has a key, nor its digest.
import type { Page } from "../api";
import { useAnswer } from "../load";
import { admin, stamp, useChoice, type AuditEntry, type KeyUse } from "../operate";
import { Command, CopyAs, Empty, Head, Icon, Loading, Note, ago } from "../parts";
import { count, size, visible } from "../words";

// The limits that have no column of their own, in words.
function further(l: KeyUse["limits"]): string {
  const words: string[] = [];
  for (const [name, of] of [["waiting", "waiting"], ["batches", "batches"], ["problems", "problems"], ["weight", "weight"], ["cpus", "processors"]] as const) if (l[name]) words.push(`${of} ${l[name]}`);
  for (const [name, of] of [["blobs_bytes", "blobs"], ["volumes_bytes", "volumes"], ["problems_bytes", "problems"], ["batches_bytes", "batches"]] as const) if (l[name]) words.push(`${of} ${size(l[name] as number)}`);
  if (l["mode"]) words.push("mode " + l["mode"]);
  if (l["network"]) words.push("network " + l["network"]);
  for (const [name, of] of [["packages", "packages"], ["profile_log", "profile log"], ["own_image", "own image"], ["host_files", "files of the host"]] as const) if (l[name]) words.push(of);
  if (l["profiles"]) words.push("profiles " + (l["profiles"] as string[]).join(" "));
  return words.join(", ");
}

const actions: Record<string, string> = {
  "service-started": "started the service", "key-added": "added the key", "key-removed": "removed the key", "key-changed": "changed the key",
  "problem-stored": "stored a problem", "problem-removed": "removed a problem", "batch-canceled": "canceled or removed a batch", "volume-removed": "removed a volume",
  "label-ended": "ended what has a label", "failures-acknowledged": "acknowledged failures of brig", "machine-drained": "drained a worker", "link-made": "made a link to a run", "link-revoked": "revoked a link to a run",
};

export function Keys() {
  const list = useAnswer<Page<KeyUse>>(admin ? "/v1/keys" : null, 5000), items = list.answer?.items;
  const [by, pick] = useChoice("by", ""), path = "/v1/audit?limit=200" + (by ? "&by=" + encodeURIComponent(by) : "");
  const audit = useAnswer<Page<AuditEntry>>(admin ? path : null, 10_000), changes = audit.answer?.items;
  if (!admin) return <><Head title="Keys" /><Empty icon="key" title="Keys are for keys with admin">This key sees its own runs, batches and sessions. The operator sets admin in the keys file.</Empty></>;
  const many = (n: unknown) => (n ? count(n as number) : <span class="ink3">any</span>);
  return (
    <>
      <Head title="Keys" info={items && (items.length ? count(items.length) : "")} acts={<CopyAs path="/v1/keys" />} />
      <div class="body">
        {list.problem && <Note kind="bad" title="The keys could not be read">{list.problem}</Note>}
        {!items ? !list.problem && <Loading /> : items.length === 0
          ? <Empty icon="key" title="This service has no keys" acts={<Command text="sudo brig key add NAME" />}>Whoever reaches its address may do everything, so it answers on this machine alone. Start it with --keys to let others in.</Empty>
          : <div class="scroll panel" tabIndex={0} role="region" aria-label="Keys"><table>
            <thead><tr><th>Key</th><th class="num">Running</th><th class="num md">Waiting</th><th class="num">Runs at once</th><th class="num md">Sessions</th><th class="num lo">Memory</th><th class="lo">Further limits and rights</th><th class="num">Runs, 24 h</th><th class="num md">brig failed</th><th class="num md">Last seen</th></tr></thead>
            <tbody>{items.map((k) => (
              <tr key={k.name}>
                <td><b>{visible(k.name)}</b> {k.limits["admin"] && <span class="tagx">admin</span>}</td>
                <td class="num">{k.running}</td><td class="num md">{k.waiting}</td><td class="num">{many(k.limits["runs"])}</td><td class="num md">{k.sessions} of {many(k.limits["sessions"])}</td>
                <td class="num lo">{k.limits["memory_bytes"] ? size(k.limits["memory_bytes"] as number) : <span class="ink3">fair</span>}</td><td class="lo ink2 breaks">{visible(further(k.limits))}</td>
                <td class="num">{count(k.runs_24h)}</td><td class="num md">{k.not_judged_24h ? <a href="/ui/errors">{count(k.not_judged_24h)}</a> : <span class="ink3">0</span>}</td>
                <td class="num md">{k.seen ? ago(k.seen) : <span class="ink3">not since the start</span>}</td>
              </tr>
            ))}</tbody>
          </table></div>}
        {items && items.length > 0 && <section class="panel"><header><h2>Change them</h2><span class="ink3 s">as root on the machine; valid within 3 seconds</span></header><div class="pad row wrap">
          <Command text="sudo brig key add NAME" /><Command text="sudo brig key rotate NAME" /><Command text="sudo brig key rm NAME" />
        </div></section>}
        <section class="panel"><header><h2>Changes</h2><span class="ink3 s">who changed what; the last 10,000 are kept</span>
          <div class="acts"><div class="search"><Icon name="filter" /><input class="in" data-filter aria-label="Changes by key" placeholder="by key" spellcheck={false} value={by} onInput={(e) => pick(e.currentTarget.value.trim())} /></div><CopyAs path={path} /></div>
        </header>
          {audit.problem && <div class="pad"><Note kind="bad" title="The changes could not be read">{audit.problem}</Note></div>}
          {changes?.length === 0 && <Empty icon="list" title={by ? "No change by this key" : "Nothing was changed yet"}>Keys, problems, batches, volumes, acknowledgements and workers are told here.</Empty>}
          {changes && changes.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Changes"><table>
            <thead><tr><th>Time, UTC</th><th>Who</th><th>What</th><th>Of what</th></tr></thead>
            <tbody>{changes.map((e) => <tr><td class="mono nowrap">{stamp(e.time)}</td><td>{e.by ? visible(e.by) : <span class="ink3">the operator</span>}</td><td>{actions[e.action] ?? e.action}</td><td class="mono breaks">{visible(e.subject)}</td></tr>)}</tbody>
          </table></div>}
        </section>
      </div>
    </>
  );
}

