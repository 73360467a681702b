import type { FeatureReading, MemberReading, Reading, ToolError } from "../../domain/reading.ts";
import { trimBlanks } from "../blanks-and-digits.ts";
import { createCopies } from "../copies.ts";
import type { OutputEnd, ParseContext, ReadingParser } from "../manager.ts";
import { createUnparsed } from "../read-output.ts";
import { type Mutable, memberReading, toolError } from "../reading-parts.ts";
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
  isVendorInformation,
  NO_LICENSE,
  parseEntry,
  type Section,
} from "./lines.ts";

/**
 * Parses `lsmon HOST`. Entries `|- Key : value` belong to the section of the last heading, which is an entry without
 * value. Indentation and the order of keys are ignored.
 *
 * On Windows lsmon ends with `Press Enter to continue . . .`; on Unix without a mark. A text without the mark is
 * known to be cut if its last line has no line end, the last feature has no expiry, the last client or license lacks
 * its last line, or nothing was answered. A feature is cut if it or a client lacks an entry, or if its clients
 * hold fewer tokens than are in use. Without the mark, a cut between two complete features, or after the last client
 * of a feature with shared tokens, cannot be detected.
 */
export function createRmsParser({ zone, step }: ParseContext): ReadingParser {
  const features: FeatureDraft[] = [];
  const copies = createCopies<FeatureDraft>();
  const errors: ToolError[] = [];
  const unparsed = createUnparsed();
  const timeOf = createTimeReader(zone);

  let member: Mutable<MemberReading> | null = null;
  let section: Section | null = null;
  let feature: FeatureDraft | null = null;
  let client: ClientDraft | null = null;
  /** Last key of a feature's own entries. The entries of every license end with the same key. */
  let lastOfFeature = "";
  let lastKey = "";
  let toolVersion: string | null = null;
  let recognised = false;
  let cut = false;
  let stray = false;
  let answered = false;
  let ended = false;
  let lineNumber = 0;

  function enter(next: Section): boolean {
    if (section === "feature") lastOfFeature = lastKey;
    section = next;
    lastKey = "";
    client = null;
    if (next === "feature") {
      closeFeature();
      feature = createFeatureDraft();
      answered = true;
      if (member !== null) member.status = "up";
      return true;
    }
    // The feature's heading is missing, so lines after it may be missing too.
    if (feature === null) cut = true;
    if (next === "client" || next === "queued") client = addClient(next);
    return next !== "other";
  }

  function closeFeature(): void {
    if (feature !== null && !copies.isCopy(JSON.stringify([feature.name, feature.version]), feature))
      features.push(feature);
    feature = null;
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
    if (!isVendorInformation(key)) lastKey = key;
    // Several clients may follow one heading.
    if (key === "User name" && client?.user !== undefined) client = addClient(section);
    const own = FEATURE_KEYS.get(key);
    if (own !== undefined && section !== "license") {
      // In another section, or with a second name, the entry belongs to a feature whose heading is missing.
      const isOthers = section !== "feature" || (key === "Feature name" && feature.name !== null);
      return !isOthers && own(feature, value, zone);
    }
    const ofClient = CLIENT_KEYS.get(key);
    // If `client` is null, the client's heading and possibly more lines are missing.
    if (ofClient !== undefined) return client !== null && ofClient(client, value, timeOf);
    // Report keys of newer versions as unparsed. They do not make the feature incomplete.
    if (own === undefined && !isUnused(key)) unparsed.add(line, lineNumber);
    return true;
  }

  function takeLoose(text: string): boolean {
    const contact = CONTACT.exec(text)?.[1];
    if (contact !== undefined) {
      closeFeature();
      section = null;
      member = memberReading(contact, null, "unknown");
      copies.begin(contact);
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
    const error = toolError(message, kind);
    if (step !== undefined) member ??= memberReading(step, null, "unknown");
    // The server stopped in the middle of its answer.
    if (features.length > 0 || feature !== null) cut = true;
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
      const lacksEnd =
        (section === "license" && lastKey !== lastOfFeature) ||
        (feature !== null && (feature.expiry === null || feature.clients.at(-1)?.isWhole === false));
      if (truncated || (!ended && lacksEnd)) markCut();
      closeFeature();
      const endsClients = features.some(({ clients }) => clients.some(({ isWhole }) => isWhole));
      if (recognised && !answered) cut = true;
      const members = member === null ? [] : [member];
      return {
        manager: "rms",
        reportTime: null,
        toolVersion,
        members,
        daemons: [],
        features: features.flatMap((draft) => read(draft, endsClients)),
        errors: [...members.flatMap(({ error }) => error ?? []), ...errors],
        ...unparsed.read(),
        cut: cut || features.some(({ name }) => name === null),
        ...(stray && { stray: true as const }),
        recognised,
      };
    },
  };
}

function read(draft: FeatureDraft, endsClients: boolean): FeatureReading[] {
  return draft.name === null ? [] : [readFeature(draft, draft.name, endsClients)];
}
