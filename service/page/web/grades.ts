// What the grading pages know of submissions: who handed in what, and what came of it.
import type { Record_ } from "./api";
import { outcome } from "./words";

// A Submission is a run that a stored problem judged.
export type Submission = Record_ & { problem?: string; batch?: string; job?: string };

// who names the person of a submission: the job of its batch, else the task in its labels.
export const who = (r: Submission): string => r.job || r.task || "no name";

// The letters of summary.outcomes, with the outcome that each means.
export const letters: Record<string, string> = {
  A: "accepted", P: "partial", W: "wrong-answer", T: "cpu-limit", M: "memory-limit", O: "output-limit", R: "nonzero", D: "denied",
  C: "compile-error", "?": "canceled", "-": "skipped",
};

export const outcomesOf = (r: Submission): string => (r.summary as { outcomes?: string } | undefined)?.outcomes ?? "";

// result is the outcome of a submission as a judge says it: that of the first test that failed.
export function result(r: Submission): string {
  const whole = outcome(r);
  if (whole !== "ok" && whole !== "accepted") {
    const first = /[^AP]/.exec(outcomesOf(r))?.[0];
    return first && first !== "-" && whole !== "error" ? letters[first] ?? whole : whole;
  }
  return whole;
}

export type Cell = { newest: Submission; tries: number };
export type Person = { name: string; cells: Map<string, Cell>; solved: number; points: number };

export const pointsOf = (r: Submission): number => (r.summary as { points?: number } | undefined)?.points ?? r.summary?.accepted ?? 0;

// classOf makes the table of a class: the newest submission of each person for each problem. The newest come first.
export function classOf(rows: Submission[]): { problems: string[]; people: Person[] } {
  const people = new Map<string, Person>(), problems = new Set<string>();
  for (const r of rows) {
    if (!r.problem) continue;
    problems.add(r.problem);
    let p = people.get(who(r));
    if (!p) people.set(who(r), (p = { name: who(r), cells: new Map(), solved: 0, points: 0 }));
    const c = p.cells.get(r.problem);
    if (c) { c.tries++; continue; }
    p.cells.set(r.problem, { newest: r, tries: 1 });
    if (result(r) === "accepted") p.solved++;
    p.points += pointsOf(r);
  }
  return { problems: [...problems].sort(), people: [...people.values()].sort((a, b) => b.points - a.points || a.name.localeCompare(b.name)) };
}

// newest leaves out all but the newest submission of each person.
export function newest(rows: Submission[]): Submission[] {
  const seen = new Set<string>();
  return rows.filter((r) => !seen.has(who(r)) && !!seen.add(who(r)));
}
