import type { KeyPath } from "../domain/schema-problems.ts";

/** Something wrong in the config: what is allowed, and what was found where it may be shown. */
export interface Problem {
  /** The config file, or null when the value is not from a file. */
  readonly file: string | null;
  /** The variable of the environment that holds the value; null when the file does. */
  readonly variable: string | null;
  /** 1-based; null when unknown. */
  readonly line: number | null;
  /** `servers[0].interval`; empty when the whole file is meant. */
  readonly path: string;
  readonly message: string;
}

/** A problem before anybody has looked where it stands. */
export interface Finding {
  readonly path: KeyPath;
  readonly message: string;
}

/** `/etc/licmond/licmond.toml:12: servers[0].interval takes …`, one line. */
export function printProblem(problem: Problem): string {
  const place =
    problem.variable !== null
      ? `$${problem.variable}`
      : [problem.file, problem.line].filter((part) => part !== null).join(":");
  return [place, problem.path === "" ? problem.message : `${problem.path} ${problem.message}`]
    .filter((part) => part !== "")
    .join(": ");
}
