import type { FeatureReading, MemberReading, Reading, ToolError } from "../../domain/reading.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import { trimBlanks } from "../scan.ts";
import {
  CLIENT_KEYS,
  type ClientDraft,
  createClientDraft,
  createFeatureDraft,
  FEATURE_KEYS,
  type FeatureDraft,
  readFeature,
} from "./draft.ts";
import {
  ADVICE,
  BANNER,
  CONTACT,
  COPYRIGHT,
  createTimeReader,
  END_MARK,
  errorKind,
  isUnused,
  NO_LICENSE,
  parseEntry,
  type Section,
} from "./lines.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Parser of `lsmon HOST`. Entries `|- Key : value` stand in the section that the last heading without a value opened;
 * indentation means nothing, and neither does the order of the keys.
 *
 * The end of the output. On Windows lsmon ends with `Press Enter to continue . . .`; on Unix with nothing. A text without
 * that mark is known to be cut when its last line has no line end, the last feature lacks its counts or its expiry, the
 * last client lacks its last line, the clients are fewer than the tokens in use, or the server has said nothing at all.
 * What cannot be seen without the mark: a cut between two whole features, or behind the last client of one that shares.
 */
export function createRmsParser({ zone, step }: ParseContext): ReadingParser {
  const features: FeatureDraft[] = [];
  const errors: ToolError[] = [];
  const unparsed = createUnparsed();
  const timeOf = createTimeReader(zone);

  let member: Mutable<MemberReading> | null = null;
  let section: Section | null = null;
  let feature: FeatureDraft | null = null;
  let client: ClientDraft | null = null;
  let toolVersion: string | null = null;
  let recognised = false;
  let cut = false;
  let stray = false;
  /** The server has said something, or why it says nothing. */
  let answered = false;
  let ended = false;
  let lineNumber = 0;

  function memberOf(host: string): Mutable<MemberReading> {
    return { host, port: null, status: "unknown", master: false, version: null, error: null };
  }

  function enter(next: Section): boolean {
    section = next;
    client = null;
    if (next === "feature") {
      feature = createFeatureDraft();
      features.push(feature);
      answered = true;
      if (member !== null) member.status = "up";
      return true;
    }
    // Its feature's heading is missing, and with it whatever stood between.
    if (feature === null) cut = true;
    if (next === "client" || next === "queued") client = addClient(next);
    return next !== "other";
  }

  function addClient(kind: Section): ClientDraft {
    const added = createClientDraft();
    if (kind === "client") feature?.clients.push(added);
    else feature?.queued.push(added);
    return added;
  }

  function takeEntry(line: string): boolean {
    const entry = parseEntry(line);
    if (entry === null) return false;
    if (entry.section !== undefined) return enter(entry.section);
    const { key, value } = entry;
    if (section === null || section === "other" || feature === null) return false;
    // Several clients below one heading.
    if (key === "User name" && client?.user !== undefined) client = addClient(section);
    const own = FEATURE_KEYS.get(key);
    if (own !== undefined && section !== "license") {
      // Below another's entries or a second name: the heading of the feature that it tells of is missing.
      const isOthers = section !== "feature" || (key === "Feature name" && feature.name !== null);
      return !isOthers && own(feature, value, zone);
    }
    const ofClient = client === null ? undefined : CLIENT_KEYS.get(key);
    if (ofClient !== undefined && client !== null) return ofClient(client, value, timeOf);
    // A key of a newer version is told, and nothing that the feature must have is missing for it.
    if (own === undefined && !isUnused(key)) unparsed.add(line, lineNumber);
    return true;
  }

  function takeLoose(text: string): boolean {
    const contact = CONTACT.exec(text)?.[1];
    if (contact !== undefined) {
      member = memberOf(contact);
      return true;
    }
    if (END_MARK.test(text)) {
      ended = true;
      return true;
    }
    if (NO_LICENSE.test(text)) {
      answered = true;
      if (member !== null) member.status = "up";
      return true;
    }
    const version = BANNER.exec(text)?.[1];
    if (version !== undefined) toolVersion ??= version;
    return version !== undefined || ADVICE.test(text) || takeError(text);
  }

  function takeError(message: string): boolean {
    const kind = errorKind(message);
    if (kind === null) return false;
    const error: ToolError = { message, major: null, minor: null, system: null, kind };
    if (step !== undefined) member ??= memberOf(step);
    // The server broke off.
    if (features.length > 0) cut = true;
    if (member === null || member.error !== null) errors.push(error);
    else Object.assign(member, { status: "down", error });
    answered = true;
    section = null;
    return true;
  }

  function take(line: string): void {
    lineNumber++;
    if (takeEntry(line)) {
      recognised = true;
      return;
    }
    const text = trimBlanks(line);
    if (text === "" || COPYRIGHT.test(text)) return;
    if (takeLoose(text)) {
      recognised = true;
      return;
    }
    unparsed.add(line, lineNumber);
    if (section === null || feature === null) stray = true;
    else feature.cut = true;
  }

  /** A last line without line end: whole when its own grammar closes it. */
  function closesItself(rest: string): boolean {
    const text = trimBlanks(rest);
    return text === "" || END_MARK.test(text) || NO_LICENSE.test(text);
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
      const last = features.at(-1);
      const isOpen = last !== undefined && (last.expiry === null || last.clients.at(-1)?.isWhole === false);
      if (truncated || (!ended && isOpen)) markCut();
      if (recognised && !answered) cut = true;
      const members = member === null ? [] : [member];
      return {
        manager: "rms",
        reportTime: null,
        toolVersion,
        members,
        daemons: [],
        features: features.flatMap(read),
        errors: [...members.flatMap(({ error }) => error ?? []), ...errors],
        ...unparsed.read(),
        cut: cut || features.some(({ name }) => name === null),
        ...(stray && { stray: true as const }),
        recognised,
      };
    },
  };
}

/** Nobody can be told of a feature without a name. */
function read(draft: FeatureDraft): FeatureReading[] {
  return draft.name === null ? [] : [readFeature(draft, draft.name)];
}
