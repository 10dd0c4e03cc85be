// Grade a folder: a class's programs, one for each person, become the jobs of a batch.
import { useState } from "preact/hooks";
import { call, Refusal, type Batch, type Language } from "../api";
import { useAnswer } from "../load";
import { Note } from "../parts";
import { count, visible } from "../words";

type Entry = { who: string; file: File; language: string };
const mostBytes = 1 << 20; // of a program

// entriesOf finds the program of each person: a file, or the only one with a known language in a folder.
export function entriesOf(files: File[], languages: Language[]): { entries: Entry[]; left: string[] } {
  const of = (f: File) => languages.find((l) => l.stored && l.extensions.some((x) => f.name.toLowerCase().endsWith(x.startsWith(".") ? x : "." + x)));
  const people = new Map<string, Entry[]>(), left: string[] = [];
  for (const file of files) {
    const parts = (file.webkitRelativePath || file.name).split("/");
    const name = parts.length > 2 ? parts[1]! : parts.at(-1)!.replace(/\.[^.]*$/, "");
    const language = of(file);
    if (parts.some((p) => p.startsWith("."))) continue;
    if (!language) { left.push(`${parts.join("/")}: no stored language has such files`); continue; }
    if (file.size > mostBytes) { left.push(`${parts.join("/")}: larger than 1 MiB`); continue; }
    people.set(name, [...(people.get(name) ?? []), { who: name, file, language: language.name }]);
  }
  const entries: Entry[] = [];
  for (const [name, own] of people) {
    if (own.length === 1) entries.push(own[0]!);
    else left.push(`${name}: ${own.length} programs; leave one of them`);
  }
  return { entries, left };
}

export function FolderForm({ problems, first, project, done }: { problems: string[]; first: string; project: string; done: () => void }) {
  const languages = useAnswer<Language[]>("/v1/languages").answer ?? [];
  const [problem, setProblem] = useState(first), [into, setInto] = useState(project), [files, setFiles] = useState<File[]>([]);
  const [batch, setBatch] = useState<Batch | null>(null), [wrong, fail] = useState(""), [busy, setBusy] = useState(false);
  const { entries, left } = entriesOf(files, languages);

  const send = async () => {
    setBusy(true); fail("");
    try {
      const b = await call<Batch>("/v1/batches", { method: "POST", body: { keep: "summary", labels: into ? { project: into } : {} } });
      const lines = await Promise.all(entries.map(async (e) => JSON.stringify({ id: e.who, problem, language: e.language, source: await e.file.text() })));
      const answer = await fetch(`/v1/batches/${b.batch_id}/jobs`, { method: "POST", headers: { "X-Brig-Page": "1", "Content-Type": "application/x-ndjson" }, body: lines.join("\n") + "\n" });
      const taken = (await answer.json()) as { detail?: string; refused?: { id: string; error: { message: string } }[] };
      if (!answer.ok) throw new Refusal({ status: answer.status, code: "", detail: taken.detail ?? "The jobs were refused." });
      let now = await call<Batch>(`/v1/batches/${b.batch_id}/close`, { method: "POST" });
      if (taken.refused?.length) fail(taken.refused.map((r) => `${r.id}: ${r.error.message}`).slice(0, 5).join("; "));
      for (setBatch(now); !now.ended; setBatch(now)) {
        await new Promise((r) => setTimeout(r, 500));
        now = await call<Batch>("/v1/batches/" + b.batch_id);
      }
      if (!taken.refused?.length) done();
    } catch (e) {
      fail(e instanceof Refusal ? e.message : String(e));
    }
    setBusy(false);
  };

  return (
    <section class="panel grow" aria-label="Grade a folder"><div class="pad stack" onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); setFiles([...(e.dataTransfer?.files ?? [])]); }}>
      <div class="row wrap">
        <label class="row"><span class="s ink2">Problem</span><select class="sel" aria-label="Judge by" value={problem} onChange={(e) => setProblem(e.currentTarget.value)}>{problems.map((p) => <option value={p}>{p}</option>)}</select></label>
        <label class="row"><span class="s ink2">Project</span><input class="in" aria-label="Project of the submissions" value={into} onInput={(e) => setInto(e.currentTarget.value.trim())} /></label>
        <label class="row"><span class="s ink2">Folder</span><input type="file" aria-label="Folder" multiple ref={(i) => i?.setAttribute("webkitdirectory", "")} onChange={(e) => setFiles([...(e.currentTarget.files ?? [])])} /></label>
        <label class="row"><span class="s ink2">or files</span><input type="file" aria-label="Files" multiple onChange={(e) => setFiles([...(e.currentTarget.files ?? [])])} /></label>
      </div>
      <p class="s ink2">One file for each person, or a folder for each with one program. The name of the file or folder is the name of the person.</p>
      {left.length > 0 && <Note kind="warn" title={`${left.length} files are left out`}>{visible(left.slice(0, 5).join("; "))}</Note>}
      {wrong && <Note kind="bad" title="Not all could be judged">{visible(wrong)}</Note>}
      <div class="row wrap"><button class="btn main" type="button" disabled={busy || !entries.length} onClick={() => void send()}>{`Judge ${count(entries.length)} programs`}</button>{batch && <span class="s ink2" aria-live="polite">{count(batch.results)} of {count(batch.jobs)} judged</span>}</div>
    </div></section>
  );
}
