import { MAX_UNPARSED_KEPT, type Reading, type UnparsedLine } from "../domain/reading.ts";

/** Characters kept of a line. */
const MAX_LENGTH = 500;

/** Lines of one output that no rule knew: all are counted, the first are kept. */
export function createUnparsed() {
  const unparsed: UnparsedLine[] = [];
  let unparsedLines = 0;
  return {
    /** `line`: its number, from 1. */
    add(text: string, line: number): void {
      unparsedLines++;
      if (unparsed.length < MAX_UNPARSED_KEPT) unparsed.push({ line, text: text.slice(0, MAX_LENGTH) });
    },
    read: (): Pick<Reading, "unparsedLines" | "unparsed"> => ({ unparsedLines, unparsed }),
  };
}
