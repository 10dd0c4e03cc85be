// Answers of the API for a page, and whether the page is seen.
import { useEffect, useState } from "preact/hooks";
import { call, Refusal } from "./api";

// useAnswer asks for path, and again every so many milliseconds while the page is seen: a hidden tab asks nothing.
// path null: nothing is asked.
export function useAnswer<T>(path: string | null, every = 0): { answer?: T; problem?: string; again: () => void } {
  const [state, set] = useState<{ path: string | null; answer?: T; problem?: string }>({ path });
  const [turn, next] = useState(0);
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer = 0;
    const ask = () => {
      if (document.hidden) return;
      call<T>(path, { signal: stop.signal }).then(
        (answer) => set({ path, answer }),
        (e: unknown) => { if (!stop.signal.aborted) set((s) => ({ ...s, path, problem: e instanceof Refusal ? e.message : String(e) })); },
      ).finally(() => {
        if (every && !stop.signal.aborted) timer = window.setTimeout(ask, every);
      });
    };
    const seen = () => { if (!document.hidden && every) { clearTimeout(timer); ask(); } };
    document.addEventListener("visibilitychange", seen);
    ask();
    return () => { stop.abort(); clearTimeout(timer); document.removeEventListener("visibilitychange", seen); };
  }, [path, every, turn]);
  const own = state.path === path ? state : {};
  return { ...own, again: () => next((n) => n + 1) };
}
