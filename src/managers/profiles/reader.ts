import type { ParseContext, ReadingParser, TextParser } from "../manager.ts";
import type { Profile } from "../profile.ts";
import { jsonReader } from "./json.ts";
import { createLicmondParser } from "./licmond.ts";
import { linesReader, type Progress } from "./lines.ts";
import { createXfParser } from "./xf-custom.ts";

export type ProfileParser = (context: ParseContext, progress: Progress) => ReadingParser | TextParser;

/**
 * Creates the parser of a profile's answers, with its expressions compiled. Throws if an expression is invalid.
 */
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
