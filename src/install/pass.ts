import { Database } from "bun:sqlite";
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { type Host, kindOf, must, obstacle } from "./host.ts";

/** What one step found or did. */
export interface Finding {
  /** A path on the host, or a command line. */
  readonly subject: string;
  /** `keep`: the administrator's own file stays. */
  readonly kind: "nothing" | "do" | "keep" | "refuse";
  readonly words: string;
  /** What the administrator can do about it. */
  readonly advice: string | null;
}

type Apply = () => unknown;

/**
 * One walk through the steps of `install`, `upgrade` or `uninstall` on a host. Each verb is a plain function that is
 * walked twice: the first pass only looks, and collects what would change and what is refused; the second pass acts.
 */
export type Pass = ReturnType<typeof createPass>;
export type Verb = (pass: Pass) => Promise<void>;

/** Calls `tell` with each step when it is done. An acting pass throws StepError at the first step that fails. */
export function createPass(host: Host, acts: boolean, tell: (finding: Finding) => void = () => {}) {
  const found: Finding[] = [];
  let work = false;
  const note = (subject: string, kind: Finding["kind"], words: string, advice: string | null = null) => {
    const finding = { subject, kind, words, advice };
    found.push(finding);
    tell(finding);
  };
  const run = async (subject: string, apply: Apply) => {
    work = true;
    if (!acts) return;
    try {
      await apply();
    } catch (error) {
      throw new StepError(subject, messageOf(error), error);
    }
  };
  return {
    ...host,
    found,
    /** Everything is as it should be. */
    fine: (subject: string, why: string) => note(subject, "nothing", why),
    async change(subject: string, what: string, apply: Apply) {
      await run(subject, apply);
      note(subject, "do", what);
    },
    /** `beside` lays something beside the file that stays. */
    async keep(subject: string, why: string, advice: string, beside?: Apply) {
      if (beside !== undefined) await run(subject, beside);
      note(subject, "keep", why, advice);
    },
    /** Nothing at all is changed while one step refuses. */
    refuse(subject: string, why: string, fix: string) {
      if (acts) throw new StepError(subject, why);
      note(subject, "refuse", why, fix);
    },
    /** This pass has changed the subject, or would have. */
    changed: (subject: string) => found.some((each) => each.subject === subject && each.kind === "do"),
    /** Some step has something to do. */
    hasWork: () => work,
  };
}

/** A step that failed half-way. What was done before it stays done; a second run goes on from there. */
export class StepError extends Error {
  override readonly name = "StepError";
  constructor(subject: string, why: string, cause?: unknown) {
    super(`${subject}: ${why}`, { cause });
  }
}

/** A step that is a command line. */
export function runStep(pass: Pass, line: string, what: string, timeoutMs?: number): Promise<void> {
  return pass.change(line, what, () => must(pass.run, line, timeoutMs));
}

/** Whether something can be written at a path of the host; refuses when not. */
export function mayWrite(pass: Pass, path: string): boolean {
  const hindered = obstacle(pass, path);
  if (hindered !== null) pass.refuse(path, ...hindered);
  return hindered === null;
}

/** What lies where a regular file belongs; null when nothing can be written there or something else lies there: refused. */
export function fileAt(pass: Pass, path: string): "missing" | "file" | null {
  if (!mayWrite(pass, path)) return null;
  const file = pass.at(path);
  const kind = kindOf(file);
  if (kind === "missing" || kind === "file") return kind;
  const isUnit = path.endsWith(".service");
  const release = isUnit
    ? "; a masked unit is let go by `systemctl unmask licmond`"
    : ", and remove the link";
  const [what, fix] =
    kind === "symlink"
      ? ["a symbolic link", `look where it leads (readlink)${release}`]
      : [kind === "directory" ? "a directory" : "not a regular file", "move it away"];
  pass.refuse(path, `${file} is ${what}`, fix);
  return null;
}

/** On the host it is gone with the next boot; below a root it lies where nothing is looked for. */
export function lockPath(host: Host): string {
  return host.at(host.root === null ? "/run/licmond-install.db" : "/.licmond-install.db");
}

/**
 * Makes one process the only one to change an installation: two upgrades at once would keep the new binary as the
 * previous one. The lock is a write transaction on an empty database, which the kernel drops with the process; its
 * `user_version` is the id of the `holder`, and what the holder itself has started (`upgrade` runs the new binary's
 * `install`) works under its lock. Throws the system's error when the file cannot be written.
 */
export function lockInstallation(path: string, parent = process.ppid) {
  mkdirSync(dirname(path), { recursive: true });
  const lock = new Database(path, { create: true });
  try {
    lock.run(`PRAGMA user_version = ${process.pid}`);
    lock.run("BEGIN IMMEDIATE");
  } catch (error) {
    const isHeld = codeOf(error) === "SQLITE_BUSY";
    const holder = isHeld
      ? lock.query<{ pid: number }, []>("SELECT user_version AS pid FROM pragma_user_version").get()?.pid
      : 0;
    lock.close();
    if (!isHeld) throw error;
    return holder === parent ? { release() {} } : { holder: holder ?? 0 };
  }
  return {
    release() {
      rmSync(path, { force: true });
      lock.close();
    },
  };
}
