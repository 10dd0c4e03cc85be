// Sessions: what is alive, its files, and a terminal at it.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, Refusal, type FileList, type Language, type Page, type Session } from "../api";
import { useAnswer } from "../load";
import { Chip, Command, CopyAs, Empty, Head, Icon, Loading, Note, ago, toast } from "../parts";
import { go } from "../route";
import { bytesOf, count, nanoseconds, size } from "../words";

const remains = (iso: string | undefined): string => {
  if (!iso) return "–";
  const left = new Date(iso).getTime() - Date.now();
  return left <= 0 ? "now" : "in " + nanoseconds(Math.ceil(left / 1000) * 1e9);
};

export function Sessions() {
  const list = useAnswer<Page<Session>>("/v1/sessions", 3000), languages = useAnswer<Language[]>("/v1/languages");
  const [language, pick] = useState("python"), [problem, fail] = useState(""), [busy, work] = useState(false);
  const items = list.answer?.items;
  const create = () => {
    work(true);
    call<Session>("/v1/sessions", { method: "POST", body: { language } }).then(
      (s) => go("/ui/sessions/" + s.session_id), (e: Refusal) => { fail(e.message); work(false); });
  };
  return (
    <>
      <Head title="Sessions" info={items ? count(items.length) : ""} acts={<>
        <select class="sel auto" aria-label="Language of a new session" value={language} onChange={(e) => pick(e.currentTarget.value)}>
          {(languages.answer ?? [{ name: language } as Language]).filter((l) => l.stored !== false).map((l) => <option>{l.name}</option>)}
        </select>
        <button class="btn main" type="button" onClick={create} disabled={busy}><Icon name="plus" />New session</button>
        <CopyAs path="/v1/sessions" />
      </>} />
      <div class="body">
        {problem && <Note kind="bad" title="The session was not made">{problem}</Note>}
        {list.problem && <Note kind="bad" title="The list could not be read">{list.problem}</Note>}
        {!items ? <Loading /> : items.length === 0
          ? <Empty icon="term" title="No session is alive" acts={<Command text="brig session create -l python" />}>A session is a sandbox for several commands, with its files between them. It ends when nobody uses it.</Empty>
          : <div class="scroll panel" tabIndex={0} role="region" aria-label="Sessions"><table>
            <thead><tr><th>Session</th><th>State</th><th>Language</th><th class="md">Project</th><th class="num md">Memory</th><th class="num lo">Processor</th><th class="num lo">Processes</th><th class="num lo">Commands</th><th class="md">Created</th><th>Ends</th><th /></tr></thead>
            <tbody>{items.map((s) => (
              <tr key={s.session_id} class="go" onClick={() => go("/ui/sessions/" + s.session_id)}>
                <td><a class="mono" href={"/ui/sessions/" + s.session_id}>{s.session_id.slice(0, 12)}</a></td><td>{s.state === "running" ? <Chip v="running" /> : "idle"}</td><td>{s.language ?? s.image.slice(7, 19)}</td>
                <td class="md">{s.labels?.project}</td><td class="num md">{size(s.usage.memory_bytes.value)}</td><td class="num lo">{nanoseconds(s.usage.cpu_ns.value)}</td>
                <td class="num lo">{s.usage.processes.value ?? "–"}</td><td class="num lo">{s.execs}</td><td class="md">{ago(s.created)}</td><td>{remains(s.idle_ends ?? s.ends)}</td>
                <td><button class="btn bare risk" type="button" onClick={(e) => { e.stopPropagation(); end(s.session_id, list.again); }}>End</button></td>
              </tr>
            ))}</tbody>
          </table></div>}
      </div>
    </>
  );
}

function end(id: string, after: () => void) {
  call("/v1/sessions/" + id, { method: "DELETE" }).then(() => { toast("The session has ended"); after(); }, (e: Refusal) => toast(e.message));
}

export function SessionPage({ id }: { id: string }) {
  const s = useAnswer<Session>("/v1/sessions/" + id, 3000), files = useAnswer<FileList>(s.answer ? `/v1/sessions/${id}/files` : null, 5000);
  const box = useRef<HTMLDivElement>(null), [turn, again] = useState(0), [over, close] = useState(""), [shell, setShell] = useState("sh");
  const there = s.answer !== undefined;
  useEffect(() => {
    if (!there || !box.current) return;
    let stop = () => {}, gone = false;
    close("");
    import("../terminal").then(({ open }) => { if (!gone && box.current) { box.current.replaceChildren(); stop = open(box.current, id, [shell], close); } });
    return () => { gone = true; stop(); };
  }, [there, turn, shell]);

  const list = files.answer?.files;
  return (
    <>
      <Head title={<span class="mono">{id.slice(0, 16)}</span>} crumb={["Sessions", "/ui/sessions"]} acts={<>
        <select class="sel auto" aria-label="Program of the terminal" value={shell} onChange={(e) => setShell(e.currentTarget.value)}>{["sh", "bash", "python3", "node"].map((x) => <option>{x}</option>)}</select>
        <CopyAs path={"/v1/sessions/" + id} />
        <button class="btn risk" type="button" onClick={() => end(id, () => go("/ui/sessions"))}>End the session</button>
      </>} />
      <div class="body">
        {s.problem && !s.answer && <Note kind="bad" title="This session is not there">{s.problem}</Note>}
        {s.answer && <>
          <dl class="facts">
            <div><dt>memory</dt><dd>{size(s.answer.usage.memory_bytes.value)} of {size(bytesOf(s.answer.limits["memory"]))}</dd></div><div><dt>processor</dt><dd>{nanoseconds(s.answer.usage.cpu_ns.value)}</dd></div>
            <div><dt>processes</dt><dd>{s.answer.usage.processes.value ?? "–"}</dd></div><div><dt>files</dt><dd>{size(s.answer.usage.scratch_bytes)}</dd></div><div><dt>ends</dt><dd>{remains(s.answer.ends)}</dd></div>
          </dl>
          {over && <Note kind="info" title="The terminal is closed" acts={<button class="btn" type="button" onClick={() => again(turn + 1)}>Open it again</button>}>{over}</Note>}
          <div class="panel sess">
            <div class="termbox" ref={box} aria-label="terminal" />
            <div class="files"><header class="lab">Files in /box</header>
              <ul class="tree">{list?.map((f) => <li><Icon name={f.kind === "directory" ? "folder" : "file"} />
                {f.kind === "file" ? <a href={`/v1/sessions/${id}/files/${f.name.split("/").map(encodeURIComponent).join("/")}`} download={f.name.split("/").pop()}>{f.name}</a> : f.name}
                <span class="n">{f.size ? size(f.size) : ""}</span></li>)}</ul>
              {list?.length === 0 && <p class="s ink3" style={{ padding: "8px 12px" }}>None yet.</p>}
            </div>
          </div>
        </>}
      </div>
    </>
  );
}
