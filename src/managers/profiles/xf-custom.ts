import { SaxesParser } from "saxes";
import type { ParseContext, TextParser } from "../manager.ts";
import type { Facts, Profile } from "../profile.ts";
import { countOf, createDraft } from "./draft.ts";
import { MAX_DEPTH } from "./paths.ts";

type Attributes = Readonly<Record<string, string>>;

/**
 * Parses XML for X-Formation's License Statistics (docs.x-formation.com, "Supporting a custom license
 * server"). saxes resolves neither external entities nor those declared in the text.
 */
export function createXfParser(profile: Profile, context: ParseContext): TextParser {
  const draft = createDraft(profile, context);
  const parser = new SaxesParser();
  let depth = 0;
  let isWhole = false;
  let problem: string | null = null;

  const takers: Readonly<Record<string, (of: Attributes) => boolean>> = {
    CUSTOM_STAT: ({ VENDOR: name }) => {
      draft.recognise();
      return name === undefined || draft.take("daemon", { name });
    },
    USAGE: (of) => draft.take("feature", featureOf(of)),
    // A row with denials only holds no seats.
    USER: (of) => of.USED_LICENSES === undefined || draft.take("checkout", userOf(of)),
  };

  function stop(why: string): never {
    problem = why;
    throw new Error(why);
  }

  parser.on("opentag", ({ name, attributes: of }) => {
    depth++;
    if (depth > MAX_DEPTH) stop(`is nested more than ${MAX_DEPTH} deep`);
    if (depth === 1 && name !== "CUSTOM_STAT") stop("has no root element CUSTOM_STAT");
    if (takers[name]?.(of) !== true) draft.lose(`<${name} ${JSON.stringify(of)}>`, parser.line);
  });
  parser.on("closetag", () => {
    depth--;
    isWhole ||= depth === 0;
  });

  return {
    text(whole, truncated) {
      try {
        parser.write(whole.replace(/^\uFEFF/, "")).close();
      } catch {
        problem ??= `is not valid XML (line ${parser.line})`;
      }
      const reading = draft.read(truncated || !isWhole || problem !== null);
      // After a syntax error the rest is lost; keep the part before it.
      if (problem === null || reading.features.length > 0) return reading;
      return { ...reading, recognised: false, problem: `The answer ${problem}.` };
    },
  };
}

function featureOf(of: Attributes): Facts {
  const [held, reserved] = [countOf(of.USED_LICENSES), countOf(of.RESERVED_LICENSES)];
  return {
    name: of.FEATURE,
    version: of.VERSION,
    total: of.TOTAL_LICENSES,
    // The format counts used seats without reserved ones, which are not available either.
    used: held === null ? undefined : String(held + (reserved ?? 0)),
    reserved: of.RESERVED_LICENSES,
    denied: of.DENIED_LICENSES,
    expires: of.EXPIRES,
  };
}

function userOf(of: Attributes): Facts {
  return {
    user: of.USERNAME,
    host: of.HOSTNAME || of.IP,
    count: of.USED_LICENSES,
    start: of.CHECKOUT_TIME,
    until: of.BORROW_EXPIRE_TIME,
  };
}
