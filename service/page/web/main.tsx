// The page of brig: what the address names, in the frame that all pages share.
import "@xterm/xterm/css/xterm.css";
import "./style.css";
import "./grading.css";
import { render, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { here, listen, type Key } from "./keys";
import { useAnswer } from "./load";
import type { Health } from "./api";
import { Later } from "./later";
import { admin } from "./operate";
import { Empty, Head, Icon } from "./parts";
import { Batches } from "./pages/batches";
import { Detail } from "./pages/detail";
import { Run } from "./pages/run";
import { Runs } from "./pages/runs";
import { SessionPage, Sessions } from "./pages/sessions";
import { address, go } from "./route";

const rejudge = (id: string) => () => import("./pages/rejudge").then((m) => () => <m.RejudgePage id={id} />);
const rejudgeOf = new Map<string, ReturnType<typeof rejudge>>();
const oneRejudge = (id: string) => rejudgeOf.get(id) ?? (rejudgeOf.set(id, rejudge(id)), rejudgeOf.get(id)!);

const nav: [string, [path: string, name: string, icon: string, key: string][]][] = [
  ["Work", [["/ui/", "Run", "play", "e"], ["/ui/runs", "Runs", "list", "r"], ["/ui/grading", "Grading", "grid", "g"], ["/ui/batches", "Batches", "batch", "b"], ["/ui/sessions", "Sessions", "term", "s"]]],
  ["Operate", [["/ui/system", "System", "gauge", "y"], ["/ui/machines", "Machines", "server", "m"], ["/ui/errors", "Errors", "wrench", "x"], ["/ui/images", "Images", "box", "i"],
    ...(admin ? [["/ui/keys", "Keys", "key", "k"] as [string, string, string, string]] : [])]],
];
// Pages that are loaded when they are opened.
const later: Record<string, () => Promise<ComponentType>> = {
  "/ui/batches/compare": () => import("./pages/compare").then((m) => m.Compare),
  "/ui/errors": () => import("./pages/errors").then((m) => m.Errors),
  "/ui/grading": () => import("./pages/grading").then((m) => m.Grading),
  "/ui/images": () => import("./pages/images").then((m) => m.Images),
  "/ui/keys": () => import("./pages/keys").then((m) => m.Keys),
  "/ui/machines": () => import("./pages/machines").then((m) => m.Machines),
  "/ui/rejudge": () => import("./pages/rejudge").then((m) => m.Rejudges),
  "/ui/system": () => import("./pages/system").then((m) => m.System),
};
const root = document.documentElement;

function flip() {
  const dark = root.dataset["theme"] ? root.dataset["theme"] === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset["theme"] = dark ? "light" : "dark";
  try { localStorage.setItem("brig-theme", root.dataset["theme"]!); } catch { /* a private window */ }
}

function view(path: string) {
  const [, run] = /^\/ui\/runs\/([^/]+)$/.exec(path) ?? [], [, session] = /^\/ui\/sessions\/([^/]+)$/.exec(path) ?? [];
  if (run) return <Detail key={run} id={decodeURIComponent(run)} />;
  const [, again] = /^\/ui\/rejudge\/([^/]+)$/.exec(path) ?? [];
  if (again) return <Later key={again} load={oneRejudge(decodeURIComponent(again))} />;
  if (session) return <SessionPage key={session} id={decodeURIComponent(session)} />;
  if (later[path]) return <Later key={path} load={later[path]} />;
  switch (path) {
    case "/ui/": return <Run />;
    case "/ui/runs": return <Runs />;
    case "/ui/batches": return <Batches />;
    case "/ui/sessions": return <Sessions />;
    default: return <><Head title="Not here" /><Empty icon="search" title="There is no such page" acts={<a class="btn main" href="/ui/">Run a program</a>}>The address may have been cut.</Empty></>;
  }
}

function Links({ path, after }: { path: string; after?: () => void }) {
  return (
    <nav class="nav" aria-label="Pages">
      {nav.map(([group, pages]) => <><h2>{group}</h2>{pages.map(([to, name, icon, key]) => (
        <a href={to} title={"g " + key} aria-current={path === to || (to !== "/ui/" && path.startsWith(to + "/")) ? "page" : undefined} onClick={after}><Icon name={icon} />{name}</a>
      ))}</>)}
      <h2>Learn</h2><a href="/docs/" target="_blank" rel="noopener"><Icon name="book" />API reference</a>
    </nav>
  );
}

function App() {
  const path = address.value, [help, showHelp] = useState(false), [pages, showPages] = useState(false);
  const health = useAnswer<Health>("/health", 5000), h = health.answer;
  useEffect(() => {
    const keys: Key[] = [["t", "dark or light", flip], ["?", "this list", () => showHelp(true)]];
    return listen(Object.fromEntries(nav.flatMap(([, p]) => p.map(([to, , , key]) => [key, to]))), keys, go);
  }, []);
  useEffect(() => {
    document.title = (nav.flatMap(([, p]) => p).find(([to]) => to === path || (to !== "/ui/" && path.startsWith(to + "/")))?.[1] ?? "brig") + " - brig";
  }, [path]);

  const well = !health.problem && h?.status === "ok";
  const line = health.problem ? "no answer" : !h ? "" : h.capacity === undefined ? h.status : `${h.status}, ${h.agent?.leased ?? 0} of ${h.capacity} slots, ${h.queued ?? 0} waiting`;
  return (
    <>
      <a class="skip" href="#main">To the content</a>
      <header class="topbar"><a class="brand" href="/ui/"><Icon name="brand" />brig</a>
        <div class="acts"><button class="btn bare icon" type="button" aria-label="Dark or light" onClick={flip}><Icon name="sun" /></button><button class="btn bare icon" type="button" aria-label="Pages" onClick={() => showPages(true)}><Icon name="menu" /></button></div>
      </header>
      <div class="shell">
        <aside class="side" aria-label="Pages and status">
          <a class="brand" href="/ui/"><Icon name="brand" />brig</a>
          <Links path={path} />
          <div class="foot">
            <a class="line" href="/ui/system"><span class={"dot " + (well ? "good" : h || health.problem ? "bad" : "off")} /><span class="cut">{line}</span></a>
            {root.dataset["caller"] && <div class="line"><Icon name="user" /><span class="cut">{root.dataset["caller"]}</span></div>}
            <div class="mini">
              <button class="btn bare icon" type="button" aria-label="Dark or light" title="Dark or light" onClick={flip}><Icon name="sun" /></button>
              <button class="btn bare icon" type="button" aria-label="Keyboard" title="Keyboard" onClick={() => showHelp(true)}><Icon name="help" /></button>
              {root.hasAttribute("data-keys") && <form method="post" action="/ui/logout"><button class="btn bare icon" type="submit" aria-label="Log out" title="Log out"><Icon name="ext" /></button></form>}
            </div>
          </div>
        </aside>
        <main id="main" tabIndex={-1}>{view(path)}</main>
      </div>
      {help && <Dialog title="Keyboard" close={() => showHelp(false)}><Help /></Dialog>}
      {pages && <Dialog title="Pages" close={() => showPages(false)}><Links path={path} after={() => showPages(false)} /></Dialog>}
    </>
  );
}

function Help() {
  const rows = (list: [string, string][]) => <dl>{list.map(([k, n]) => <><dt>{k.split(" ").map((x) => <><kbd>{x}</kbd>{" "}</>)}</dt><dd>{n}</dd></>)}</dl>;
  const page = [...here].flat().map(([k, n]) => [k, n] as [string, string]);
  return (
    <div class="keys">
      <div><h3>Everywhere</h3>{rows([["/", "filter"], ["?", "this list"], ["t", "dark or light"], ["Esc", "close, stop"]])}</div>
      {page.length > 0 && <div><h3>On this page</h3>{rows(page)}</div>}
      <div><h3>Go to</h3>{rows(nav.flatMap(([, p]) => p.map(([, name, , key]) => ["g " + key, name] as [string, string])))}</div>
    </div>
  );
}

function Dialog({ title, close, children }: { title: string; close: () => void; children: preact.ComponentChildren }) {
  return (
    <dialog aria-label={title} ref={(d) => { if (d && !d.open) d.showModal(); }} onClose={close} onClick={(e) => { if (e.target === e.currentTarget) e.currentTarget.close(); }}>
      <div class="dh"><h2>{title}</h2><button class="btn bare icon" type="button" aria-label="Close" onClick={(e) => e.currentTarget.closest("dialog")!.close()}><Icon name="x" /></button></div>
      <div class="db">{children}</div>
    </dialog>
  );
}

try {
  const theme = localStorage.getItem("brig-theme");
  if (theme) root.dataset["theme"] = theme;
} catch { /* a private window */ }
const linked = () => import("./pages/linked").then((m) => m.Linked);
render(root.hasAttribute("data-linked") ? <Later load={linked} /> : <App />, document.getElementById("root")!);
