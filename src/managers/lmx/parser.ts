import type { CheckoutReading, MemberReading, Reading, ToolError } from "../../domain/reading.ts";
import { trimBlanks } from "../blanks-and-digits.ts";
import { createCopies } from "../copies.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import { checkoutReading, daemonUp, type Mutable, memberReading, toolError } from "../reading-parts.ts";
import {
  createFeatureDraft,
  createTimeReader,
  DENIALS,
  type FeatureDraft,
  FRAME,
  KEY_TYPE,
  NO_SERVERS,
  parseCounts,
  parseDates,
  parseFeatureLine,
  parseHolder,
  parseShared,
  parseTimes,
  readFeature,
  SERVER,
  SERVER_LIST,
  SERVER_VERSION,
  TOOL_VERSION,
  VENDOR,
  XF_ERROR,
} from "./lines.ts";
import { memberOfStep } from "./step-name.ts";

const UNREACHABLE = /connect|network|host|respon|time|resolv|reach|available/i;

/**
 * Parses `lmxendutil -licstat`. A line is recognized by its first word; indentation is ignored.
 *
 * lmxendutil prints no end mark. A text is known to be cut if its last line has no line end and is incomplete, a
 * feature has no counts, a holder has no times, the holders are fewer than the counts, or the last server has neither
 * a feature nor an error (unless it belongs to a high-availability set). A cut between two complete features cannot
 * be detected.
 */
