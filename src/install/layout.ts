import unit from "../../systemd/licmond.service" with { type: "text" };
import sysusers from "../../systemd/licmond.sysusers.conf" with { type: "text" };
import tmpfiles from "../../systemd/licmond.tmpfiles.conf" with { type: "text" };
import trialLines from "../../systemd/licmond.trial.conf" with { type: "text" };

/**
 * Where an installation by the administrator lies (file-hierarchy(7), sysusers.d(5), tmpfiles.d(5)): /usr/lib belongs to
 * packages, and /usr/local/lib/sysusers.d is not read by the systemd of every distribution in use; /etc is.
 */
export const LAYOUT = {
  binary: "/usr/local/bin/licmond",
  /** The binary that the last upgrade replaced. */
  previousBinary: "/usr/local/bin/licmond.previous",
  unit: "/etc/systemd/system/licmond.service",
  sysusers: "/etc/sysusers.d/licmond.conf",
  tmpfiles: "/etc/tmpfiles.d/licmond.conf",
  configDirectory: "/etc/licmond",
  config: "/etc/licmond/licmond.toml",
  /** Root's alone; the tmpfiles make it. */
  secrets: "/etc/licmond/secrets",
  data: "/var/lib/licmond",
} as const;

/** The unit, its user and the user's group all have this name. */
export const SERVICE_NAME = "licmond";
export const UNIT_NAME = "licmond.service";

/** What a copy of the unit has in the place of its own lines while its sandbox is tried. */
export const TRIAL_LINES: string = trialLines;

export type InstalledText = (typeof TEXTS)[number];

/**
 * Texts that are installed under a mark, in the order in which they are laid down. `changeBy`: how an administrator changes
 * one without changing the file.
 */
export const TEXTS = [
  {
    path: LAYOUT.sysusers,
    text: sysusers,
    changeBy: "put lines of your own into another file of /etc/sysusers.d",
  },
  {
    path: LAYOUT.tmpfiles,
    text: tmpfiles,
    changeBy: "put lines of your own into another file of /etc/tmpfiles.d",
  },
  { path: LAYOUT.unit, text: unit, changeBy: "put changes into a drop-in: systemctl edit licmond" },
] as const;

/**
 * The first line of a text that licmond installed. By its hash of everything below an administrator's change is known
 * later, whichever version wrote the file.
 */
const MARK = /^# Installed by licmond (\S+); sha256 of the lines below: ([0-9a-f]{64})\.\n/;

export function withMark(text: string, version: string): string {
  return `# Installed by licmond ${version}; sha256 of the lines below: ${hashOf(text)}.\n${text}`;
}

/**
 * Compares a file's content with the text that we would install: `same` = it says that (with any mark, or with none),
 * `ours` = an earlier version's, untouched; `changed` = ours, edited since; `foreign` = not from us.
 * `outdated`: what we would write now differs from what we wrote then.
 */
export function originOf(content: string, text: string) {
  const mark = MARK.exec(content);
  const [head = "", version = "", hash = ""] = mark ?? [];
  const body = content.slice(head.length);
  if (body === text) return { kind: "same" } as const;
  if (mark === null) return { kind: "foreign" } as const;
  if (hashOf(body) === hash) return { kind: "ours", version } as const;
  return { kind: "changed", version, outdated: hashOf(text) !== hash } as const;
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
