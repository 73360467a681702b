import type { MemberReading, ToolError } from "../../domain/reading.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import { memberReading, toolError } from "../reading-parts.ts";
import { createTimes } from "./cells.ts";
import { readCells } from "./csv.ts";
import { createFeatures } from "./features.ts";
import { readHeader, type Table } from "./table.ts";

/** Matches the prompt. An answer, the echo of a command or another prompt may follow in the same line. */
const PROMPT = /^(?:admin ?>[ \t]*)+/;
const ECHO = /^(?:c|connect|quit|getLicenseUsage)\b/i;
const TABLE_ECHO = /^getLicenseUsage\b/i;

const TOOL_VERSION = /^License Administration Tool Version (\S+)/;
const SERVER_VERSION = /^Software version: (\S+)$/;
const READY = /^Ready: (yes|no)\b/;
/** Matches `Server name: lic1   Server id: ABC-1`; a failover cluster prints all three. */
const SERVER_NAME = /^Server names?: (.+?)\s+Server ids?:/;
/** Java prints this on stderr or stdout when it applies our language settings. */
const JAVA = /^Picked up JAVA_TOOL_OPTIONS: /;
/**
 * Lines without useful content. `==> ` precedes each answer in a file with the outputs of several servers.
 */
const KNOWN = /^(?:Build date|Warning): |^(?:Standalone|Failover) mode$|^==> /;

const CANNOT_CONNECT = /^Cannot connect to server (\S+) on port (\d{1,5})/;
const FAILED = /^error\b|\b(?:denied|refused|incorrect|invalid|unknown command|not connected|password)\b/i;
/** A row of `getLicenseUsage` without `-csv`, whose words and dates depend on the language. */
export const TEXT_FORM = /\bmaxReleaseNumber:/;

/**
 * Maximum number of lines of a row with a quoted cell. If the cell does not end by then, its opening quote
 * is treated as stray.
 */
const MAX_LINES_OF_ROW = 16;

/**
 * Parses `getLicenseUsage -csv`. The table begins with the line that names its columns.
 *
 * A tool that prompts before the table also prompts after the table; if the second prompt is missing, the
 * text is cut. On stdin, some versions print a single prompt. Such a text is known to be cut if its last
 * line has no line end or the rows of users do not add up. A cut between two sets of licenses cannot be
 * detected.
 */
