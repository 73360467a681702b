import type { PollRaw } from "../domain/poll.ts";
import { emptyReading, type Reading } from "../domain/reading.ts";
import type { Manager, Step } from "../managers/manager.ts";
import { decodeOutput } from "../managers/read-output.ts";
import { isUsable, type StepResult } from "./poll-error.ts";

export interface StepAnswer {
  readonly step: Step;
  readonly result: StepResult;
  /** Null if there is no answer, or none that is worth parsing. */
  readonly reading: Reading | null;
  readonly limitMs: number;
}

/** The answers of a query and the reading merged from them. */
export interface Asked {
  readonly answers: readonly StepAnswer[];
  /** The first usable answer, else the most informative failure. */
  readonly deciding: StepAnswer;
  readonly reading: Reading | null;
}

/**
 * Runs the steps of a query one by one, in at most `limitMs` in total. Each step gets its share of the
 * remaining time, so that a hanging step does not prevent the others.
 */
export async function askInTurn(
  { name, until = "all", merge }: Pick<Manager, "name" | "until" | "merge">,
  steps: readonly Step[],
  limitMs: number,
  ask: (step: Step, limitMs: number) => Promise<StepAnswer>,
): Promise<Asked> {
  const begun = performance.now();
  const answers: StepAnswer[] = [];
  for (const [index, step] of steps.entries()) {
    const left = index === 0 ? limitMs : limitMs - (performance.now() - begun);
    if (index > 0 && left < 1) break;
    const answer = await ask(step, left / (steps.length - index));
    answers.push(answer);
    const isGood = answer.reading !== null && isUsable(answer.reading);
    if (until === "first answer" && answer.reading !== null && isGood) {
      // Also list the members that did not answer.
      const members = answers.flatMap(({ reading }) => reading?.members ?? []);
      return { answers, deciding: answer, reading: { ...answer.reading, members } };
    }
    if (isCancelled(answer) || (until === "all" && answer.reading === null)) break;
  }
  const [first] = answers;
  if (first === undefined) throw new Error(`${name} has nothing to ask`);
  if (until === "first answer") {
    // A member that reports an error is more informative than one that does not answer.
    const deciding = answers.find(({ reading }) => reading?.errors.some(({ kind }) => kind === "query"));
    const said = deciding ?? answers.find(({ reading }) => reading !== null) ?? first;
    return { answers, deciding: said, reading: said.reading };
  }
  const failed = answers.find(isSilent) ?? first;
  if (steps.length === 1) return { answers, deciding: first, reading: first.reading };
  if (merge === undefined) throw new Error(`${name} has several steps and does not merge their readings`);
  if (answers.every(({ reading }) => reading === null)) return { answers, deciding: failed, reading: null };
  const readings = steps.map((_, index) => answers[index]?.reading ?? { ...emptyReading(name), cut: true });
  const merged = merge(readings);
  const isWhole = !answers.some(isSilent) && readings.every(({ cut }) => !cut);
  const reading = isWhole ? merged : { ...merged, cut: true };
  return { answers, deciding: failed, reading };
}

export function isSilent({ reading }: StepAnswer): boolean {
  return reading === null || !reading.recognised;
}

function isCancelled({ result }: StepAnswer): boolean {
  return result.started ? result.aborted : result.failure.reason === "aborted";
}

const NOTHING = new Uint8Array(0);
export const NO_RUN: PollRaw = {
  argv: [],
  exitCode: null,
  signal: null,
  stdout: NOTHING,
  stderr: NOTHING,
  truncated: false,
};

/**
 * Returns the raw output of a query; if it has several steps, each output follows a line that names its
 * step.
 */
export function rawOf({ answers, deciding }: Asked): PollRaw {
  const counting = rawOfStep(deciding);
  if (answers.length === 1) return counting;
  const encoder = new TextEncoder();
  const all = answers.map((answer) => ({ name: answer.step.name, raw: rawOfStep(answer) }));
  const joined = (stream: "stdout" | "stderr") =>
    Buffer.concat(
      all.flatMap(({ name, raw }) => {
        const head = encoder.encode(`==> ${name}: ${raw.argv.join(" ")} (${endOf(raw)})\n`);
        // Invalid UTF-8 would make the other outputs unreadable.
        return stream === "stdout" || raw.stderr.length > 0 ? [head, utf8(raw[stream]), LINE_END] : [];
      }),
    );
  const truncated = all.some(({ raw }) => raw.truncated);
  return { ...counting, stdout: joined("stdout"), stderr: joined("stderr"), truncated };
}

const utf8 = (bytes: Uint8Array) => new TextEncoder().encode(decodeOutput(bytes));
const LINE_END = new Uint8Array([0x0a]);

function rawOfStep({ result }: StepAnswer): PollRaw {
  return result.started ? result : { ...NO_RUN, argv: result.argv };
}

function endOf({ exitCode, signal }: PollRaw): string {
  return signal ?? (exitCode === null ? "no answer" : String(exitCode));
}
