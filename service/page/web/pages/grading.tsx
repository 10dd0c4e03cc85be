// Grading: a class as a table, one problem as tests, and the jury's programs against the limit.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, Refusal, type Page } from "../api";
import { classOf, newest, pointsOf, result, type Submission } from "../grades";
import { useAnswer } from "../load";
import { Bar, Chip, Command, CopyAs, Empty, Head, Icon, Loading, Note } from "../parts";
import { TestGrid } from "../testgrid";
import { count, day, durationOf, nanoseconds, visible } from "../words";
import { FolderForm } from "./folder";

type Problem = { name: string; title?: string; tests: number; time?: string | number; format: string; stored: string; bytes: number };
type Verified = { path: string; language: string; expected: string; got: string; slowest?: string | number; unexpected?: string[]; tests?: Record<string, string> };
type Verification = { ok: boolean; time_limit?: { limit: string | number; slowest_accepted: string | number }; mistakes: string[]; warnings: string[]; not_run: string[]; submissions: Verified[] };

const views: [string, string][] = [["class", "Class"], ["tests", "Tests of a problem"], ["jury", "Jury"]];

export function Grading() {
  const start = new URLSearchParams(location.search);
  const [view, setView] = useState(start.get("view") ?? "class"), [project, setProject] = useState(start.get("project") ?? ""), [name, setName] = useState(start.get("problem") ?? "");
  const [all, setAll] = useState(start.has("all")), [adding, add] = useState(false);
  const problems = useAnswer<Page<Problem>>("/v1/problems"), list = problems.answer?.items;
  const problem = name || (list?.[0]?.name ?? "");
  useEffect(() => {
    const q = new URLSearchParams();
    if (view !== "class") q.set("view", view);
    if (project) q.set("project", project);
    if (name) q.set("problem", name);
    if (all) q.set("all", "1");
    history.replaceState(null, "", "/ui/grading" + (q.size ? "?" + q : ""));
  }, [view, project, name, all]);

  const path = useMemo(() => {
    const q = new URLSearchParams({ limit: "10000" });
    if (project) q.set("project", project);
    if (view === "tests") q.set("problem", problem);
    return "/v1/history?" + q;
  }, [view, project, problem]);
  const [rows, problemOf, again] = useAll(view === "jury" || (view === "tests" && !problem) ? null : path);
  const judged = useMemo(() => rows?.filter((r) => r.problem) ?? [], [rows]);

  return (
    <div class={"fillcol" + (view === "tests" ? " tall" : "")}>
      <Head title="Grading" info={rows ? `${count(judged.length)} submissions` : ""} acts={<>
        <CopyAs path={view === "jury" ? `/v1/problems/${problem}/verify` : path} method={view === "jury" ? "POST" : "GET"} body={view === "jury" ? { repeat: 1 } : undefined} />
        <a class="btn" href={"/ui/rejudge" + (problem && view !== "class" ? "?q=problem:" + problem : "")}><Icon name="redo" />Judge again</a>
        <button class="btn main" type="button" onClick={() => add(!adding)} disabled={!list?.length}><Icon name="plus" />Submissions</button>
      </>} />
      <nav class="tabs" aria-label="Views">{views.map(([k, n]) => <a href={"/ui/grading?view=" + k} aria-current={k === view ? "page" : undefined} onClick={(e) => { e.preventDefault(); setView(k); }}>{n}</a>)}</nav>
      <div class="tools wrap">
        {view !== "jury" && <label class="row"><span class="s ink2">Project</span><input class="in" data-filter aria-label="Project" value={project} placeholder="all" onChange={(e) => setProject(e.currentTarget.value.trim())} /></label>}
        {view !== "class" && <label class="row"><span class="s ink2">Problem</span><select class="sel" aria-label="Problem" value={problem} onChange={(e) => setName(e.currentTarget.value)}>{list?.map((p) => <option value={p.name}>{p.name}</option>)}</select></label>}
        {view === "tests" && <label class="tog"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> All tries, not the newest alone</label>}
      </div>
      {adding && list && <div class="tools"><FolderForm problems={list.map((p) => p.name)} first={problem} project={project} done={() => { add(false); again(); }} /></div>}
      {problems.problem ? <div class="body"><Note kind="bad" title="The problems could not be read">{problems.problem}</Note></div>
        : list?.length === 0 ? <Empty icon="grid" title="No problems" acts={<Command text="brig problem put sum.zip" />}>A problem has the tests by which submissions are judged. Store one, and submit programs to it.</Empty>
        : problemOf ? <div class="body"><Note kind="bad" title="The submissions could not be read">{problemOf}</Note></div>
        : view === "jury" ? problem && <Jury key={problem} problem={problem} />
        : !rows ? <Loading />
        : !judged.length ? <Empty icon="grid" title="No submissions yet" acts={<button class="btn main" type="button" onClick={() => add(true)}>Grade a folder</button>}>Programs that a stored problem judged are listed here, from this page, the API or a batch.</Empty>
        : view === "tests" ? <TestGrid rows={all ? judged : newest(judged)} />
        : <Class rows={judged} />}
    </div>
  );
}

