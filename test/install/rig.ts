import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host, Ran, Run } from "../../src/install/host.ts";
import { type InstallWanted, install } from "../../src/install/install.ts";
import { LAYOUT } from "../../src/install/layout.ts";
import { createPass, type Finding, type Verb } from "../../src/install/pass.ts";

export type Rig = Awaited<ReturnType<typeof createRig>>;

/** Make-believe host in a folder: its files are real, its programs are not. */
export async function createRig() {
  const folder = await mkdtemp(join(tmpdir(), "licmond-install-"));
  const at = (path: string) => join(folder, path);
  const ran: string[] = [];
  /** systemd's picture of the service. */
  const service = { active: false, enabled: false };
  const hub = { active: false, enabled: false };
  /** Answers a command line instead of the rig, when it gives something. */
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
    /** Command lines that were run, in order; paths of the folder are shown as the host's. */
    ran,
    /** Those that were no questions. */
    acted: () => ran.filter((line) => !/^(getent|systemctl show)| version$|check --config-only$/.test(line)),
    service,
    hub,
    write,
    /** A file that passes as a licmond of that version; below the folder, named as on the host. */
    async binary(path: string, version: string) {
      await write(path, `\x7fELF version=${version}; /$bunfs/root/licmond\n---- Bun! ----\n`);
      return at(path);
    },
    read: (path: string) => readFileSync(at(path), "utf8"),
    /** Every file with its kind, mode, owner and content: equal when nothing has changed. */
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

/** Looks, and acts when nothing is refused; gives the last findings by subject. */
export async function runAll(rig: Rig, verb: Verb): Promise<ReadonlyMap<string, Finding>> {
  const look = createPass(rig.host, false);
  await verb(look);
  const isRefused = look.found.some(({ kind }) => kind === "refuse");
  const last = isRefused ? look : createPass(rig.host, true);
  if (!isRefused) await verb(last);
  return new Map(last.found.map((finding) => [finding.subject, finding]));
}

/** Only looks. */
export async function lookAt(rig: Rig, verb: Verb): Promise<readonly Finding["kind"][]> {
  const look = createPass(rig.host, false);
  await verb(look);
  return look.found.map(({ kind }) => kind);
}

/** What `install` of 1.2.0 does. */
export async function steps(rig: Rig, options: Partial<InstallWanted> = {}): Promise<Verb> {
  const binary = await rig.binary(NEW_BINARY, "1.2.0");
  const fresh = {
    binary,
    version: "1.2.0",
    configText: "# config\n",
    manPage: ".TH LICMOND 1\n",
    hasSysusers: true,
  };
  return (pass) => install(pass, { ...fresh, withoutSystemd: false, start: false, ...options });
}

export const NEW_BINARY = "/download/licmond";
export { LAYOUT };
