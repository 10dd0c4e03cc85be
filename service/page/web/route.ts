// Which page the address names.
import { signal } from "@preact/signals";

export const address = signal(location.pathname);

// go shows another page of brig without loading anything again.
export function go(to: string) {
  history.pushState(null, "", to);
  address.value = location.pathname;
  scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

addEventListener("popstate", () => { address.value = location.pathname; });
document.addEventListener("click", (e) => {
  const a = (e.target as HTMLElement).closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin || !a.pathname.startsWith("/ui/") || e.defaultPrevented || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  if (a.pathname === location.pathname && a.search === location.search && a.hash) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
});
