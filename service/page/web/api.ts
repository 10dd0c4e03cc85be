// What the page asks of the API, and the shapes of the answers that it reads. Fields that it does not show are left out.

export type Measurement = { value: number | null; source: string };
export type Diagnosis = { category: string; type: string; message: string; file?: string; line?: number; hint?: string };
export type Usage = {
  cpu_ns: Measurement; user_ns: Measurement; system_ns: Measurement; memory_bytes: Measurement; max_rss_bytes: Measurement;
  pids_peak: Measurement; oom_kills: Measurement; forks_refused: Measurement; stdout_bytes: number; stderr_bytes: number;
};
export type Timing = { queued_ns: number; set_up_ns: number; wall_ns: number; finish_ns: number; killed_ns?: number; started: string };
export type Limits = Record<string, string | number>;
export type Summary = { tests: number; ran: number; accepted: number; verdict: string; answer?: string; first_failed?: string };
export type TestResult = { id: string; answer?: string; difference?: string; message?: string; result: Result };
export type Denial = { syscall: string; number: number; arch: string; rule: string; why: string };
export type Timeline = { every_ns: number; memory: number[]; cpu_ns: number[] };
export type Result = {
  run_id: string; verdict: string; stage: string; exit_code: number; signal?: number; signal_name?: string;
  limits_hit: string[]; denial?: Denial; refused?: { syscall: string; errno?: string; count: number }[];
  usage: Usage; timing: Timing; timeline?: Timeline; stdout?: Bytes; stderr?: Bytes; stdout_truncated?: boolean; stderr_truncated?: boolean;
  compile?: { cached: boolean; timing: Timing; artifact_bytes: number; stderr?: Bytes };
  tests?: TestResult[]; summary?: Summary; diagnosis?: Diagnosis; limits: Limits;
  host?: { kernel: string; image: string; profile: string; policy_hash: string; brig_version: string };
};
// Text, or if it is no UTF-8, its base64.
export type Bytes = string | { base64: string };
export type Labels = { project?: string; task?: string; run?: string };
export type LiveUsage = { wall_ns: number; cpu_ns: Measurement; memory_bytes: Measurement; stdout_bytes: number; stderr_bytes: number };
export type Problem = { status: number; code: string; detail: string; retry_safe?: boolean };
export type KeptRequest = { language?: string; source?: Bytes; source_name?: string; argv?: string[]; flags?: string[]; stdin?: Bytes; tests?: number; cut?: boolean };
export type Status = {
  run_id: string; state: "queued" | "running" | "done"; created: string; labels?: Labels; usage?: LiveUsage; result?: Result;
  request?: KeptRequest; error?: Problem;
};
export type Record_ = {
  run_id: string; owner?: string; project?: string; task?: string; run?: string; dialect?: string; language?: string; verdict?: string; code?: string;
  message?: string; created: string; queued_ns: number; wall_ns: number; cpu_ns: number | null; memory_bytes: number | null;
  exit_code: number; summary?: Summary; diagnosis?: Diagnosis; detail?: Result; stdout?: Bytes; stderr?: Bytes; image?: string;
};
export type Page<T> = { items: T[]; next?: string };
export type Language = { name: string; version?: string; stored: boolean; extensions: string[]; image: string; tier: string };
export type Health = {
  status: string; version?: string; capacity?: number; load?: number; queued?: number; queue_places?: number; uptime_ns?: number;
  service_memory_ceiling_bytes?: number; history_error?: string;
  agent?: {
    reachable: boolean; version?: string; leased: number; cells: number; memory_committed_bytes: number; memory_ceiling_bytes: number;
    kernel?: string; cgroup_mode?: string;
  };
};
export type Alert = { time: string; kind: string; owner?: string; project?: string; run_id?: string; text: string };
export type Figures = { runs: number; success: number; failure: number; wrong: number; errors: number; verdicts: Record<string, number>; wall_p50_ns: number; wall_p99_ns: number };
export type Session = {
  session_id: string; state: string; language?: string; image: string; labels?: Labels; created: string; idle_ends?: string; ends: string; execs: number;
  running: number; limits: Limits; usage: { memory_bytes: Measurement; cpu_ns: Measurement; processes: Measurement; scratch_bytes: number };
};
export type FileList = { files: { name: string; kind: string; size: number }[] };
export type Batch = {
  batch_id: string; state: string; labels?: Labels; created: string; ended?: string; jobs: number; results: number;
  statuses: Record<string, number>; jobs_per_second?: number; eta_seconds?: number;
};

// A Refusal is an answer of the service that is no success: what is wrong, and what to do.
export class Refusal extends Error {
  constructor(readonly problem: Problem) { super(problem.detail); }
}

