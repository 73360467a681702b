import { escapeControls } from "../domain/plain-text.ts";
import { type CommandIo, mayColour } from "./io.ts";

/** Takes findings one by one and prints each as it comes. */
export interface Report {
  fine(what: string, message: string): void;
  warning(what: string, message: string): void;
  /** `fix`: what to do about it; null when the message says so. */
  problem(what: string, message: string, fix: string | null): void;
}

/** Prints on stdout. */
export function createReport(io: CommandIo): Report & { problems(): number } {
  const colour = mayColour(io, "out");
  let problems = 0;
  // Names of the config and words of tools may hold anything.
  const line = (mark: string, paint: string, what: string, message: string) =>
    io.out(`${colour ? `\x1b[${paint}m${mark}\x1b[0m` : mark}  ${escapeControls(`${what}: ${message}`)}\n`);
  return {
    fine: (what, message) => line("ok     ", "32", what, message),
    warning: (what, message) => line("warning", "33", what, message),
    problem(what, message, fix) {
      problems += 1;
      line("PROBLEM", "31", what, message);
      if (fix !== null) io.out(`         fix: ${escapeControls(fix)}\n`);
    },
    problems: () => problems,
  };
}
