import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { locate } from "../../collector/tool.ts";
import type { Environment } from "../../config/environment.ts";
import { codeOf } from "../../domain/error-code.ts";
import { lastWords, type Run } from "../../install/host.ts";
import { TRIAL_LINES } from "../../install/layout.ts";
import { type CommandIo, wholeStdin } from "../io.ts";
import type { Need, UnitNeeds } from "./unit-needs.ts";

/** Question that the copy of the unit answers inside its sandbox. */
export interface Question extends UnitNeeds {
  readonly port: number;
}

export type Answer = ReturnType<typeof answerTo>;

export interface Trial extends Answer {
  property(name: string): string;
}

/**
 * Starts a copy of the unit that only answers the question, and removes it. `lines` are added to the copy
 * as a drop-in. Throws with systemd's message if the copy does not start, because then the service would
 * not start either.
 */
export async function tryUnit(unit: string, lines: readonly string[], question: Question, run: Run) {
  const folder = await mkdtemp("/run/licmond-check-");
  const name = `${basename(folder)}.service`;
  const file = `/run/systemd/system/${name}`;
  const [asked, answered] = [join(folder, "question"), join(folder, "answer")];
  try {
    // The service's user must reach the binary in this folder. systemd itself opens the question and the answer.
    await chmod(folder, 0o711);
    const mode = 0o600;
    await writeFile(asked, JSON.stringify(question), { mode });
    await writeFile(answered, "", { mode });
    const binary = await reachableBinary(unit, folder);
    const own = [...binary.lines, `StandardInput=file:${asked}`, `StandardOutput=file:${answered}`];
    const exec = `ExecStart=${binary.path} check --trial`;
    const text = [serviceLines(unit), TRIAL_LINES, ...own, ...lines, exec];
    await writeFile(file, `# Created and removed by licmond check.\n${text.join("\n")}\n`, { mode });
    // Do not start the service's dependencies for a check.
    const { ok, words } = await run(["systemctl", "start", "--job-mode=ignore-dependencies", name]);
    const said = await readFile(answered, "utf8");
    if (!ok || said === "") throw new Error(whyNot((await lastWords(run, name)) || words, name));
    const { stdout } = await run(["systemctl", "show", name]);
    return {
      ...(JSON.parse(said) as Answer),
      property: (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(stdout)?.[1] ?? "",
    };
  } finally {
    await rm(file, { force: true });
    await rm(folder, { recursive: true, force: true });
    // Otherwise a failed copy stays in the list of failed units.
    await run(["systemctl", "reset-failed", name]);
  }
}

/** Returns systemd's message about the unit, without the unit's name. */
function whyNot(words: string, name: string): string {
  const said = words.split("\n").flatMap((line) => line.split(`${name}: `)[1] ?? []);
  return said.filter((line) => !line.startsWith("Failed with result")).join("; ") || words;
}

/**
 * Returns the [Service] sections of `systemctl cat`. Leaves out [Unit], which may name units to start on
 * failure.
 */
function serviceLines(unit: string): string {
  let section = "";
  const kept = unit.split("\n").filter((line) => {
    const header = /^\[(\w+)\]\s*$/.exec(line)?.[1];
    if (header !== undefined) section = header;
    return header === undefined && section === "Service";
  });
  return ["[Service]", ...kept].join("\n");
}

/**
 * Returns the path of a binary that the sandbox can run. This is the unit's own binary, or a bind mount of
 * the running one, at a place that the sandbox does not hide.
 */
async function reachableBinary(unit: string, folder: string): Promise<{ path: string; lines: string[] }> {
  if (unit.includes(`=${process.execPath} `)) return { path: process.execPath, lines: [] };
  const path = join(folder, "licmond");
  await writeFile(path, "", { mode: 0o755 });
  return { path, lines: [`BindReadOnlyPaths=${process.execPath}:${path}`, `ExecPaths=${path}`] };
}

/** Answers the question on stdin. This is `check --trial`, which the copy of the unit runs. */
export async function answerTrial(io: CommandIo): Promise<void> {
  const question = JSON.parse(new TextDecoder().decode(await wholeStdin(io))) as Question;
  io.out(JSON.stringify(answerTo(question, io.env)));
}

export function answerTo({ files, credentials, port }: Question, env: Environment) {
  const given = env.CREDENTIALS_DIRECTORY ?? "";
  const shown = Object.entries(env).filter(([name]) => name === "PATH" || name.startsWith("LICMOND_"));
  const found = (names: readonly string[]) => names.map((name) => locate(name, env.PATH ?? "")).find(Boolean);
  const names = credentials.map(({ name }) => name);
  return {
    files: files.map(({ path, names, access, places, isNew }) => ({
      /** System error code, `NOT_IN_PATH` for a program that is not found, or null if the file is usable. */
      error: errorOf(names.length === 0 ? path : (found(names) ?? null), access, isNew),
      places: places.map(identityOf),
    })),
    missing: names.filter((name) => given === "" || !existsSync(join(given, name))),
    mayListen: mayListen(port),
    environment: Object.fromEntries(shown.map(([name, value]) => [name, value ?? ""])),
    noNewPrivileges: /^NoNewPrivs:\s*1$/m.test(readFileSync("/proc/self/status", "utf8")),
  };
}

/** Returns device and inode, which show whether the file is the host's, or the error code. */
export function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    return codeOf(error);
  }
}

function errorOf(path: string | null, access: Need["access"], isNew: boolean): string | null {
  if (path === null) return "NOT_IN_PATH";
  try {
    // O_NONBLOCK: opening a pipe would wait for its writer.
    if (access === "read") closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    else if (access === "run") accessSync(path, constants.X_OK);
    else accessSync(isNew ? nearest(path) : path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)));

/**
 * Reports whether the process may listen on a privileged port (below 1024). A port in use counts as
 * allowed, because another check looks for it.
 */
function mayListen(port: number): boolean {
  if (port === 0 || port >= 1024) return true;
  try {
    Bun.listen({ hostname: "0.0.0.0", port, socket: { data() {} } }).stop(true);
    return true;
  } catch (error) {
    return codeOf(error) !== "EACCES";
  }
}