// useAll reads all pages of a listing.
function useAll(path: string | null): [Submission[] | null, string, () => void] {
  const [state, set] = useState<{ path: string | null; rows?: Submission[]; problem?: string }>({ path: null }), [turn, next] = useState(0);
  useEffect(() => {
    if (!path) return;
    const stop = new AbortController();
    (async () => {
      const rows: Submission[] = [];
      for (let after: string | undefined = ""; after !== undefined && rows.length < 100_000;) {
        const page: Page<Submission> = await call(path + (after && "&after=" + encodeURIComponent(after)), { signal: stop.signal });
        rows.push(...page.items);
        after = page.next;
      }
      set({ path, rows });
    })().catch((e: unknown) => { if (!stop.signal.aborted) set({ path, problem: e instanceof Refusal ? e.message : String(e) }); });
    return () => stop.abort();
  }, [path, turn]);
  const own = state.path === path;
  return [(own && state.rows) || null, (own && state.problem) || "", () => next((n) => n + 1)];
}

const mostPeople = 500; // rows of the table; a class is smaller, and tests of a problem have no such bound

function Class({ rows }: { rows: Submission[] }) {
  const [by, sort] = useState<"points" | "name" | "solved">("points"), [bad, setBad] = useState(false);
  const { problems, people } = useMemo(() => classOf(rows), [rows]);
  const cells = people.flatMap((p) => [...p.cells.values()]), solved = people.reduce((n, p) => n + p.solved, 0), ours = cells.filter((c) => c.newest.code).length;
  const shown = people.filter((p) => !bad || [...p.cells.values()].some((c) => result(c.newest) !== "accepted"))
    .sort((a, b) => (by === "name" ? a.name.localeCompare(b.name) : b[by] - a[by]));
  const head = (k: typeof by, n: string, cls = "") => <th class={cls} aria-sort={by === k ? (k === "name" ? "ascending" : "descending") : undefined}><button class="btn bare" type="button" onClick={() => sort(k)}>{n}</button></th>;
  return (
    <div class="body">
      <dl class="figs">
        {([["People", count(people.length)], ["Submissions", count(cells.length), "newest of each"], ["Accepted", cells.length ? Math.round((100 * solved) / cells.length) + " %" : "–", `${solved} of ${cells.length}`], ["Not judged", count(ours), ours ? "brig failed" : ""]] as [string, string, string?][])
          .map(([k, v, s]) => <div class="fig"><dt>{k}</dt><dd>{v}{s && <small> {s}</small>}</dd></div>)}
      </dl>
      {ours > 0 && <Note kind="ours" title={`${ours} submissions were not judged.`}>brig failed on them. They have no points: this is not a zero. Judge them again.</Note>}
      <section class="panel">
        <header><h2>Results</h2><div class="acts"><label class="tog"><input type="checkbox" checked={bad} onChange={(e) => setBad(e.currentTarget.checked)} /> With failures only</label></div></header>
        <div class="scroll" tabIndex={0} role="region" aria-label="Results of the class"><table class="sheet">
          <thead><tr>{head("name", "Name")}{problems.map((p) => <th>{p}</th>)}{head("solved", "Solved", "num")}{head("points", "Points", "num")}</tr></thead>
          <tbody>{shown.slice(0, mostPeople).map((p) => (
            <tr key={p.name}><th scope="row">{visible(p.name)}</th>
              {problems.map((q) => {
                const c = p.cells.get(q);
                if (!c) return <td><span class="ink3">·</span></td>;
                const v = result(c.newest), s = c.newest.summary;
                return <td><a class={`cell v-${v} ${v === "accepted" ? "" : v === "error" ? "hatch" : "bad"}`} href={"/ui/runs/" + c.newest.run_id} title={`${day(c.newest.created)}, ${pointsOf(c.newest)} points`}><Chip v={v} only />{v === "error" ? "not judged" : s ? <span>{s.accepted}<span class="ink3">/{s.tests}</span></span> : ""}{c.tries > 1 && <span class="t">{c.tries}×</span>}</a></td>;
              })}
              <td class="num">{p.solved}</td><td class="num"><b>{+p.points.toFixed(2)}</b></td>
            </tr>
          ))}</tbody>
          <tfoot><tr><th>Accepted</th>{problems.map((q) => {
            const own = people.flatMap((p) => p.cells.get(q) ?? []), good = own.filter((c) => result(c.newest) === "accepted").length;
            return <td><span class="s">{good} of {own.length}</span><Bar part={own.length ? good / own.length : 0} color="var(--v-good)" /></td>;
          })}<td /><td /></tr></tfoot>
        </table></div>
        {shown.length > mostPeople && <div class="pad s ink3">{count(shown.length - mostPeople)} more people are not shown: choose a project.</div>}
      </section>
    </div>
  );
}

