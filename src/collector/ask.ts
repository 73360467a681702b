import type { Reading } from "../domain/reading.ts";
import type { Manager, Step } from "../managers/manager.ts";
import { isUsable } from "./poll-error.ts";
import type { CommandResult } from "./run-command.ts";

/** What came of one step. */
export interface StepAnswer {
  readonly step: Step;
  readonly result: CommandResult;
  /** Null when there is no answer, or one that is not worth parsing. */
  readonly reading: Reading | null;
  /** The time that it had. */
  readonly limitMs: number;
}

/** What came of a query: at least one answer, and the reading that they make together. */
export interface Asked {
  readonly answers: readonly StepAnswer[];
  /** The one that counts: the first usable, else one whose failure says most. */
  readonly deciding: StepAnswer;
  /** Null when no answer is worth parsing. */
  readonly reading: Reading | null;
}

/**
 * Asks the steps of one query in turn, at most `limitMs` for all together. Of members that know the same each gets its
 * share of the time that is left: one that hangs must not keep the others from being asked.
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
    const left = limitMs - (performance.now() - begun);
    if (index > 0 && left < 1) break;
    const answer = await ask(step, until === "all" ? left : left / (steps.length - index));
    answers.push(answer);
    const isGood = answer.reading !== null && isUsable(answer.reading);
    if (until === "first answer" && isGood) return { answers, deciding: answer, reading: answer.reading };
    if (isCalledOff(answer) || (until === "all" && answer.reading === null)) break;
  }
  const [first] = answers;
  if (first === undefined) throw new Error(`${name} has nothing to ask`);
  if (until === "first answer") {
    // A member that says what is wrong says more than one that does not answer.
    const deciding = answers.find(({ reading }) => reading?.errors.some(({ kind }) => kind === "query"));
    const said = deciding ?? answers.find(({ reading }) => reading !== null) ?? first;
    return { answers, deciding: said, reading: said.reading };
  }
  const failed = answers.find(({ reading }) => reading === null || !reading.recognised) ?? first;
  if (steps.length === 1) return { answers, deciding: first, reading: first.reading };
  if (merge === undefined) throw new Error(`${name} has several steps and does not merge their readings`);
  if (answers.every(({ reading }) => reading === null)) return { answers, deciding: failed, reading: null };
  const readings = steps.map((_, index) => answers[index]?.reading ?? missing(name));
  const merged = merge(readings);
  const reading = readings.some(({ cut }) => cut) ? { ...merged, cut: true } : merged;
  return { answers, deciding: failed, reading };
}

function isCalledOff({ result }: StepAnswer): boolean {
  return result.started ? result.aborted : result.failure.reason === "aborted";
}

/** In the place of a step that has no answer: what it would have said is missing. */
function missing(manager: Reading["manager"]): Reading {
  const nothing = { members: [], daemons: [], features: [], errors: [], unparsedLines: 0, unparsed: [] };
  return { manager, reportTime: null, toolVersion: null, ...nothing, cut: true, recognised: false };
}