export function createDslsParser({ zone, step }: ParseContext): ReadingParser {
  const unparsed = createUnparsed();
  const features = createFeatures(createTimes(zone));
  const errors: ToolError[] = [];
  let state: "top" | "table" | "end" = "top";
  let table: Table | null = null;
  let toolVersion: string | null = null;
  let serverVersion: string | null = null;
  let names: readonly string[] = [];
  let ready: boolean | null = null;
  const unreachable: MemberReading[] = [];
  let isPrompted = false;
  let isCut = false;
  let isLost = false;
  let isStray = false;
  /** Lines of a row whose quoted cell is not closed yet. The last of these lines is number `lineNumber`. */
  let open: string[] = [];
  let lineNumber = 0;

  function reject(text: string, line = lineNumber): void {
    unparsed.add(text, line);
    isStray = true;
  }

  function fail(message: string, kind: ToolError["kind"]): ToolError {
    const error = toolError(message, kind);
    errors.push(error);
    return error;
  }

  function takeRow(text: string, last: number): void {
    const another = open.length === 0 ? (table?.sameSet(text) ?? null) : null;
    if (another !== null && features.add(another)) return;
    const whole = open.length === 0 ? text : [...open, text].join("\n");
    const cells = readCells(whole);
    if (cells === "open") {
      open.push(text);
      if (open.length > MAX_LINES_OF_ROW) giveUpRow(last);
      return;
    }
    const line = last - open.length;
    open = [];
    const row = cells === null ? null : (table?.row(cells, whole.includes('"') ? null : whole) ?? null);
    if (row !== null && features.add(row)) return;
    isLost = true;
    if (row === null) reject(whole, line);
    else unparsed.add(whole, line);
  }

  /** Treats the opening quote as stray: rejects its line and reads the other lines as rows. */
  function giveUpRow(last: number): void {
    const [first = "", ...others] = open;
    open = [];
    reject(first, last - others.length);
    isLost = true;
    for (const [index, text] of others.entries()) takeRow(text, last - others.length + 1 + index);
  }

  function takeWords(text: string): void {
    const connect = CANNOT_CONNECT.exec(text);
    if (JAVA.test(text) || KNOWN.test(text)) return;
    if (TOOL_VERSION.test(text)) toolVersion = TOOL_VERSION.exec(text)?.[1] ?? null;
    else if (SERVER_VERSION.test(text)) serverVersion = SERVER_VERSION.exec(text)?.[1] ?? null;
    else if (READY.test(text)) ready = READY.exec(text)?.[1] === "yes";
    else if (SERVER_NAME.test(text)) names = SERVER_NAME.exec(text)?.[1]?.split(/\s+/) ?? [];
    else if (connect !== null) {
      const [message, host = "", port] = connect;
      unreachable.push(
        memberReading(host, Number(port), "down", serverVersion, fail(message, "unreachable")),
      );
    } else if (TEXT_FORM.test(text)) {
      if (!errors.some(({ message }) => TEXT_FORM.test(message))) fail(text, "query");
    } else if (FAILED.test(text)) fail(text, "query");
    else reject(text);
  }

  /** A server that is ready but returns no table has an unknown status. */
  function members(hasTable: boolean): MemberReading[] {
    const at = step?.lastIndexOf("@") ?? -1;
    const asked =
      step === undefined || at === -1 ? null : { host: step.slice(at + 1), port: Number(step.slice(0, at)) };
    if (ready === null && !hasTable) return unreachable.map((member) => ({ ...member, ...asked }));
    const status = ready === false ? "down" : hasTable ? "up" : "unknown";
    const error = ready === false ? fail("Ready: no", "query") : null;
    if (asked !== null) return [memberReading(asked.host, asked.port, status, serverVersion, error)];
    // The text does not show which server of a cluster answered.
    const own = names.length === 1 ? status : "unknown";
    const named = names.map((host) => memberReading(host, null, own, serverVersion, error));
    return [...unreachable, ...named.filter(({ host }) => !unreachable.some((one) => one.host === host))];
  }

  function take(line: string): void {
    lineNumber++;
    const text = line.replace(PROMPT, "");
    const isPrompt = text.length < line.length;
    if (state === "table" && !isPrompt) {
      if (open.length > 0 || (line.trim() !== "" && !JAVA.test(line))) takeRow(line, lineNumber);
      return;
    }
    if (state === "table") endTable(lineNumber - 1);
    const words = text.trim();
    if (state === "top") {
      table = readHeader(words);
      if (isPrompt && (table !== null || TABLE_ECHO.test(words))) isPrompted = true;
      if (table !== null) {
        state = "table";
        return;
      }
    }
    if (words !== "" && !(isPrompt && ECHO.test(words))) takeWords(words);
  }

  const isInTable = () => state === "table";

  function endTable(last: number): void {
    while (open.length > 0) giveUpRow(last);
    state = "end";
  }

  return {
    line: take,
    finish({ rest, truncated }: OutputEnd) {
      const wasTable = isInTable();
      // Inside the table, do not parse a line without line end, because the row may be cut.
      if (rest !== null && (!wasTable || PROMPT.test(rest))) take(rest);
      else if (rest !== null) isCut = true;
      if (truncated || (isInTable() && (isPrompted || open.length > 0 || !wasTable))) isCut = true;
      if (isInTable()) endTable(lineNumber);
      const hasTable = state !== "top";
      const found = members(hasTable);
      if (!hasTable && errors.length === 0) isCut = true;
      if (isCut) features.cutLast();
      return {
        manager: "dsls",
        reportTime: null,
        toolVersion,
        members: found,
        daemons: [],
        // A server that is not ready grants no licenses.
        features: ready === false ? [] : features.read(),
        errors,
        ...unparsed.read(),
        cut: isCut || isLost,
        ...(isStray && { stray: true as const }),
        recognised: hasTable || errors.length > 0,
      };
    },
  };
}
