/** licmond on a machine, as `systemctl`, `journalctl` and `curl` show it. */

import { join } from "node:path";
import { buildDeb, type DebArchitecture } from "../../scripts/lib/release/deb.ts";
import { parseMomentOfWeek } from "../../src/domain/time/clock.ts";
import { aheadFor } from "../../src/simulator/calendar.ts";
import type { Machine } from "./machine.ts";
import { until } from "./machine.ts";

export const ROOT = join(import.meta.dir, "../..");
/** The built binary: `scripts/test --systemd` makes it. */
export const BINARY = join(ROOT, "dist/licmond");
/** Where `licmond install` puts it; the Debian package has it in /usr/bin. */
const BINARY_INSIDE = "/usr/local/bin/licmond";
export const CONFIG = "/etc/licmond/licmond.toml";
/** Of the services in tests: the default. */
export const PORT = 8080;

/** The built binary in root's home, as after a download. */
export async function download(machine: Machine): Promise<void> {
  await machine.copyIn(BINARY, "/root/licmond", 0o755);
}

/** The Debian package of a binary for the machine, made in a folder of the host. */
export async function packageOf(
  machine: Machine,
  binary: string,
  version: string,
  folder: string,
): Promise<string> {
  const licenses = Bun.spawnSync([binary, "version", "--licenses"]).stdout.toString();
  const architecture = (await machine.sh("dpkg --print-architecture")) as DebArchitecture;
  const made = { root: ROOT, binary, licenses, version, architecture, folder } as const;
  return buildDeb({ ...made, epoch: 1_700_000_000, compression: "none" });
}

/** A `[[servers]]` entry whose tool is licmond's own simulation of the server of this name. */
export function serverToml(id: string, tool = simulator("--server", id)): string {
  const argv = JSON.stringify(tool);
  return `[[servers]]\nid = "${id}"\nmanager = "flexnet"\naddress = "27000@lic-${id}"\ntool = ${argv}\n`;
}

/** A server at which people work whenever the test runs. */
export const BUSY = simulator(`--ahead=${aheadFor("UTC", Date.now(), parseMomentOfWeek("Wed 11:00"))}`);

export function simulator(...options: string[]): string[] {
  return [BINARY_INSIDE, "simulate", "flexnet", ...options, "--timezone", "UTC"];
}

/** Writes the config as an editor would: the file stays the same, and so do its owner and mode. */
export async function configure(machine: Machine, toml: string): Promise<void> {
  await machine.write("/root/config.edited", `${toml}\n`);
  await machine.sh(`cat /root/config.edited > ${CONFIG}`);
}

/** Downloaded, installed and configured; not started. */
export async function installed(machine: Machine, toml: string): Promise<void> {
  const hosts = [...toml.matchAll(/27000@(lic-\w+)/g)].map(([, host]) => host);
  await machine.sh(`echo 127.0.0.1 ${hosts.join(" ")} >>/etc/hosts`);
  await download(machine);
  await machine.sh("./licmond install");
  await configure(machine, toml);
}

/** An administrator who tries things out meets the limit of starts a minute; a test does not wait for it. */
export async function restart(machine: Machine): Promise<void> {
  await machine.sh("systemctl reset-failed licmond; systemctl restart licmond");
}

/** A drop-in of the unit, taken up by the manager. An empty text takes it away. */
export async function dropIn(machine: Machine, name: string, text: string): Promise<void> {
  const path = `/etc/systemd/system/licmond.service.d/${name}.conf`;
  if (text === "") await machine.sh(`rm -f ${path}`);
  else await machine.write(path, `${text}\n`);
  await machine.sh("systemctl daemon-reload");
}

/** Properties of the unit, as `systemctl show` has them. */
export async function show<Name extends string>(
  machine: Machine,
  ...names: readonly Name[]
): Promise<Record<Name, string>> {
  const lines = (await machine.sh(`systemctl show licmond -p ${names.join(",")}`)).split("\n");
  const values = new Map(lines.map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]));
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? ""])) as Record<Name, string>;
}

export async function mainPid(machine: Machine): Promise<number> {
  return Number((await show(machine, "MainPID")).MainPID);
}

export interface JournalEntry {
  readonly MESSAGE: string;
  /** `0` (emergency) to `7` (debug). */
  readonly PRIORITY: string;
  readonly _COMM?: string;
}

/** What the journal has of the unit: the service's own lines, and what systemd said of it. */
export async function journal(machine: Machine, since: string | null = null): Promise<JournalEntry[]> {
  const after = since === null ? "" : ` --after-cursor='${since}'`;
  const text = await machine.sh(`journalctl --sync; journalctl -u licmond -o json --no-pager${after}`);
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as JournalEntry);
}

/** Where the journal stands: what comes later is `journal(machine, mark)`. */
export async function mark(machine: Machine): Promise<string> {
  const text = await machine.sh("journalctl --sync; journalctl -n 1 -o cat --show-cursor --no-pager");
  const cursor = /^-- cursor: (.*)$/m.exec(text)?.[1];
  if (cursor === undefined) throw new Error(`the journal has no cursor:\n${text}`);
  return cursor;
}

export interface Answer<Body> {
  readonly status: number;
  /** As the caller expects it to be; null when it is not JSON. */
  readonly json: Body | null;
}

/** One request from within the machine; status 0 when nobody listens. */
export async function get<Body = unknown>(
  machine: Machine,
  path: string,
  key?: string,
  options = "",
): Promise<Answer<Body>> {
  const header = key === undefined ? "" : `-H 'X-API-Key: ${key}'`;
  const format = "-w '\\n%{http_code}'";
  const { stdout } = await machine.run(
    `curl -sS --max-time 60 ${header} ${options} ${format} 'http://127.0.0.1:${PORT}${path}' 2>/dev/null`,
  );
  const end = stdout.lastIndexOf("\n");
  const text = stdout.slice(0, end);
  const status = Number(stdout.slice(end + 1));
  return { status, json: /^[{[]/.test(text) ? (JSON.parse(text) as Body) : null };
}

/** A fresh key, made as the README says. */
export async function createKey(machine: Machine, role: string, name = `test-${role}`): Promise<string> {
  return machine.sh(`licmond keys create --name ${name} --role ${role}`);
}

/** Version of the process that answers. */
export const runningVersion = async (machine: Machine, key: string) =>
  (await get<{ version: string }>(machine, "/api/status", key)).json?.version;

/** What a purge has left anywhere on the machine. */
export const leftOvers = (machine: Machine) =>
  machine.sh(
    "find / -xdev -name '*licmond*' -not -path '/root/*' -not -path '/proc/*' -not -path '/run/*' -not -path '/var/log/*'",
  );

/** Of every session that it has seen. */
export async function sessionIds(machine: Machine, key: string): Promise<number[]> {
  const path = "/api/licenses/sessions?limit=10000";
  const { json } = await get<{ sessions: { id: number }[] }>(machine, path, key);
  return (json?.sessions ?? []).map(({ id }) => id);
}

/** Waits until every server of the config was read; their ids. */
export async function allRead(machine: Machine, key: string, ids: readonly string[]): Promise<void> {
  await until(`${ids.join(", ")} were read`, async () => {
    const { json } = await get<{ servers: { id: string; state: string }[] }>(
      machine,
      "/api/licenses/servers",
      key,
    );
    const read = (json?.servers ?? []).filter(({ state }) => state === "ok").map(({ id }) => id);
    return read.toSorted().join() === [...ids].sort().join() || undefined;
  });
}
