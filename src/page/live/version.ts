import { signal } from "@preact/signals";

/** The daemon serves another page than this one: it was upgraded meanwhile. */
export const isOutdated = signal(false);

/** Asks for the document again; the name of its script carries a hash of what is in it. */
export async function compareVersion(): Promise<void> {
  const own = document.querySelector('script[type="module"]')?.getAttribute("src");
  const answer = await fetch("./", { cache: "no-cache" }).catch(() => null);
  // Nothing answers, or a proxy does: the next time the stream opens will tell.
  if (own && answer?.ok && answer.headers.get("content-type")?.startsWith("text/html"))
    isOutdated.value = !(await answer.text()).includes(own);
}
