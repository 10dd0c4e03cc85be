// What somebody with a link sees of one run: the outcome, and what the maker of the link chose. It asks with the token in
// the address and with nothing else: no cookie goes along.
import { useEffect, useState } from "preact/hooks";
import { textOf, type Bytes } from "../api";
import { letters } from "../grades";
import { Chip, Code, Icon, Loading, Note, say } from "../parts";
import { failed, verdicts, visible } from "../words";

type LinkedRun = {
  state: "queued" | "running" | "done"; title?: string; created: string; expires: string; ahead?: number; not_judged?: boolean;
  verdict?: string; answer?: string; tests?: number; accepted?: number; judged_again?: boolean; first_failed?: string; first_failed_outcome?: string;
  outcomes?: string; score?: number; points?: number; max_points?: number; language?: string; source_name?: string; source?: Bytes;
};

// What each outcome means to the person who wrote the program.
const meaning: Record<string, string> = {
  accepted: "Every test passed.", ok: "The program ended well.", "wrong-answer": "It ran, and what it printed is not what was asked for.",
  partial: "It is right in part.", "cpu-limit": "It computed longer than it may.", "wall-limit": "It took longer than it may.",
  "memory-limit": "It used more memory than it may.", "output-limit": "It printed more than it may.", signaled: "It crashed.",
  nonzero: "It ended with an error.", denied: "It tried something that is not allowed here.", "compile-error": "It could not be compiled, so no test ran.",
  canceled: "It was stopped before it ended.",
};

const moment = (iso: string): string => iso.slice(0, 16).replace("T", " ") + " UTC";

function outcome(r: LinkedRun): string {
  if (r.state !== "done") return r.state;
  if (r.not_judged) return "error";
  return r.verdict !== "ok" ? r.verdict ?? "none" : r.answer ?? "ok";
}

export function Linked() {
  const [run, set] = useState<LinkedRun>(), [problem, fail] = useState("");
  useEffect(() => {
    let timer = 0, gone = false, pause = 1500;
    const token = location.pathname.slice("/ui/link/".length);
    const later = () => { if (!gone) timer = window.setTimeout(ask, pause); };
    const ask = async () => {
      if (document.hidden) return; // it is asked again when it is seen
      try {
        const answer = await fetch("/v1/links/" + token, { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" });
        if (answer.ok) {
          const now = (await answer.json()) as LinkedRun;
          if (gone) return;
          set(now);
          fail("");
          if (now.state === "done") return say(`${verdicts[outcome(now)]?.[1] ?? ""}. ${meaning[outcome(now)] ?? ""}`);
        } else if (answer.status === 404) {
          return fail(((await answer.json()) as { detail: string }).detail);
        } else {
          fail(answer.status === 429 ? "" : `The service answered ${answer.status}. This page asks again.`);
        }
        pause = answer.ok ? 1500 : 5000;
      } catch {
        fail("The service does not answer. This page asks again.");
        pause = 5000;
      }
      later();
    };
    const seen = () => { clearTimeout(timer); void ask(); };
    document.addEventListener("visibilitychange", seen);
    void ask();
    return () => { gone = true; clearTimeout(timer); document.removeEventListener("visibilitychange", seen); };
  }, []);

  if (!run) return problem ? <><h1>Your submission</h1><Note kind="bad" title="Nothing can be shown">{problem}</Note></> : <><h1 class="sr">Your submission</h1><Loading /></>;
  const v = outcome(run), text = textOf(run.source);
  return (
    <>
      <header class="stack">
        <h1>{run.title ? visible(run.title) : "Your submission"}</h1>
        <p class="s ink2">handed in {moment(run.created)}</p>
      </header>
      {problem && <Note kind="warn" title="This may be old">{problem}</Note>}
      {run.state !== "done" ? <Waiting run={run} /> : run.not_judged ? (
        <Note kind="ours" title="It was not judged">The judge failed. This says nothing about the program: tell your teacher.</Note>
      ) : (
        <section class={"why-card v-" + v}>
          <Chip v={v} big />
          <p>{meaning[v] ?? ""}</p>
          {run.tests !== undefined && <p><b>{run.accepted ?? 0} of {run.tests} tests pass.</b></p>}
          {run.points !== undefined ? <p><b>{run.points} of {run.max_points ?? "?"} points.</b></p> : run.score !== undefined && <p><b>Score {Math.round(run.score * 1000) / 1000}.</b></p>}
          {run.first_failed && <p class="ink2">The first test that fails is <b>{visible(run.first_failed)}</b>{run.first_failed_outcome && letters[run.first_failed_outcome] ? `: ${verdicts[letters[run.first_failed_outcome]!]![1]}` : ""}.</p>}
          {run.judged_again && <p class="s ink2">It was judged again since it was handed in. This is what counts.</p>}
        </section>
      )}
      {run.outcomes && <Tests letters_={run.outcomes} of={run.tests ?? run.outcomes.length} />}
      {text && <section class="panel"><header><h2>{visible(run.source_name ?? "Your program")}</h2><span class="s ink3">{run.language}, as you handed it in</span></header><Code text={text} label="your program" /></section>}
      <p class="s ink3">This page shows this submission alone, and can change nothing. The link ends {moment(run.expires)}.</p>
    </>
  );
}

function Waiting({ run }: { run: LinkedRun }) {
  const ahead = run.ahead;
  return (
    <section class="panel"><div class="pad stack">
      <div class="row wrap"><Chip v={run.state} big />
        <span class="ink2">{run.state === "running" ? "it is being judged" : ahead === undefined ? "it waits" : ahead === 0 ? "yours is next" : ahead === 1 ? "1 is before yours" : `${ahead} are before yours`}</span>
      </div>
      <p class="s ink2" aria-live="polite">This page shows the result by itself.</p>
    </div></section>
  );
}

function Tests({ letters_, of }: { letters_: string; of: number }) {
  const all = [...letters_].map((l) => letters[l] ?? "none"), kinds = [...new Set(all)];
  return (
    <section class="stack">
      <h2>Tests</h2>
      <div class="tstrip" role="list">
        {all.map((v, i) => <span role="listitem" class={"v-" + v} title={`test ${i + 1}: ${verdicts[v]![1]}`}><Icon name={verdicts[v]![0]} /><b class="sr">test {i + 1}: {verdicts[v]![1]}</b></span>)}
      </div>
      <div class="row wrap s">{kinds.sort((a, b) => Number(failed(a)) - Number(failed(b))).map((v) => <Chip v={v} />)}</div>
      {of > all.length && <p class="s ink3">These are the first {all.length} of {of}.</p>}
      <p class="s ink3">You see what came of each test, and neither its input nor its output.</p>
    </section>
  );
}
