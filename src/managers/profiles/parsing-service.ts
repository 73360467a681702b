import { messageOf } from "../../domain/error-code.ts";
import { createKnownHosts, type ParseContext, type ReadingParser, type TextParser } from "../manager.ts";
import type { Profile } from "../profile.ts";
import { readOutputSync } from "../read-output.ts";
import { createXfParser, jsonReader } from "./json-and-xml.ts";
import { createLicmondParser } from "./licmond.ts";
import { linesReader, type Progress } from "./lines.ts";
import { chunksOf } from "./reading-chunks.ts";

export type ProfileParser = (context: ParseContext, progress: Progress) => ReadingParser | TextParser;

/** Compiles the expressions of a profile. Throws if one is invalid. */
export function profileReader(profile: Profile): ProfileParser {
  switch (profile.format) {
    case "lines":
      return linesReader(profile);
    case "json":
      return jsonReader(profile);
    case "licmond":
      return (context) => createLicmondParser(profile, context);
    case "xf-custom":
      return (context) => createXfParser(profile, context);
  }
}

export interface ParseOrder {
  readonly id: number;
  readonly profile: Profile;
  readonly bytes: Uint8Array;
  readonly truncated: boolean;
  readonly context: Omit<ParseContext, "knownHosts">;
  /** Three 32-bit numbers: index of the current expression, current line, and 1 once parsing has started. */
  readonly progress: SharedArrayBuffer;
}

export type ParseAnswer =
  | { readonly id: number; readonly pieces: readonly string[]; readonly isLast: boolean }
  | { readonly id: number; readonly failure: string };

/** Maximum number of chunks per message. Receiving a message takes one to two milliseconds. */
const AT_ONCE = 32;

/** Maximum number of cached compiled profiles; no site has as many. */
const MAX_KEPT = 64;

/** Parses in the worker and caches compiled profiles. Never throws, unless `send` does. */
export function createParsingService(send: (answer: ParseAnswer) => void): (order: ParseOrder) => void {
  const readers = new Map<string, ProfileParser>();

  return ({ id, profile, bytes, truncated, context, progress }) => {
    const place = new Int32Array(progress);
    place[2] = 1;
    try {
      const key = JSON.stringify(profile);
      if (readers.size >= MAX_KEPT && !readers.has(key)) readers.clear();
      const reader = readers.getOrInsertComputed(key, () => profileReader(profile));
      const parser = reader({ ...context, knownHosts: createKnownHosts() }, (expression, line) => {
        place[0] = expression;
        place[1] = line;
      });
      const pieces = chunksOf(readOutputSync(bytes, parser, truncated));
      for (let from = 0; from < pieces.length; from += AT_ONCE) {
        const part = pieces.slice(from, from + AT_ONCE);
        send({ id, pieces: part, isLast: from + AT_ONCE >= pieces.length });
      }
    } catch (error) {
      send({ id, failure: messageOf(error) });
    }
  };
}
