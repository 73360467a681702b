import { signal } from "@preact/signals";

/** The daemon was upgraded and serves another page. */
export const isOutdated = signal(false);

/** Requests the document again; the name of its script contains a hash. */
export async function compareVersion(): Promise<void> {
  const own = document.querySelector('script[type="module"]')?.getAttribute("src");
  const answer = await fetch("./", { cache: "no-cache" }).catch(() => null);
  // No answer, or a proxy's: try again when the stream opens.
  if (own && answer?.ok && answer.headers.get("content-type")?.startsWith("text/html"))
    isOutdated.value = !(await answer.text()).includes(own);
}
