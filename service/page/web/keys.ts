// The keyboard: what each page and the whole of them do on a key.
import { useEffect } from "preact/hooks";

export type Key = [keys: string, does: string, act: (e: KeyboardEvent) => void];

export const here = new Set<Key[]>(); // of the pages that are shown

// useKeys adds keys while a page is shown.
export function useKeys(list: Key[]) {
  useEffect(() => {
    here.add(list);
    return () => { here.delete(list); };
  });
}

const typing = (e: KeyboardEvent) => {
  const t = e.target as HTMLElement;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName) || t.isContentEditable || !!t.closest?.(".termbox");
};

// listen answers keys of the whole page: to has the places that g and a letter lead to.
export function listen(to: Record<string, string>, everywhere: Key[], lead: (path: string) => void): () => void {
  let after = "", timer = 0;
  const on = (e: KeyboardEvent) => {
    const all = [...everywhere, ...[...here].flat()];
    const ctrl = (e.ctrlKey || e.metaKey) && !e.altKey;
    const named = (ctrl ? "Ctrl " : "") + (e.key === "Escape" ? "Esc" : e.key.length === 1 ? (ctrl ? e.key.toUpperCase() : e.key) : e.key);
    if (ctrl) {
      const hit = all.find(([k]) => k === named);
      if (hit) { e.preventDefault(); hit[2](e); }
      return;
    }
    if (e.key === "Escape") document.querySelectorAll<HTMLDetailsElement>("details.menu[open]").forEach((d) => { d.open = false; });
    if (e.altKey || typing(e) || document.querySelector("dialog[open]")) return;
    if (after === "g") {
      after = "";
      const path = to[e.key];
      if (path) { e.preventDefault(); lead(path); }
      return;
    }
    if (e.key === "g") {
      after = "g";
      clearTimeout(timer);
      timer = window.setTimeout(() => { after = ""; }, 900);
      return;
    }
    if (e.key === "/") {
      const filter = document.querySelector<HTMLInputElement>("[data-filter]");
      if (filter) { e.preventDefault(); filter.focus(); filter.select(); }
      return;
    }
    const hit = all.find(([k]) => k === named);
    if (hit) { e.preventDefault(); hit[2](e); }
  };
  document.addEventListener("keydown", on);
  return () => { clearTimeout(timer); document.removeEventListener("keydown", on); };
}
