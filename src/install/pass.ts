import { Database } from "bun:sqlite";
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { type Host, kindOf, must, obstacle } from "./host.ts";

export interface Finding {
  /** Subject of the step: a path on the host, or a command line. */
  readonly subject: string;
  /** `keep` means that the administrator's own file is kept. */
  readonly kind: "nothing" | "do" | "keep" | "refuse";
  readonly words: string;
  readonly advice: string | null;
}

type Apply = () => unknown;

/**
 * One run through the steps of `install`, `upgrade` or `uninstall`. Each command is a plain function that runs twice: the
 * first pass collects changes and refusals, the second one applies the changes.
 */
export type Pass = ReturnType<typeof createPass>;
export type Verb = (pass: Pass) => Promise<void>;

/**
 * Calls `tell` after each step. If `acts` is true, makes the changes, and throws StepError at the first
 * step that fails.
 */
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
    fine: (subject: string, why: string) => note(subject, "nothing", why),
    async change(subject: string, what: string, apply: Apply) {
      await run(subject, apply);
      note(subject, "do", what);
    },
    /** Keeps a file. `beside` writes another file next to it. */
    async keep(subject: string, why: string, advice: string, beside?: Apply) {
      if (beside !== undefined) await run(subject, beside);
      note(subject, "keep", why, advice);
    },
    /** Refuses the step. A single refusal prevents all changes. */
    refuse(subject: string, why: string, fix: string) {
      if (acts) throw new StepError(subject, why);
      note(subject, "refuse", why, fix);
    },
    changed: (subject: string) => found.some((each) => each.subject === subject && each.kind === "do"),
    hasWork: () => work,
  };
}

/** A step failed. Earlier steps stay done; the next run continues from there. */
export class StepError extends Error {
  override readonly name = "StepError";
  constructor(subject: string, why: string, cause?: unknown) {
    super(`${subject}: ${why}`, { cause });
  }
}

export function runStep(pass: Pass, line: string, what: string, timeoutMs?: number): Promise<void> {
  return pass.change(line, what, () => must(pass.run, line, timeoutMs));
}

export function mayWrite(pass: Pass, path: string): boolean {
  const hindered = obstacle(pass, path);
  if (hindered !== null) pass.refuse(path, ...hindered);
  return hindered === null;
}

/** Inspects the path of a regular file. If the path is something else or not writable, refuses and returns null. */
export function fileAt(pass: Pass, path: string): "missing" | "file" | null {
  if (!mayWrite(pass, path)) return null;
  const file = pass.at(path);
  const kind = kindOf(file);
  if (kind === "missing" || kind === "file") return kind;
  const isUnit = path.endsWith(".service");
  const release = isUnit ? "; unmask a masked unit with `systemctl unmask licmond`" : ", and remove the link";
  const fix = kind === "symlink" ? `check its target (readlink)${release}` : "move it away";
  const what = { symlink: "a symbolic link", directory: "a directory", other: "not a regular file" }[kind];
  pass.refuse(path, `${file} is ${what}`, fix);
  return null;
}

/** Returns the path of the lock. On the host it disappears at boot. */
export function lockPath(host: Host): string {
  return host.at(host.root === null ? "/run/licmond-install.db" : "/.licmond-install.db");
}

/**
 * Locks the installation, because two upgrades at once would keep the new binary as the previous one. The
 * lock is a write transaction on an empty database, which the kernel releases when the process ends. The
 * `user_version` of the database is the pid of the `holder`. Processes that the holder starts share its
 * lock, because `upgrade` runs `install` of the new binary. Throws file system errors.
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
