import { type Host, kindOf, obstacle } from "./host.ts";

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
 * One walk through the steps of `install`, `upgrade` or `uninstall`. Each verb is a plain function that is walked twice:
 * the first pass only looks, and collects what would change and what is refused; the second pass acts.
 */
export interface Pass {
  readonly found: readonly Finding[];
  /** Everything is as it should be. */
  fine(subject: string, why: string): void;
  change(subject: string, what: string, apply: Apply): Promise<void>;
  /** `beside` lays something beside the file that stays. */
  keep(subject: string, why: string, advice: string, beside?: Apply): Promise<void>;
  /** Nothing at all is changed while one step refuses. */
  refuse(subject: string, why: string, fix: string): void;
  /** This pass has changed the subject, or would have. */
  changed(subject: string): boolean;
  /** Some step has something to do. */
  hasWork(): boolean;
}

export type Verb = (pass: Pass) => Promise<void>;

/** `tell` hears of each step when it is done. An acting pass throws StepError at the first step that fails. */
export function createPass(acts: boolean, tell: (finding: Finding) => void = () => {}): Pass {
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
      throw new StepError(subject, error instanceof Error ? error.message : String(error), error);
    }
  };
  return {
    found,
    fine: (subject, why) => note(subject, "nothing", why),
    async change(subject, what, apply) {
      await run(subject, apply);
      note(subject, "do", what);
    },
    async keep(subject, why, advice, beside) {
      if (beside !== undefined) await run(subject, beside);
      note(subject, "keep", why, advice);
    },
    refuse(subject, why, fix) {
      if (acts) throw new StepError(subject, why);
      note(subject, "refuse", why, fix);
    },
    changed: (subject) => found.some((each) => each.subject === subject && each.kind === "do"),
    hasWork: () => work,
  };
}

/** A step that failed half-way. What was done before it stays done; a second run goes on from there. */
export class StepError extends Error {
  constructor(subject: string, why: string, cause?: unknown) {
    super(`${subject}: ${why}`, { cause });
    this.name = "StepError";
  }
}

/** Whether something can be written at a path of the host; refuses when not. */
export function mayWrite(pass: Pass, host: Host, path: string): boolean {
  const hindered = obstacle(host, path);
  if (hindered !== null) pass.refuse(path, hindered.why, hindered.fix);
  return hindered === null;
}

/** Whether a regular file lies where one belongs; refuses when it is something else. */
export function isFile(pass: Pass, host: Host, path: string): boolean {
  const file = host.at(path);
  const kind = kindOf(file);
  const release = path.endsWith(".service")
    ? "; a masked unit is let go by `systemctl unmask licmond`"
    : ", and remove the link";
  if (kind === "symlink")
    pass.refuse(path, `${file} is a symbolic link`, `look where it leads (readlink)${release}`);
  else if (kind === "directory") pass.refuse(path, `${file} is a directory`, "move it away");
  else if (kind !== "file") pass.refuse(path, `${file} is not a regular file`, "move it away");
  return kind === "file";
}
