/**
 * The first line of a text that licmond installed. Its hash of everything below tells later whether somebody changed
 * it since, whichever version wrote it.
 */
const MARK = /^# Installed by licmond (\S+); sha256 of the lines below: ([0-9a-f]{64})\.\n/;

/** The text under its mark. */
export function withMark(text: string, version: string): string {
  return `# Installed by licmond ${version}; sha256 of the lines below: ${hashOf(text)}.\n${text}`;
}

/**
 * What a file that is there has to do with us: `same` = it says what we would write (with any mark, or with none),
 * `ours` = an earlier version's, untouched; `changed` = ours, and somebody edited it; `foreign` = not from us.
 * `outdated`: what we would write now differs from what we wrote then.
 */
export type Origin =
  | { readonly kind: "same" }
  | { readonly kind: "ours"; readonly version: string }
  | { readonly kind: "changed"; readonly version: string; readonly outdated: boolean }
  | { readonly kind: "foreign" };

/** Judges a file's content against the text that we would install. */
export function originOf(content: string, text: string): Origin {
  const mark = MARK.exec(content);
  const [head = "", version = "", hash = ""] = mark ?? [];
  const body = content.slice(head.length);
  if (body === text) return { kind: "same" };
  if (mark === null) return { kind: "foreign" };
  if (hashOf(body) === hash) return { kind: "ours", version };
  return { kind: "changed", version, outdated: hashOf(text) !== hash };
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
