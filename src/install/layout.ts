import bash from "../../packaging/completions/bash.txt" with { type: "text" };
import fish from "../../packaging/completions/fish.txt" with { type: "text" };
import zsh from "../../packaging/completions/zsh.txt" with { type: "text" };
import unit from "../../systemd/licmond.service" with { type: "text" };
import sysusers from "../../systemd/licmond.sysusers.conf" with { type: "text" };
import tmpfiles from "../../systemd/licmond.tmpfiles.conf" with { type: "text" };
import trialLines from "../../systemd/licmond.trial.conf" with { type: "text" };
import hubUnit from "../../systemd/licmond-hub.service" with { type: "text" };

/**
 * Where an installation by the administrator lies (file-hierarchy(7), sysusers.d(5), tmpfiles.d(5)): /usr/lib belongs to
 * packages, and /usr/local/lib/sysusers.d is not read by the systemd of every distribution in use; /etc is.
 */
export const LAYOUT = {
  binary: "/usr/local/bin/licmond",
  /** The binary that the last upgrade replaced. */
  previousBinary: "/usr/local/bin/licmond.previous",
  unit: "/etc/systemd/system/licmond.service",
  hubUnit: "/etc/systemd/system/licmond-hub.service",
  sysusers: "/etc/sysusers.d/licmond.conf",
  tmpfiles: "/etc/tmpfiles.d/licmond.conf",
  configDirectory: "/etc/licmond",
  config: "/etc/licmond/licmond.toml",
  /** Root's alone; the tmpfiles make it. */
  secrets: "/etc/licmond/secrets",
  data: "/var/lib/licmond",
  manPage: "/usr/local/share/man/man1/licmond.1",
} as const;

/** The unit, its user and the user's group all have this name. */
export const SERVICE_NAME = "licmond";
export const UNIT_NAME = "licmond.service";
/** Laid down with the other, and started where an administrator enables it. */
export const HUB_UNIT_NAME = "licmond-hub.service";

/** What a copy of the unit has in the place of its own lines while its sandbox is tried. */
export const TRIAL_LINES: string = trialLines;

export interface InstalledText {
  readonly path: string;
  readonly text: string;
  readonly changeBy: string;
}

/** Scripts for shells. */
export const COMPLETIONS: Readonly<Record<string, string>> = { bash, zsh, fish };

const completion = (place: string, text: string): InstalledText => ({
  path: `/usr/local/share/${place}`,
  text,
  changeBy: "put one of your own into your home directory",
});

/**
 * Texts that are installed under a mark, in the order in which they are laid down. `changeBy`: how an administrator changes
 * one without changing the file.
 */
export const TEXTS: readonly InstalledText[] = [
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
  {
    path: LAYOUT.hubUnit,
    text: hubUnit,
    changeBy: "put changes into a drop-in: systemctl edit licmond-hub",
  },
  completion("bash-completion/completions/licmond", bash),
  completion("fish/vendor_completions.d/licmond.fish", fish),
  completion("zsh/site-functions/_licmond", zsh),
];

/** licmond(1); an installed one is known by its mark, whatever its text. */
export const manPageOf = (text: string): InstalledText => ({
  path: LAYOUT.manPage,
  text,
  changeBy: "keep one of your own under another name",
});

/**
 * The first line of a text that licmond installed; the second where zsh wants another one first. Its hash of everything
 * else shows later whether an administrator changed the file, whichever version wrote it.
 */
const MARK = /^(?:#|\.\\") Installed by licmond (\S+); sha256 of the lines below: ([0-9a-f]{64})\.\n/m;

export function withMark(text: string, version: string): string {
  const [first] = /^#compdef .*\n/.exec(text) ?? [""];
  const mark = `${text.startsWith(".") ? '.\\"' : "#"} Installed by licmond ${version}; sha256 of the lines below: ${hashOf(text)}.\n`;
  return first + mark + text.slice(first.length);
}

/**
 * Compares a file's content with the text that we would install: `same` = it says that (with any mark, or with none),
 * `ours` = an earlier version's, untouched; `changed` = ours, edited since; `foreign` = not from us.
 * `outdated`: what we would write now differs from what we wrote then.
 */
export function originOf(content: string, text: string) {
  const mark = MARK.exec(content);
  const [head = "", version = "", hash = ""] = mark ?? [];
  const body = content.replace(head, "");
  if (body === text) return { kind: "same" } as const;
  if (mark === null) return { kind: "foreign" } as const;
  if (hashOf(body) === hash) return { kind: "ours", version } as const;
  return { kind: "changed", version, outdated: hashOf(text) !== hash } as const;
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
