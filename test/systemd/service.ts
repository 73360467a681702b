/** Helpers for licmond on a machine, through `systemctl`, `journalctl` and `curl`. */

import { join } from "node:path";
import { buildDeb, type DebArchitecture } from "../../scripts/lib/release/deb.ts";
import { parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { aheadFor } from "../../src/simulator/calendar.ts";
import { type Machine, until } from "./machine.ts";

export const ROOT = join(import.meta.dir, "../..");
/** Path of the binary. `scripts/test --systemd` creates it. */
export const BINARY = join(ROOT, "dist/licmond");
/** Path of the binary on the machine, as `licmond install` chooses it; the Debian package uses /usr/bin. */
const BINARY_INSIDE = "/usr/local/bin/licmond";
export const CONFIG = "/etc/licmond/licmond.toml";
export const PORT = 8080;

/** Puts the built binary into root's home. */
export const download = (machine: Machine) => machine.copyIn(BINARY, "/root/licmond", 0o755);

/** Builds the Debian package of a binary in a folder of the host. */
export async function packageOf(machine: Machine, binary: string, version: string, folder: string) {
  const licenses = Bun.spawnSync([binary, "version", "--licenses"]).stdout.toString();
  const architecture = (await machine.sh("dpkg --print-architecture")) as DebArchitecture;
  const made = { root: ROOT, binary, licenses, version, architecture, folder } as const;
  return buildDeb({ ...made, epoch: 1_700_000_000, compression: "none" });
}

/** Returns a `[[servers]]` entry whose tool is licmond's simulation of the server `id`. */
export function serverToml(id: string, tool = simulator("--server", id)): string {
  const argv = JSON.stringify(tool);
  return `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@lic-${id}"\ntool = ${argv}\n`;
}

/** A simulated server with users at any time of day. */
export const BUSY = simulator(`--ahead=${aheadFor("UTC", Date.now(), parseMomentOfWeek("Wed 11:00"))}`);

function simulator(...options: string[]): string[] {
  return [BINARY_INSIDE, "simulate", "flexnet", ...options, "--timezone", "UTC"];
}

/** Writes the config in place, so its owner and mode stay. */
export async function configure(machine: Machine, toml: string): Promise<void> {
  await machine.write("/root/config.edited", `${toml}\n`);
  await machine.sh(`cat /root/config.edited > ${CONFIG}`);
}

/** Installs and configures licmond without starting it. */
export async function installed(machine: Machine, toml: string): Promise<void> {
  const hosts = [...toml.matchAll(/27000@(lic-\w+)/g)].map(([, host]) => host);
  await machine.sh(`echo 127.0.0.1 ${hosts.join(" ")} >>/etc/hosts`);
  await download(machine);
  await machine.sh("./licmond install");
  await configure(machine, toml);
}

/** Restarts the service. Resets the start limit first, so the test does not wait for it. */
export const restart = (machine: Machine) =>
  machine.sh("systemctl reset-failed licmond; systemctl restart licmond");

/** Writes a drop-in of the unit and reloads systemd. An empty text removes it. */
export async function dropIn(machine: Machine, name: string, text: string): Promise<void> {
  const path = `/etc/systemd/system/licmond.service.d/${name}.conf`;
  if (text === "") await machine.sh(`rm -f ${path}`);
  else await machine.write(path, `${text}\n`);
  await machine.sh("systemctl daemon-reload");
}

export async function show<Name extends string>(
  machine: Machine,
  ...names: readonly Name[]
): Promise<Record<Name, string>> {
  const lines = (await machine.sh(`systemctl show licmond -p ${names.join(",")}`)).split("\n");
  const values = new Map(lines.map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]));
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? ""])) as Record<Name, string>;
}

export const mainPid = async (machine: Machine) => Number((await show(machine, "MainPID")).MainPID);

/** `PRIORITY` is `0` (emergency) to `7` (debug). */
type JournalEntry = { readonly MESSAGE: string; readonly PRIORITY: string; readonly _COMM?: string };

/** Returns the journal of the unit: lines of the service and of systemd about it. */
export async function journal(machine: Machine, since: string | null = null): Promise<JournalEntry[]> {
  const after = since === null ? "" : ` --after-cursor='${since}'`;
  const text = await machine.sh(`journalctl --sync; journalctl -u licmond -o json --no-pager${after}`);
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as JournalEntry);
}

/** Returns the current position in the journal, for `journal(machine, mark)`. */
export async function mark(machine: Machine): Promise<string> {
  const text = await machine.sh("journalctl --sync; journalctl -n 1 -o cat --show-cursor --no-pager");
  const cursor = /^-- cursor: (.*)$/m.exec(text)?.[1];
  if (cursor === undefined) throw new Error(`the journal has no cursor:\n${text}`);
  return cursor;
}

/** Sends a request from inside the machine; status 0 if the connection is refused, `json` null for other bodies. */
export async function get<Body = unknown>(machine: Machine, path: string, key = "") {
  const curl = "curl -sS --max-time 60 -w '\\n%{http_code}'";
  const { stdout } = await machine.run(
    `${curl} -H 'X-API-Key: ${key}' 'http://127.0.0.1:${PORT}${path}' 2>/dev/null`,
  );
  const end = stdout.lastIndexOf("\n");
  const text = stdout.slice(0, end);
  const status = Number(stdout.slice(end + 1));
  return { status, json: /^[{[]/.test(text) ? (JSON.parse(text) as Body) : null };
}

export const createKey = (machine: Machine, role: string) =>
  machine.sh(`licmond keys create --name test-${role} --role ${role}`);

export const runningVersion = async (machine: Machine, key: string) =>
  (await get<{ version: string }>(machine, "/api/status", key)).json?.version;

export const leftOvers = (machine: Machine) =>
  machine.sh(
    "find / -xdev -name '*licmond*' -not -path '/root/*' -not -path '/proc/*' -not -path '/run/*' -not -path '/var/log/*'",
  );

export async function sessionIds(machine: Machine, key: string): Promise<number[]> {
  const path = "/api/licenses/sessions?limit=10000";
  const { json } = await get<{ sessions: { id: number }[] }>(machine, path, key);
  return (json?.sessions ?? []).map(({ id }) => id);
}

/** Waits until every configured server has been read. */
export async function allRead(machine: Machine, key: string, ids: readonly string[]): Promise<void> {
  await until(`${ids.join(", ")} were read`, async () => {
    type Servers = { servers: { id: string; state: string }[] };
    const { json } = await get<Servers>(machine, "/api/licenses/servers", key);
    const read = (json?.servers ?? []).filter(({ state }) => state === "ok").map(({ id }) => id);
    return read.toSorted().join() === [...ids].sort().join() || undefined;
  });
}
