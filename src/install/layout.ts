import bash from "../../packaging/completions/bash.txt" with { type: "text" };
import fish from "../../packaging/completions/fish.txt" with { type: "text" };
import zsh from "../../packaging/completions/zsh.txt" with { type: "text" };
import unit from "../../systemd/licmond.service" with { type: "text" };
import sysusers from "../../systemd/licmond.sysusers.conf" with { type: "text" };
import tmpfiles from "../../systemd/licmond.tmpfiles.conf" with { type: "text" };
import trialLines from "../../systemd/licmond.trial.conf" with { type: "text" };
import hubUnit from "../../systemd/licmond-hub.service" with { type: "text" };

/**
 * Paths of an administrator's installation (file-hierarchy(7), sysusers.d(5), tmpfiles.d(5)). Files are in /etc: /usr/lib
 * belongs to packages, and not every distribution's systemd reads /usr/local/lib/sysusers.d.
 */
export const LAYOUT = {
  binary: "/usr/local/bin/licmond",
  /** Binary that the last upgrade replaced. */
  previousBinary: "/usr/local/bin/licmond.previous",
  unit: "/etc/systemd/system/licmond.service",
  hubUnit: "/etc/systemd/system/licmond-hub.service",
  sysusers: "/etc/sysusers.d/licmond.conf",
  tmpfiles: "/etc/tmpfiles.d/licmond.conf",
  configDirectory: "/etc/licmond",
  config: "/etc/licmond/licmond.toml",
  /** Folder for secrets. It is owned by root and created by tmpfiles. */
  secrets: "/etc/licmond/secrets",
  data: "/var/lib/licmond",
  manPage: "/usr/local/share/man/man1/licmond.1",
} as const;

/** Name of the unit, its user and its group. */
export const SERVICE_NAME = "licmond";
export const UNIT_NAME = "licmond.service";
/** Unit of a hub. It is installed with the other unit, but started only if an administrator enables it. */
export const HUB_UNIT_NAME = "licmond-hub.service";

/** Unit lines that replace the installed ones in the copy that `check` starts. */
export const TRIAL_LINES: string = trialLines;

export interface InstalledText {
  readonly path: string;
  readonly text: string;
  readonly changeBy: string;
}

export const COMPLETIONS: Readonly<Record<string, string>> = { bash, zsh, fish };

const completion = (place: string, text: string): InstalledText => ({
  path: `/usr/local/share/${place}`,
  text,
  changeBy: "use your own in your home directory",
});

/**
 * Texts that are installed with a mark, in this order. `changeBy` explains how to customize a text without
 * changing its file.
 */
export const TEXTS: readonly InstalledText[] = [
  {
    path: LAYOUT.sysusers,
    text: sysusers,
    changeBy: "add your lines to another file in /etc/sysusers.d",
  },
  {
    path: LAYOUT.tmpfiles,
    text: tmpfiles,
    changeBy: "add your lines to another file in /etc/tmpfiles.d",
  },
  { path: LAYOUT.unit, text: unit, changeBy: "use a drop-in: systemctl edit licmond" },
  { path: LAYOUT.hubUnit, text: hubUnit, changeBy: "use a drop-in: systemctl edit licmond-hub" },
  completion("bash-completion/completions/licmond", bash),
  completion("fish/vendor_completions.d/licmond.fish", fish),
  completion("zsh/site-functions/_licmond", zsh),
];

/** Returns licmond(1) as a text to install. An installed page is recognized by its mark. */
export const manPageOf = (text: string): InstalledText => ({
  path: LAYOUT.manPage,
  text,
  changeBy: "keep yours under another name",
});

/**
 * First line of an installed text, or the second line if zsh requires another first line. The hash covers
 * all other lines: it shows whether an administrator changed the file, independent of the version that
 * wrote the file.
 */
const MARK = /^(?:#|\.\\") Installed by licmond (\S+); sha256 of the lines below: ([0-9a-f]{64})\.\n/m;

export function withMark(text: string, version: string): string {
  const [first] = /^#compdef .*\n/.exec(text) ?? [""];
  const mark = `${text.startsWith(".") ? '.\\"' : "#"} Installed by licmond ${version}; sha256 of the lines below: ${hashOf(text)}.\n`;
  return first + mark + text.slice(first.length);
}

/**
 * Compares a file with the text to install: `same` is equal except for the mark, `ours` is an unchanged
 * text of another version, `changed` is a text of licmond that was edited, `foreign` is not a text of
 * licmond. A changed text is `outdated` if the text to install differs from the text that was installed.
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
