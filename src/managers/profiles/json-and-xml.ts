import { SaxesParser } from "saxes";
import type { ParseContext, TextParser } from "../manager.ts";
import { compile, expressionsOf, type FactName, type Facts, listOf, type Profile } from "../profile.ts";
import { countOf, createDraft } from "./draft.ts";
import type { Progress } from "./lines.ts";
import { listAt, MAX_DEPTH, parseJson, textAt, textsAt } from "./paths.ts";

type Fields = readonly (readonly [name: FactName | "user@host", paths: readonly string[]])[];

/** Creates a parser of JSON: `features` is the path of the list, `fields` the paths in each element. */
export function jsonReader(profile: Profile) {
  const all = expressionsOf(profile).map(({ path, source }) => ({ path, expression: compile(source, "g") }));
  const endIndex = all.findIndex(({ path }) => path[0] === "end");
  const end = all[endIndex]?.expression ?? null;
  const [before = "", after = ""] = profile.wrap ?? [];
  const fields = fieldsOf(profile.fields);
  const userFields = fieldsOf(profile.user_fields);
  const where = Object.entries(profile.where ?? {}).map(([path, texts]) => ({ path, texts: listOf(texts) }));

  function stripped(text: string, progress: Progress): string {
    let left = text;
    for (const [index, { path, expression }] of all.entries()) {
      if (path[0] !== "strip") continue;
      progress(index, 1);
      left = left.replace(expression, "");
    }
    return `${before}${left}${after}`;
  }

  function hasEnd(text: string, progress: Progress): boolean {
    if (end === null) return true;
    progress(endIndex, 1);
    end.lastIndex = 0;
    return end.test(text);
  }

  const isWanted = (feature: unknown) =>
    where.every(({ path, texts }) =>
      textsAt(feature, [path]).some((text) => texts.includes("*") || texts.includes(text)),
    );

  return function createJsonParser(context: ParseContext, progress: Progress): TextParser {
    const draft = createDraft(profile, context);

    function take(kind: "feature" | "checkout", value: unknown, own: Fields, place: number): void {
      if (!draft.take(kind, factsOf(value, own))) draft.lose(quoted(value), place);
    }

    function takeUsers(from: unknown, paths: readonly string[], place: number): void {
      for (const user of listAt(from, paths) ?? []) take("checkout", user, userFields, place);
    }

    return {
      text(whole, truncated) {
        const isCut = truncated || !hasEnd(whole, progress);
        const parsed = parseJson(stripped(whole, progress));
        if ("problem" in parsed) return draft.read(isCut, `The answer ${parsed.problem}.`);
        const { value } = parsed;
        const error = textAt(value, listOf(profile.error));
        if (error !== undefined && error !== "") draft.take("error", { error });
        const paths = listOf(profile.features ?? "");
        const features = listAt(value, paths);
        if (features === null && !draft.isFailure())
          return draft.read(
            isCut,
            `The answer contains no list at ${paths.map((path) => `"${path}"`).join(" or ")}.`,
          );
        draft.recognise();
        const users = listOf(profile.users);
        for (const [index, feature] of (features ?? []).entries()) {
          if (!isWanted(feature)) continue;
          take("feature", feature, fields, index + 1);
          takeUsers(
            feature,
            users.filter((path) => !path.startsWith("/")),
            index + 1,
          );
        }
        // Users may be in a separate list, where each row names its feature.
        takeUsers(
          value,
          users.flatMap((path) => (path.startsWith("/") ? [path.slice(1)] : [])),
          1,
        );
        return draft.read(isCut && !draft.isFailure());
      },
    };
  };
}

function fieldsOf(fields: Profile["fields"] | Profile["user_fields"] = {}): Fields {
  return Object.entries(fields).map(([name, paths]) => [name as FactName | "user@host", listOf(paths)]);
}

function factsOf(value: unknown, fields: Fields): Facts {
  const facts: { [Name in FactName]?: string } = {};
  for (const [name, paths] of fields) {
    const text = name === "user@host" ? undefined : textAt(value, paths);
    if (text !== undefined && name !== "user@host") facts[name] = text;
  }
  const both = fields.find(([name]) => name === "user@host")?.[1] ?? [];
  return both.length === 0 ? facts : { ...facts, ...userAndHost(textsAt(value, both)) };
}

/** Splits `user@host`. If no text contains `@`, the first text is the user. */
function userAndHost(texts: readonly string[]): Facts {
  const joined = texts.find((text) => text.includes("@"));
  if (joined === undefined) return texts[0] === undefined ? {} : { user: texts[0] };
  const at = joined.lastIndexOf("@");
  return { user: joined.slice(0, at), host: joined.slice(at + 1) };
}

function quoted(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

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
    // A row that only reports denials holds no seats.
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
    // Add the reserved seats, which the format does not count as used although they are not available
    // either.
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
