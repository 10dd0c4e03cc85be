// Images: which languages can run, how large they are, and the command for what is missing.
import type { Figures } from "../api";
import { useAnswer } from "../load";
import { stamp, useChoice, withAll, type Images as Answer, type LanguageImage } from "../operate";
import { Command, CopyAs, Empty, Head, Icon, Loading, Note } from "../parts";
import { count, size, visible } from "../words";

const week = new Date(Date.now() - 7 * 86400e3).toISOString().slice(0, 19) + "Z";

// state says in words how an image is.
function state(i: LanguageImage): [dot: string, words: string] {
  if (!i.stored) return ["off", "not stored"];
  if (i.damaged) return ["bad", "damaged"];
  if (i.lacks?.length) return ["bad", "too old"];
  return ["good", "ready"];
}

export function Images() {
  const list = useAnswer<Answer>("/v1/images", 5000), used = useAnswer<{ languages: (Figures & { name: string })[] }>(withAll("/v1/stats?since=" + week)).answer;
  const [text, write] = useChoice("q", ""), items = list.answer?.items;
  const shown = items?.filter((i) => [i.language, i.image, state(i)[1]].some((w) => w?.includes(text.toLowerCase().trim()))) ?? [];
  const ready = items?.filter((i) => i.language && state(i)[1] === "ready") ?? [], missing = items?.filter((i) => i.language && state(i)[1] !== "ready") ?? [];
  const disk = [...new Map(items?.map((i) => [i.digest ?? i.image, i.size_bytes ?? 0])).values()].reduce((a, b) => a + b, 0);
  const runs = (name: string | undefined) => used?.languages.find((l) => l.name === name)?.runs ?? 0;
  return (
    <>
      <Head title="Images" info={items && `${ready.length} of ${ready.length + missing.length} languages ready, ${size(disk)} on disk${list.answer?.room_bytes != null ? `, ${size(list.answer.room_bytes)} free` : ""}`} acts={<>
        <div class="search"><Icon name="filter" /><input class="in" data-filter aria-label="Filter languages" placeholder="language or state" spellcheck={false} value={text} onInput={(e) => write(e.currentTarget.value)} /></div>
        <CopyAs path="/v1/images" />
      </>} />
      <div class="body">
        {list.problem && <Note kind="bad" title="The images could not be read">{list.problem}</Note>}
        {items?.filter((i) => i.damaged).map((i) => <Note kind="bad" title={`The image ${visible(i.image)} is damaged`} acts={<Command text={i.command ?? `sudo brig rootfs verify ${i.image}`} />}>Its files are not as they were imported, so its runs are refused.</Note>)}
        {!items ? !list.problem && <Loading /> : shown.length === 0
          ? <Empty icon="box" title="No such language" acts={text ? <button class="btn" type="button" onClick={() => write("")}>Clear the filter</button> : undefined}>brig runs the languages of its manifests. A new one is a file.</Empty>
          : <div class="scroll panel" tabIndex={0} role="region" aria-label="Languages"><table>
            <thead><tr><th>Language</th><th class="md">Version</th><th>State</th><th class="num">Size</th><th class="md">Image</th><th class="lo">Profile</th><th class="num lo">Stored</th><th class="num md">Runs, 7 days</th><th>To store it, as root</th></tr></thead>
            <tbody>{shown.map((i) => {
              const [dot, words] = state(i);
              return (
                <tr key={(i.language ?? "") + i.image}>
                  <td>{i.language ? <b>{visible(i.language)}</b> : <span class="ink3">no language</span>}</td><td class="md">{visible(i.version ?? "")}</td>
                  <td><span class="row"><span class={"dot " + dot} /><span class={words === "ready" ? "nowrap" : "nowrap ink2"} title={i.lacks?.join(", ")}>{words}</span></span></td>
                  <td class="num">{i.size_bytes ? size(i.size_bytes) : <span class="ink3">–</span>}</td>
                  <td class="md mono ink2 short" title={i.digest}>{visible(i.image).slice(0, 40)}</td><td class="lo ink2 nowrap">{i.tier}</td>
                  <td class="num lo ink2">{i.created ? stamp(i.created).slice(0, 5) : ""}</td><td class="num md">{i.language ? count(runs(i.language)) : ""}</td>
                  <td>{i.command ? <Command text={i.command} /> : <span class="ink3 s">there is nothing to do</span>}</td>
                </tr>
              );
            })}</tbody>
          </table></div>}
      </div>
    </>
  );
}

