// What the pages of the operator ask of the API.
import { useEffect, useState } from "preact/hooks";
import { call, Refusal, type Figures, type Health } from "./api";

// Whether the caller may see what belongs to all keys: a key with admin, or anyone if the service has no keys.
export const admin = document.documentElement.hasAttribute("data-admin") || !document.documentElement.hasAttribute("data-keys");
export const withAll = (path: string): string => (admin ? path + (path.includes("?") ? "&" : "?") + "all=true" : path);

export type Moment = { time: string; running: number; waiting: number; memory_committed_bytes: number; judged?: number; not_judged?: number };
export type QueueShare = { key?: string; running: number; waiting: number; waiting_in_background: number; oldest_wait_ns: number };
export type Overview = { time: string; health: Health; queue: QueueShare[]; sessions: number; past?: Moment[] };
export type Bucket = Figures & { start: string; wait_p50_ns: number; wait_p99_ns: number; codes?: Record<string, number> };
export type Series = { since: string; until: string; step_ns: number; buckets: Bucket[] };
export type FailureGroup = {
  code: string; count: number; open: number; first: string; last: string; message: string; keys?: Record<string, number>; run_ids: string[];
  retry_safe: boolean; cause: string; cure: string; acknowledged?: string; acknowledged_by?: string;
};
export type Failures = { total: number; runs: number; failures: FailureGroup[] };
export type LanguageImage = {
  language?: string; version?: string; image: string; stored: boolean; lacks?: string[]; damaged?: boolean; digest?: string; size_bytes?: number;
  created?: string; tier?: string; command?: string;
};
export type Images = { items: LanguageImage[]; room_bytes?: number };
export type Machine = {
  name: string; this?: boolean; pool?: string; state: "up" | "draining" | "gone"; version?: string; slots: number; running: number; cells?: number;
  memory_committed_bytes?: number; memory_ceiling_bytes?: number; load?: number; processors?: number; judged?: number; not_judged?: number;
  kernel?: string; cgroup_mode?: string; languages?: string[]; differs?: string[]; seen?: string; problem?: string;
};
export type KeyUse = {
  name: string; limits: Record<string, number | string | boolean | string[]>; running: number; waiting: number; sessions: number;
  runs_24h: number; not_judged_24h: number; seen?: string;
};
export type AuditEntry = { time: string; by?: string; action: string; subject: string };
export type Installation = {
  settings: { name: string; value: string; from: string }[]; trusted: boolean; unasked?: string[]; problem?: string;
  checks: { name: string; status: "ok" | "warn" | "fail"; found: string; why?: string; cure?: string }[];
};

const kept = 180; // moments: 15 minutes

// useOverview follows what the service does, while the page is seen: a hidden tab asks nothing.
export function useOverview(): { now?: Overview; past: Moment[]; problem?: string } {
  const [state, set] = useState<{ now?: Overview; past: Moment[]; problem?: string }>({ past: [] });
  useEffect(() => {
    let stream: EventSource | undefined, timer = 0, gone = false;
    const end = () => { stream?.close(); stream = undefined; clearTimeout(timer); };
    const again = () => { end(); if (!gone && !document.hidden) timer = window.setTimeout(begin, 5000); };
    const follow = () => {
      if (gone || document.hidden) return;
      stream = new EventSource("/v1/overview/events");
      stream.onerror = again;
      stream.addEventListener("overview", (e) => {
        const now = JSON.parse((e as MessageEvent<string>).data) as Overview, newest = now.past?.[0];
        set((s) => ({ now, past: newest && newest.time !== s.past.at(-1)?.time ? [...s.past, newest].slice(-kept) : s.past }));
      });
    };
    const begin = () => {
      end();
      if (gone || document.hidden) return;
      call<Overview>("/v1/overview").then(
        (now) => { set({ now, past: now.past ?? [] }); follow(); },
        (e: unknown) => { set((s) => ({ ...s, problem: e instanceof Refusal ? e.message : String(e) })); again(); });
    };
    const seen = () => (document.hidden ? end() : begin());
    document.addEventListener("visibilitychange", seen);
    begin();
    return () => { gone = true; end(); document.removeEventListener("visibilitychange", seen); };
  }, []);
  return state;
}

// filled returns one value for each step of a series: zero where no run was.
export function filled(s: Series, of: (b: Bucket) => number): number[] {
  const first = new Date(s.since).getTime(), step = s.step_ns / 1e6, n = Math.max(1, Math.ceil((new Date(s.until).getTime() - first) / step));
  const values = new Array<number>(Math.min(n, 1000)).fill(0);
  for (const b of s.buckets) {
    const at = Math.round((new Date(b.start).getTime() - first) / step);
    if (at >= 0 && at < values.length) values[at] = of(b);
  }
  return values;
}

// stamp writes a time in UTC as month, day and minute.
export const stamp = (iso: string): string => iso.slice(5, 16).replace("T", " ");

// Where a page keeps its choices: in the address.
export function useChoice(name: string, otherwise: string): [string, (v: string) => void] {
  const [value, set] = useState(new URLSearchParams(location.search).get(name) ?? otherwise);
  return [value, (v) => {
    const query = new URLSearchParams(location.search);
    if (v === otherwise) query.delete(name); else query.set(name, v);
    const text = query.toString();
    history.replaceState(null, "", location.pathname + (text ? "?" + text : ""));
    set(v);
  }];
}
