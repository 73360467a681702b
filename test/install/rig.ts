import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host, Ran, Run } from "../../src/install/host.ts";
import { type InstallWanted, install } from "../../src/install/install.ts";
import { LAYOUT } from "../../src/install/layout.ts";
import { createPass, type Finding, type Verb } from "../../src/install/pass.ts";

export type Rig = Awaited<ReturnType<typeof createRig>>;

/** Creates a host in a folder, with real files and simulated programs. */
export async function createRig() {
  const folder = await mkdtemp(join(tmpdir(), "licmond-install-"));
  const at = (path: string) => join(folder, path);
  const ran: string[] = [];
  const service = { active: false, enabled: false };
  const hub = { active: false, enabled: false };
  /** Replaces the result of a command line unless it returns undefined. */
  const answering = { answer: (_line: string): Partial<Ran> | undefined => undefined };
  const run: Run = async (argv) => {
    const line = argv.join(" ").replaceAll(folder, "");
    ran.push(line);
    const fine: Ran = { ok: true, exitCode: 0, stdout: "", words: "" };
    const other = answering.answer(line);
    if (other !== undefined) return { ...fine, ...(other.ok === false && { exitCode: 1 }), ...other };
    if (argv[1] === "version") return { ...fine, stdout: `licmond ${versionIn(argv[0] ?? "")} (abc)\n` };
    if (line.startsWith("systemctl show")) {
      const of = line.endsWith("licmond-hub.service") ? hub : service;
      const [active, enabled] = [of.active ? "active" : "inactive", of.enabled ? "enabled" : "no"];
      const stdout = `ActiveState=${active}\nUnitFileState=${enabled}\nNeedDaemonReload=no\n`;
      return { ...fine, stdout };
    }
    if (line === "systemd-sysusers /etc/sysusers.d/licmond.conf") {
      await write("/etc/passwd", "licmond:x:4711:4712:::\n");
      await write("/etc/group", "licmond:x:4712:\n");
    }
    if (line.startsWith("systemd-tmpfiles --create")) mkdirSync(at(LAYOUT.secrets), { recursive: true });
    return argv[0] === "getent" ? { ...fine, ok: false, exitCode: 2 } : fine;
  };
  const write = async (path: string, text: string) => void (await Bun.write(at(path), text));
  const host: Host = { root: null, uid: process.getuid?.() ?? 0, at, run };
  return Object.assign(answering, {
    folder,
    host,
    /** Command lines in order, with paths of the host. */
    ran,
    /** Command lines that change the host. */
    acted: () => ran.filter((line) => !/^(getent|systemctl show)| version$|check --config-only$/.test(line)),
    service,
    hub,
    write,
    /** Writes a file that passes as a licmond binary. */
    async binary(path: string, version: string) {
      await write(path, `\x7fELF version=${version}; /$bunfs/root/licmond\n---- Bun! ----\n`);
      return at(path);
    },
    read: (path: string) => readFileSync(at(path), "utf8"),
    /** Returns every file with its mode, owner, time and content. */
    tree: () => treeOf(folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  });
}

function versionIn(binary: string): string {
  return /version=([^;]+)/.exec(readFileSync(binary, "latin1"))?.[1] ?? "none";
}

export function treeOf(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return paths.map((path) => {
    const full = join(folder, path);
    const stats = lstatSync(full);
    const { mode, uid, gid, mtimeMs } = stats;
    const link = stats.isSymbolicLink() ? `→ ${readlinkSync(full)}` : "";
    const content = stats.isFile() ? String(Bun.hash(readFileSync(full))) : link;
    return `${mode.toString(8)} ${uid}:${gid} ${mtimeMs} ${path} ${content}`;
  });
}

/**
 * Runs a verb twice: the first pass only looks, the second one acts. If a step refuses, the second pass
 * is skipped. Returns the last findings by subject.
 */
export async function runAll(rig: Rig, verb: Verb): Promise<ReadonlyMap<string, Finding>> {
  const look = createPass(rig.host, false);
  await verb(look);
  const isRefused = look.found.some(({ kind }) => kind === "refuse");
  const last = isRefused ? look : createPass(rig.host, true);
  if (!isRefused) await verb(last);
  return new Map(last.found.map((finding) => [finding.subject, finding]));
}

export async function lookAt(rig: Rig, verb: Verb): Promise<readonly Finding["kind"][]> {
  const look = createPass(rig.host, false);
  await verb(look);
  return look.found.map(({ kind }) => kind);
}

/** Steps of `install` for version 1.2.0. */
export async function steps(rig: Rig, options: Partial<InstallWanted> = {}): Promise<Verb> {
  const binary = await rig.binary(NEW_BINARY, "1.2.0");
  const texts = { configText: "# config\n", manPage: ".TH LICMOND 1\n" };
  const usual = { version: "1.2.0", hasSysusers: true, withoutSystemd: false, start: false };
  return (pass) => install(pass, { binary, ...texts, ...usual, ...options });
}

export const NEW_BINARY = "/download/licmond";
export { LAYOUT };
