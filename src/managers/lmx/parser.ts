import type { CheckoutReading, MemberReading, Reading, ToolError } from "../../domain/reading.ts";
import { createCopies } from "../copies.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import { trimBlanks } from "../scan.ts";
import { createFeatureDraft, daemonsOf, type FeatureDraft, readFeature } from "./draft.ts";
import {
  createTimeReader,
  DENIALS,
  FRAME,
  KEY_TYPE,
  NO_SERVERS,
  parseCounts,
  parseDates,
  parseFeatureLine,
  parseHolder,
  parseShared,
  parseTimes,
  SERVER,
  SERVER_LIST,
  SERVER_VERSION,
  TOOL_VERSION,
  VENDOR,
  XF_ERROR,
} from "./lines.ts";
import { memberOfStep } from "./step-name.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What an error of LM-X means when no answer came. */
const UNREACHABLE = /connect|network|host|respon|time|resolv|reach|available/i;

/**
 * Parser of `lmxendutil -licstat`. Each line says by its first word what it is; indentation means nothing.
 *
 * The end of the output. lmxendutil prints no end mark, so a text is known to be cut when its last line has no line end
 * and does not close itself, a feature lacks its counts, a holder lacks his times, the holders are fewer than the counts
 * say, or a server named last has neither a feature nor an error (unless it is one of a high-availability set). What
 * cannot be seen: a cut between two whole features that leaves out the rest.
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
  /** The last holder, whose further lines may follow. */
  let holder: Mutable<CheckoutReading> | null = null;
  let awaitsTimes = false;
  /** The last server's part, or the list of servers, has said something. */
  let isPartEmpty = true;
  let toolVersion: string | null = null;
  let recognised = false;
  let cut = false;
  let stray = false;
  let lineNumber = 0;

  function memberOf(port: number, host: string): Mutable<MemberReading> {
    const fresh = () =>
      ({ host, port, status: "unknown", master: false, version: null, error: null }) as const;
    return members.getOrInsertComputed(`${port}@${host.toLowerCase()}`, fresh);
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
    const kind = UNREACHABLE.test(message) ? "unreachable" : "query";
    const error: ToolError = { message, major: null, minor: null, system: null, kind };
    // The server broke off.
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
      // The heading of the server that it tells of is missing.
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
      // Its heading may be missing, and with it whatever stood between.
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

  /** Lines that begin with a number. */
  function takeCountLine(text: string): boolean {
    if (feature === null) return false;
    closeHolder();
    const found = parseHolder(text);
    if (found === null) {
      const counts = parseCounts(text);
      if (counts === null) return DENIALS.test(text);
      // A second line of counts would be another feature's, whose heading is missing.
      if (feature.counts !== null) return false;
      feature.counts = counts;
      return true;
    }
    holder = {
      user: found.user,
      host: found.host,
      display: found.address,
      qualifier: null,
      version: null,
      count: found.count,
      handle: null,
      pid: null,
      startedAt: null,
      lingerSeconds: null,
      borrowed: false,
      pool: 0,
    };
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
    // The holder is known all the same.
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

  /** A last line without line end: whole when its own grammar closes it. */
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
      // Of several servers one is enough: only when none answered has the whole query failed.
      const failed = hosts.some(({ status }) => status === "up") ? [] : hosts;
      return {
        manager: "lmx",
        reportTime: null,
        toolVersion,
        members: hosts,
        daemons: daemonsOf(features),
        features: features.map(readFeature),
        errors: [...errors, ...failed.flatMap(({ error }) => (error === null ? [] : [error]))],
        ...unparsed.read(),
        cut,
        ...(stray && { stray: true as const }),
        recognised,
      };
    },
  };
}