function toLogin() {
  location.assign("/ui/login?to=" + encodeURIComponent(location.pathname + location.search));
}

// call sends a request of the API and returns its answer. A login that has ended leads to the login.
export async function call<T>(path: string, init: { method?: string; body?: unknown; signal?: AbortSignal } = {}): Promise<T> {
  const headers: Record<string, string> = { "X-Brig-Page": "1" };
  if (init.body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: init.method ?? "GET", headers, signal: init.signal,
      body: init.body === undefined ? undefined : JSON.stringify(init.body),
    });
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Refusal({ status: 0, code: "unreachable", detail: "The service does not answer. Is brig serve running?" });
  }

  if (answer.ok) return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
  if (answer.status === 401) {
    toLogin();
  }
  let problem: Problem;
  try {
    problem = (await answer.json()) as Problem;
  } catch {
    problem = { status: answer.status, code: "unknown", detail: `The service answered ${answer.status}.` };
  }
  throw new Refusal(problem);
}

// textOf returns the bytes of a program as text. What is no UTF-8 shows as replacement characters.
export function textOf(b: Bytes | undefined): string {
  if (b === undefined) return "";
  if (typeof b === "string") return b;
  const raw = atob(b.base64);
  return new TextDecoder().decode(Uint8Array.from(raw, (c) => c.charCodeAt(0)));
}

// An event of a run. past: the run had left the memory of the service, and of its events only this last one is left.
export type RunEvent = { name: string; data: unknown; past?: boolean };

const pastEvent = "9007199254740991"; // the id of that event: PastEvent of the service

// A Reader makes events of the text of a stream of server-sent events. What has not come to its end waits for more.
export class Reader {
  last: string; // the id of the last event
  #rest: string[] = [];
  #ends = false; // what waits ends with a line feed: one more is the end of an event

  constructor(last: string) { this.last = last; }

  read(text: string): RunEvent[] {
    const whole = text.includes("\n\n") || (this.#ends && text.startsWith("\n"));
    this.#rest.push(text);
    this.#ends = text ? text.endsWith("\n") : this.#ends;
    if (!whole) return []; // a result of many megabytes comes in hundreds of pieces: it is searched once, and not for each

    const parts = this.#rest.join("").split("\n\n"), events: RunEvent[] = [];
    this.#rest = [parts.pop()!];
    for (const part of parts) {
      let name = "", data = "";
      for (const line of part.split("\n")) {
        if (line.startsWith("data: ")) data += line.slice(6);
        else if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("id: ")) this.last = line.slice(4);
      }
      if (name) events.push({ name, data: data ? JSON.parse(data) : undefined, past: this.last === pastEvent });
    }
    return events;
  }
}

const tries = 12; // in turn, before a run's events are given up: half a minute, longer than a service takes to start again
const pause = 500; // ms, before the first of them; each waits that much longer

// follow reads the events of a run until its last one, and gives them as they come together: an EventSource gives each alone,
// which takes ten times as long. When the connection breaks, it goes on after the last event that came whole. stop ends it.
export function follow(run: string, on: (some: RunEvent[]) => void, lost: () => void): () => void {
  const stop = new AbortController();
  let last = "", failures = 0;
  const once = async (): Promise<boolean> => { // true: there is nothing more
    const reader = new Reader(last), utf8 = new TextDecoder();
    const answer = await fetch(`/v1/runs/${run}/events`, { signal: stop.signal, headers: { "X-Brig-Page": "1", ...(last ? { "Last-Event-ID": last } : {}) } });
    if (answer.status === 401) { toLogin(); return true; } // logins end with the service; the address has the run
    if (answer.status === 204 || (answer.status >= 400 && answer.status < 500 && answer.status !== 429)) { lost(); return true; }
    if (!answer.ok || !answer.body) return false;

    for (const from = answer.body.getReader(); ;) {
      const { done, value } = await from.read();
      if (done) return false;
      failures = 0; // also after a heartbeat: a silent run is followed for as long as it takes
      const some = reader.read(utf8.decode(value, { stream: true }));
      last = reader.last;
      if (some.length && !stop.signal.aborted) on(some);
      const end = some.at(-1)?.name;
      if (end === "result" || end === "error") { stop.abort(); return true; }
    }
  };

  const go = async () => {
    while (!stop.signal.aborted) {
      if (await once().catch(() => false) || stop.signal.aborted) return;
      if (++failures >= tries) return lost();
      await new Promise((r) => setTimeout(r, failures * pause));
    }
  };
  void go();
  return () => stop.abort();
}
