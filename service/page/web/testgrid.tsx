// Submissions x tests: the rows that are seen as a table, and all of them as one small picture.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { letters, outcomesOf, result, who, type Submission } from "./grades";
import { Chip } from "./parts";
import { visible } from "./words";

const rowHeight = 32, mostTests = 120; // columns of the table; the picture has all tests

// colours are those of the outcomes, as red, green, blue. All are asked for before one is read: the browser lays the page out
// once.
function colours(): Record<string, [number, number, number]> {
  const found: Record<string, [number, number, number]> = {}, box = document.createElement("div");
  box.style.contain = "strict";
  box.hidden = true;
  const probes = Object.entries(letters).map(([letter, v]) => {
    const probe = document.createElement("i");
    probe.className = "v-" + v;
    probe.style.color = letter === "-" ? "var(--line-2)" : "var(--c)";
    box.append(probe);
    return { letter, probe };
  });
  document.body.append(box);
  const dark = getComputedStyle(document.documentElement).colorScheme.startsWith("dark") || matchMedia("(prefers-color-scheme: dark)").matches;
  const one = new OffscreenCanvas(probes.length, 1).getContext("2d", { willReadFrequently: true })!;
  probes.forEach(({ probe }, i) => {
    one.fillStyle = getComputedStyle(probe).color;
    one.fillRect(i, 0, 1, 1);
  });
  const data = one.getImageData(0, 0, probes.length, 1).data;
  probes.forEach(({ letter }, i) => {
    const pale = letter === "A" ? 0.55 : 0, paper = dark ? 30 : 255; // what went well steps back
    found[letter] = [...data.slice(i * 4, i * 4 + 3)].map((x) => Math.round(x + (paper - x) * pale)) as [number, number, number];
  });
  box.remove();
  return found;
}

// draw paints one dot for each test of each submission, and returns how many milliseconds that took.
export function draw(canvas: HTMLCanvasElement, rows: Submission[], tests: number): number {
  const start = performance.now();
  canvas.width = Math.max(1, tests);
  canvas.height = Math.max(1, rows.length);
  const paint = canvas.getContext("2d")!, image = paint.createImageData(canvas.width, canvas.height);
  const of = new Uint32Array(256), pixels = new Uint32Array(image.data.buffer);
  for (const [l, [r, g, b]] of Object.entries(colours())) of[l.charCodeAt(0)] = (255 << 24) | (b << 16) | (g << 8) | r;
  for (let y = 0; y < rows.length; y++) {
    const text = outcomesOf(rows[y]!);
    for (let x = Math.min(text.length, tests) - 1; x >= 0; x--) pixels[y * tests + x] = of[text.charCodeAt(x) & 255]!;
  }
  paint.putImageData(image, 0, 0);
  return performance.now() - start;
}

export function TestGrid({ rows }: { rows: Submission[] }) {
  const box = useRef<HTMLDivElement>(null), map = useRef<HTMLCanvasElement>(null);
  const [top, scroll] = useState(0), [height, resize] = useState(600);
  const tests = useMemo(() => rows.reduce((n, r) => Math.max(n, outcomesOf(r).length), 0), [rows]);
  const passed = useMemo(() => {
    const n = new Array<number>(tests).fill(0);
    for (const r of rows) {
      const text = outcomesOf(r);
      for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 65) n[i]!++;
    }
    return n;
  }, [rows, tests]);

  useEffect(() => {
    const see = new ResizeObserver(() => resize(box.current!.clientHeight));
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);
  useEffect(() => {
    const took = draw(map.current!, rows, tests);
    map.current!.dataset["took"] = took.toFixed(1);
  }, [rows, tests]);

  const first = Math.max(0, Math.floor(top / rowHeight) - 6), last = Math.min(rows.length, first + Math.ceil(height / rowHeight) + 12);
  const window = last - first || 1; // a row that has left the view is used for one that comes into it
  const columns = Array.from({ length: Math.min(tests, mostTests) }, (_, i) => i);
  const pad = (n: number) => n > 0 && <tr class="pad" aria-hidden="true"><td colSpan={columns.length + 3} style={{ height: n * rowHeight + "px" }} /></tr>;
  return (
    <div class="testgrid">
      <div class="vlist" ref={box} tabIndex={0} role="region" aria-label="Submissions and tests" onScroll={(e) => scroll(e.currentTarget.scrollTop)}>
        <table aria-rowcount={rows.length + 1}>
          <thead><tr><th class="l">Name</th><th class="l">Outcome</th><th class="l">Passed</th>{columns.map((i) => <th title={`test ${i + 1}: passed by ${passed[i]} of ${rows.length}`}>{i + 1}</th>)}</tr></thead>
          <tbody>
            {pad(first)}
            {rows.slice(first, last).map((r, i) => {
              const text = outcomesOf(r);
              return (
                <tr key={(first + i) % window} aria-rowindex={first + i + 2}>
                  <td class="l"><a href={"/ui/runs/" + r.run_id} title={visible(who(r))}>{visible(who(r))}</a></td><td class="l"><Chip v={result(r)} /></td>
                  <td class="l nowrap">{r.summary ? `${r.summary.accepted}/${r.summary.tests}` : ""}</td>
                  {columns.map((t) => { const l = text[t] ?? "-"; return <td class={"o" + (l === "A" || l === "-" ? "" : " f v-" + letters[l])}>{l === "A" ? "·" : l}</td>; })}
                </tr>
              );
            })}
            {pad(rows.length - last)}
          </tbody>
        </table>
      </div>
      <div class="testmap"><span class="xs ink3">all {rows.length} × {tests}</span>
        <canvas ref={map} style={{ "--rows": rows.length }} role="img" aria-label={`${rows.length} submissions, ${tests} tests: a dot for each`} onClick={(e) => {
          const at = e.offsetY / e.currentTarget.clientHeight;
          box.current!.scrollTop = at * rows.length * rowHeight - height / 2;
        }} /></div>
    </div>
  );
}
