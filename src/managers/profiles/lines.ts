import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { compile, expressionsOf, type Facts, type LineKind, type Profile } from "../profile.ts";
import { createDraft } from "./draft.ts";

/**
 * Maximum length of a line in characters. Longer lines are not parsed, because some expressions take
 * quadratic time.
 */
const MAX_LINE = 64 * 1024;

/** Called before each expression is tried, to identify an expression that hangs. */
export type Progress = (expression: number, line: number) => void;

interface Rule {
  readonly kind: LineKind;
  readonly expression: RegExp;
  readonly index: number;
}

/** Creates a parser of text lines: tries the expressions of `match` in order, and the first match wins. */
export function linesReader(profile: Profile) {
  const all = expressionsOf(profile).map(({ path, source }) => ({ path, expression: compile(source) }));
  const endIndex = all.findIndex(({ path }) => path[0] === "end");
  const end = all[endIndex]?.expression ?? null;
  const rules = all.flatMap(({ path: [section, kind], expression }, index): Rule[] =>
    section === "match" ? [{ kind: kind as LineKind, expression, index }] : [],
  );

  return function createLinesParser(context: ParseContext, progress: Progress): ReadingParser {
    const draft = createDraft(profile, context);
    let lineNumber = 0;
    let isEnded = end === null;

    function takeEnd(text: string): boolean {
      if (isEnded || end === null) return false;
      progress(endIndex, lineNumber);
      isEnded = end.test(text);
      return isEnded;
    }

    function take(text: string): void {
      lineNumber++;
      if (text.trim() === "") return;
      if (text.length > MAX_LINE || !matches(text)) draft.lose(text, lineNumber);
    }

    function matches(text: string): boolean {
      const isEnd = takeEnd(text);
      for (const { kind, expression, index } of rules) {
        progress(index, lineNumber);
        const hit = expression.exec(text);
        if (hit === null) continue;
        if (kind === "ignore") return true;
        const facts: Facts = hit.groups ?? {};
        const isFailure = kind === "down" || kind === "error";
        const whole = isFailure && facts.error === undefined ? { ...facts, error: text.trim() } : facts;
        return draft.take(kind, whole);
      }
      if (isEnd) draft.recognise();
      return isEnd;
    }

    return {
      line: take,
      finish({ rest, truncated }: OutputEnd) {
        // A last line without line end may be cut, even within a number, so it is ignored.
        const hasRest = rest !== null && rest.trim() !== "";
        return draft.read(truncated || hasRest || !(isEnded || draft.isFailure()));
      },
    };
  };
}