function Jury({ problem }: { problem: string }) {
  const [busy, setBusy] = useState(false), [got, set] = useState<Verification | null>(null), [wrong, fail] = useState("");
  const verify = () => {
    setBusy(true); fail("");
    call<Verification>(`/v1/problems/${encodeURIComponent(problem)}/verify`, { method: "POST", body: { repeat: 1 } })
      .then(set, (e: Refusal) => fail(e.message)).finally(() => setBusy(false));
  };
  const limit = durationOf(got?.time_limit?.limit) ?? 0;
  const slow = (s: Verified) => durationOf(s.slowest) ?? 0;
  const scale = Math.max(limit * 1.15, ...(got?.submissions ?? []).map(slow), 1);
  return (
    <div class="body">
      <div class="row wrap"><button class="btn main" type="button" disabled={busy} onClick={verify}>{busy ? "Running the programs of the jury" : "Run the programs of the jury"}</button><span class="s ink3">Each program of the package runs on each test, after all other work.</span></div>
      {wrong && <Note kind="bad" title="It could not be verified">{wrong}</Note>}
      {got && <>
        {got.ok ? <Note kind="good" title="The package is right, as far as it was run" /> : null}
        {got.mistakes.map((m) => <Note kind="bad" title={visible(m)} />)}{got.warnings.map((m) => <Note kind="warn" title={visible(m)} />)}
        {got.not_run.length > 0 && <Note kind="info" title="Not verified">{visible(got.not_run.join("; "))}</Note>}
        {got.submissions.length > 0 && <section class="panel"><header><h2>Programs of the jury</h2>{limit > 0 && <span class="ink3 s">the dashed line is the limit of {nanoseconds(limit)}</span>}</header>
          <div class="scroll" tabIndex={0} role="region" aria-label="Programs of the jury"><table>
            <thead><tr><th>Program</th><th class="md">Language</th><th>Expected</th><th>Got</th><th>Slowest test</th><th class="num">Time</th></tr></thead>
            <tbody>{got.submissions.map((s) => (
              <tr><td class="mono">{visible(s.path)}</td><td class="md">{s.language}</td><td>{s.expected}</td><td>{s.got}{s.unexpected?.length ? <span class="hit"> DIFFERS <span class="sr">{s.unexpected.join(", ")}</span></span> : null}</td>
                <td><span class={"limitstrip v-" + (s.unexpected?.length ? "wrong-answer" : "accepted")} role="img" aria-label={`${nanoseconds(slow(s))} of ${nanoseconds(limit)}`}>{limit > 0 && <u style={{ left: (limit / scale) * 100 + "%" }} />}<i style={{ left: (slow(s) / scale) * 100 + "%" }} /></span></td>
                <td class="num">{nanoseconds(slow(s))}</td></tr>
            ))}</tbody>
          </table></div></section>}
      </>}
    </div>
  );
}
