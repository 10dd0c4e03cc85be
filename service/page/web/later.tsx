// Pages whose code is loaded when they are opened.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading, Note } from "./parts";

export function Later({ load }: { load: () => Promise<ComponentType> }) {
  const [page, set] = useState<{ Page?: ComponentType; failed?: boolean }>({});
  useEffect(() => {
    let gone = false;
    load().then((Page) => { if (!gone) set({ Page }); }, () => { if (!gone) set({ failed: true }); });
    return () => { gone = true; };
  }, [load]);
  if (page.failed) return <div class="body"><Note kind="bad" title="This part of the page could not be loaded" acts={<button class="btn" type="button" onClick={() => location.reload()}>Load the page again</button>}>The service does not answer, or it has a newer version by now.</Note></div>;
  return page.Page ? <page.Page /> : <Loading />;
}