export function createLmxParser({ zone, step }: ParseContext): ReadingParser {
  const members = new Map<string, Mutable<MemberReading>>();
  const features: FeatureDraft[] = [];
  const copies = createCopies<FeatureDraft>();
  const errors: ToolError[] = [];
  const unparsed = createUnparsed();
  const timeOf = createTimeReader(zone);
  const asked = step === undefined ? null : memberOfStep(step);

  let member: Mutable<MemberReading> | null = null;
  let feature: FeatureDraft | null = null;
  let holder: Mutable<CheckoutReading> | null = null;
  let awaitsTimes = false;
  /** True if no line has followed the heading of the last server's part, or of the list of servers. */
  let isPartEmpty = true;
  let toolVersion: string | null = null;
  let recognised = false;
  let cut = false;
  let stray = false;
  let lineNumber = 0;

  function memberOf(port: number, host: string): Mutable<MemberReading> {
    return members.getOrInsertComputed(`${port}@${host.toLowerCase()}`, () =>
      memberReading(host, port, "unknown"),
    );
  }

  function closeHolder(): void {
    if (awaitsTimes && feature !== null) feature.cut = true;
    holder = null;
    awaitsTimes = false;
  }

  function closeFeature(): void {
    closeHolder();
    if (feature?.counts === null) feature.cut = true;
    feature = null;
  }

  function addError(message: string, failed: Mutable<MemberReading> | null): true {
    const error = toolError(message, UNREACHABLE.test(message) ? "unreachable" : "query");
    // An error inside a feature means that the server stopped in the middle of its answer.
    if (feature !== null) cut = true;
    closeFeature();
    if (failed === null) errors.push(error);
    else Object.assign(failed, { status: "down", error });
    isPartEmpty = false;
    return true;
  }

  function takeServerLine(text: string): boolean {
    const server = SERVER.exec(text);
    if (server !== null) {
      closeFeature();
      member = memberOf(Number(server[1]), server[2] ?? "");
      copies.begin(`${member.port}@${member.host}`);
      isPartEmpty = true;
      return true;
    }
    const version = SERVER_VERSION.exec(text)?.[1];
    if (version !== undefined) {
      if (member === null || member.error !== null) cut = true;
      else Object.assign(member, { status: "up", version });
      return true;
    }
    if (XF_ERROR.test(text)) return addError(text, member);
    if (SERVER_LIST.test(text)) {
      closeFeature();
      member = null;
      isPartEmpty = true;
      return true;
    }
    if (!NO_SERVERS.test(text)) return VENDOR.test(text);
    return addError(text, asked === null ? member : memberOf(asked.port, asked.host));
  }

  function takeFeatureLine(text: string): boolean {
    const head = parseFeatureLine(text);
    if (head !== null) {
      closeFeature();
      // The server's heading is missing, so lines after it may be missing too.
      if (member === null) cut = true;
      else member.status = "up";
      feature = createFeatureDraft(head);
      if (!copies.isCopy(JSON.stringify(head), feature)) features.push(feature);
      isPartEmpty = false;
      return true;
    }
    if (feature === null) return false;
    const keyType = KEY_TYPE.exec(text)?.[1];
    const expiry = keyType === undefined ? parseDates(text, zone) : null;
    if (keyType !== undefined) feature.keyType = keyType;
    if (expiry !== null) feature.expiry = expiry;
    return keyType !== undefined || expiry !== null;
  }

  function takeCountLine(text: string): boolean {
    if (feature === null) return false;
    closeHolder();
    const found = parseHolder(text);
    if (found === null) {
      const counts = parseCounts(text);
      if (counts === null) return DENIALS.test(text);
      // A second line of counts belongs to another feature, whose heading is missing.
      if (feature.counts !== null) return false;
      feature.counts = counts;
      return true;
    }
    const { user, host, address: display, count } = found;
    holder = checkoutReading({ user, host, display, count, pool: 0 });
    feature.checkouts.push(holder);
    awaitsTimes = true;
    return true;
  }

  function takeHolderLine(text: string): boolean {
    if (holder === null) return false;
    const shared = parseShared(text);
    if (shared !== undefined) {
      holder.qualifier = shared ?? holder.qualifier;
      return true;
    }
    const times = parseTimes(text);
    if (times === null) return false;
    awaitsTimes = false;
    if (times.borrowed) holder.borrowed = true;
    if (times.startedAt === null) return true;
    holder.startedAt = timeOf(times.startedAt);
    // Keep the holder, but report the line as unparsed.
    if (holder.startedAt === null) unparsed.add(text, lineNumber);
    return true;
  }

  function takeLoose(text: string): boolean {
    const version = TOOL_VERSION.exec(text)?.[1];
    if (version !== undefined) toolVersion ??= version;
    return version !== undefined;
  }

  function take(line: string): void {
    lineNumber++;
    const text = trimBlanks(line);
    if (text === "" || FRAME.test(text)) return;
    const first = text.charCodeAt(0);
    const isNumber = first >= 0x30 && first <= 0x39;
    const known = isNumber
      ? takeCountLine(text)
      : takeHolderLine(text) || takeFeatureLine(text) || takeServerLine(text) || takeLoose(text);
    if (known) {
      recognised = true;
      return;
    }
    unparsed.add(line, lineNumber);
    if (feature === null) stray = true;
    else feature.cut = true;
  }

  function closesItself(rest: string): boolean {
    const text = trimBlanks(rest);
    return text === "" || parseCounts(text) !== null || NO_SERVERS.test(text) || /^XF Error: .*!$/.test(text);
  }

  function markCut(): void {
    cut = true;
    if (feature !== null) feature.cut = true;
  }

  return {
    line: take,
    finish({ rest, truncated }: OutputEnd): Reading {
      if (rest !== null && closesItself(rest)) take(rest);
      else if (rest !== null) markCut();
      if (truncated || awaitsTimes || feature?.counts === null) markCut();
      closeFeature();
      const servesNothing = asked?.several === true && member?.status === "up";
      if (recognised && isPartEmpty && !servesNothing) cut = true;
      const hosts = [...members.values()];
      const isAnswered = hosts.some(({ status }) => status === "up");
      return {
        manager: "lmx",
        reportTime: null,
        toolVersion,
        members: hosts,
        // An LM-X server runs one or more vendors and prints no state for them.
        daemons: [...new Set(features.map(({ head }) => head.vendor))].map((name) => daemonUp(name, null)),
        features: features.map(readFeature),
        // Errors of single servers are errors of the query only if no server answered.
        errors: [...errors, ...(isAnswered ? [] : hosts.flatMap(({ error }) => error ?? []))],
        ...unparsed.read(),
        cut,
        ...(stray && { stray: true as const }),
        recognised,
      };
    },
  };
}
