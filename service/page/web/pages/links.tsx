// The links to one run, for those who have no key: what each shows, when it ends. Made and revoked here.
import { useState } from "preact/hooks";
import { call, Refusal, type Page } from "../api";
import { useAnswer } from "../load";
import { copy, CopyAs, Icon, Note, toast } from "../parts";
import { visible } from "../words";

type RunLink = { link_id: string; token?: string; path?: string; show: string[]; title?: string; created: string; expires: string };

const shows: [string, string][] = [
  ["first_failed", "the first test that fails"], ["tests", "what came of each test"], ["score", "score and points"], ["source", "the program"],
];
const lives: [string, string][] = [["24h", "a day"], ["168h", "a week"], ["720h", "30 days"], ["4392h", "half a year"]];

export function Links({ id }: { id: string }) {
  const path = `/v1/runs/${encodeURIComponent(id)}/links`, list = useAnswer<Page<RunLink>>(path), items = list.answer?.items ?? [];
  const [show, choose] = useState<string[]>([]), [title, name] = useState(""), [life, last] = useState("168h");
  const [made, have] = useState<RunLink>(), [problem, fail] = useState("");
  const failed = (e: unknown) => fail(e instanceof Refusal ? e.message : String(e));
  const body = { show, ...(title ? { title } : {}), lives: life };
  const make = () => {
    fail("");
    call<RunLink>(path, { method: "POST", body }).then((l) => { have(l); list.again(); }, failed);
  };
  const revoke = (l: RunLink) => call(`${path}/${l.link_id}`, { method: "DELETE" }).then(() => {
    if (made?.link_id === l.link_id) have(undefined);
    toast("The link opens nothing now");
    list.again();
  }, failed);
  return (
    <section class="panel" aria-label="Links to this run">
      <header><h2>A link for somebody without a key</h2><div class="acts"><CopyAs method="POST" path={path} body={body} /></div></header>
      <div class="pad stack">
        {(problem || list.problem) && <Note kind="bad" title="The service refused it">{problem || list.problem}</Note>}
        <p class="s ink2">It shows how this run ended, and its place in the queue while it waits. Never an input, an expected output or what the program printed. In addition:</p>
        <div class="row wrap apart">{shows.map(([k, words]) => (
          <label class="tog"><input type="checkbox" checked={show.includes(k)} onChange={() => choose(show.includes(k) ? show.filter((x) => x !== k) : [...show, k])} />{words}</label>
        ))}</div>
        <div class="row wrap">
          <input class="in linktitle" aria-label="Title" placeholder="Title, such as the exercise" maxLength={100} value={title} onInput={(e) => name(e.currentTarget.value)} />
          <label class="row s ink2">ends after<select class="sel auto" aria-label="Ends after" value={life} onChange={(e) => last(e.currentTarget.value)}>{lives.map(([v, words]) => <option value={v}>{words}</option>)}</select></label>
          <button class="btn main" type="button" onClick={make}><Icon name="link" />Make a link</button>
        </div>
        {made?.path && <div class="stack"><span class="cmd"><span class="mono" data-link>{location.origin + made.path}</span>
          <button class="btn bare icon" type="button" aria-label="Copy the link" onClick={() => copy(location.origin + made.path!)}><Icon name="copy" /></button></span>
          <p class="s ink2">It is shown once: the service keeps a hash of it.</p></div>}
      </div>
      {items.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-label="Links"><table>
        <thead><tr><th class="md">Made, UTC</th><th>Shows</th><th class="md">Title</th><th>Ends</th><th><span class="sr">Do</span></th></tr></thead>
        <tbody>{items.map((l) => (
          <tr key={l.link_id}><td class="md nowrap">{l.created.slice(0, 16).replace("T", " ")}</td><td>{l.show.length ? shows.filter(([k]) => l.show.includes(k)).map(([, w]) => w).join(", ") : "the outcome"}</td>
            <td class="md">{visible(l.title ?? "")}</td><td class="nowrap">{l.expires.slice(0, 16).replace("T", " ")}</td>
            <td class="num"><button class="btn risk" type="button" onClick={() => void revoke(l)}>Revoke</button></td></tr>
        ))}</tbody>
      </table></div>}
    </section>
  );
}
