import type { Host } from "../install/host.ts";
import { LAYOUT, UNIT_NAME } from "../install/layout.ts";
import { serviceState } from "../install/service.ts";

interface Installed {
  readonly withoutSystemd: boolean;
  readonly started: boolean;
  /** The caller's $PATH. */
  readonly path: string;
}

/** What an administrator does after an installation. */
export async function nextSteps(host: Host, { withoutSystemd, started, path }: Installed): Promise<string> {
  if (host.root !== null)
    return `Installed below ${host.root}. The system inside gives out the directories when it boots. What it needs besides:
  systemd-sysusers --root=${host.root} licmond.conf    makes the user; a system that never booted does it by itself
  systemctl --root=${host.root} enable licmond         starts the service at every boot
`;
  // sudo's own $PATH does not have /usr/local/bin on every distribution.
  const licmond = path.split(":").includes("/usr/local/bin") ? "licmond" : LAYOUT.binary;
  const key = `${licmond} keys create --name admin --role admin`;
  if (withoutSystemd)
    return list([
      ["name your license servers", `sudoedit ${LAYOUT.config}`],
      ["see what is still wrong", `${licmond} check`],
      ["run it", `${licmond} serve`],
      ["make the first key", key],
    ]);
  const { isActive } = await serviceState(host.run);
  const verb = !isActive
    ? `systemctl enable --now ${UNIT_NAME}`
    : started
      ? "systemctl reload licmond"
      : "systemctl restart licmond";
  return list([
    ["name your license servers", `sudoedit ${LAYOUT.config}`],
    ["see what is still wrong", `sudo ${licmond} check`],
    [isActive ? "let it take effect" : "start it, now and at boot", `sudo ${verb}`],
    ["make the first key", `sudo ${key}`],
  ]);
}

function list(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([what]) => what.length)) + 2;
  return `\nNext:\n${lines.map(([what, how], index) => `  ${index + 1}. ${`${what}:`.padEnd(width)} ${how}\n`).join("")}`;
}
