import { messageOf } from "../domain/error-code.ts";
import type { KeyPath } from "../domain/schema-problems.ts";
import {
  compile,
  expressionsOf,
  FACTS,
  KEYS_OF_FORMAT,
  listOf,
  PLACES,
  type Profile,
  SECRETS,
} from "../managers/profile.ts";
import { fillIn, placesIn, templatesOf } from "../managers/profiles/addresses.ts";
import { dateReader } from "../managers/profiles/dates.ts";
import { isPath } from "../managers/profiles/paths.ts";
import { MANAGERS } from "../managers/registry.ts";
import { type Partly, show } from "./check-value.ts";
import { closestWord } from "./closest-word.ts";
import { program } from "./forms.ts";
import type { Finding } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

type Table = Partly<Profile>;
type At = (...path: KeyPath) => KeyPath;

/** Checks `[[managers]]`: combinations of keys, and whether the expressions compile. */
export function* ownManagers({ managers = [] }: Partly<ConfigFile>): Generator<Finding> {
  for (const [index, profile = {}] of managers.entries()) {
    const at: At = (...path) => ["managers", index, ...path];
    yield* asking(profile, at);
    yield* formats(profile, at);
    yield* expressions(profile, at);
    yield* places(profile, at);
  }
}

/** Names of license managers, by the names of their tools, vendors and best known products. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  flexlm: "flexnet",
  lmgrd: "flexnet",
  lmstat: "flexnet",
  lmutil: "flexnet",
  reprise: "rlm",
  rlmstat: "rlm",
  sentinel: "rms",
  houdini: "sidefx",
  sesinetd: "sidefx",
};

/** Checks that each server has a known manager, and suggests a similar name. */
export function* knownManagers(file: Partly<ConfigFile>): Generator<Finding> {
  const { managers = [], servers = [], server_defaults: defaults } = file;
  const names = [...MANAGERS, ...managers.flatMap(({ name } = {}) => name ?? [])];
  const named: [KeyPath, string | undefined][] = [
    [["server_defaults", "manager"], defaults?.manager],
    // Report a wrong default only once.
    ...servers.flatMap((server, index): [KeyPath, string | undefined][] =>
      server?.manager === defaults?.manager ? [] : [[["servers", index, "manager"], server?.manager]],
    ),
  ];
  for (const [path, name] of named) {
    if (name === undefined || names.includes(name)) continue;
    const meant = OTHER_NAMES[name.toLowerCase()] ?? closestWord(name, names);
    const hint = meant === null ? "" : ` (did you mean "${meant}"?)`;
    yield { path, message: `must be one of ${names.join(", ")}${hint}, not ${show(name)}` };
  }
}

function* asking(profile: Table, at: At): Generator<Finding> {
  const { argv, http, env, stdin, stream, login } = profile;
  if (argv === undefined && http === undefined) yield { path: at("argv"), message: "or http is required" };
  if (argv !== undefined && http !== undefined)
    yield { path: at("http"), message: "conflicts with argv; set only one" };
  for (const [key, value] of Object.entries({ env, stdin, stream }))
    if (value !== undefined && http !== undefined)
      yield { path: at(key), message: "requires argv, not http" };
  for (const [key, request] of Object.entries({ http, login })) {
    const url = fillIn(request?.url ?? "http:x", { address: "x", host: "x", port: "1" });
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      yield {
        path: at(key, "url"),
        message: `must be an http:// or https:// URL, not ${show(request?.url)}`,
      };
  }
  const [first] = argv ?? [];
  if (first?.includes("{"))
    yield { path: at("argv", 0), message: "must be a fixed program, not a placeholder" };
  else if (first !== undefined && program.read(first) === undefined)
    yield { path: at("argv", 0), message: `must be ${program.takes}, not ${show(first)}` };
}

const COMMON: readonly (keyof Profile)[] = [
  ...(["name", "title", "experimental", "argv", "env", "stdin", "stream", "http", "login", "port"] as const),
  "format",
];

function* formats(profile: Table, at: At): Generator<Finding> {
  const { format, match, fields, dates, error, features, users, user_fields, where } = profile;
  if (format === undefined) return;
  const own = KEYS_OF_FORMAT[format];
  for (const key of Object.keys(profile) as (keyof Profile)[])
    if (!COMMON.includes(key) && !own.includes(key)) {
      const takes = own.length === 0 ? "has no such keys" : `accepts ${own.join(", ")}`;
      yield { path: at(key), message: `does not apply to format ${format}, which ${takes}` };
    }
  if (format === "lines" && match?.feature === undefined)
    yield { path: at("match", "feature"), message: "is required: the expression for lines of features" };
  if (format === "json" && fields?.name === undefined)
    yield { path: at("fields", "name"), message: "is required: the path of a feature's name" };
  for (const [key, patterns] of Object.entries(dates ?? {}))
    for (const pattern of listOf(patterns)) {
      const problem = whyNot(() => dateReader([pattern ?? ""]));
      if (problem !== null) yield { path: at("dates", key), message: problem };
    }
  const paths = {
    ...Object.fromEntries(
      Object.entries({ error, features, users }).map(([key, each]) => [key, listOf(each)]),
    ),
    ...Object.fromEntries(Object.entries(fields ?? {}).map(([key, each]) => [`fields.${key}`, listOf(each)])),
    ...Object.fromEntries(
      Object.entries(user_fields ?? {}).map(([key, each]) => [`user_fields.${key}`, listOf(each)]),
    ),
    where: Object.keys(where ?? {}),
  };
  for (const [key, each] of Object.entries(paths))
    for (const path of each) {
      const isRight = isPath(key === "users" ? (path ?? "").replace(/^\//, "") : (path ?? ""));
      if (!isRight)
        yield { path: at(...key.split(".")), message: `must be paths such as a.b[].c, not ${show(path)}` };
    }
}

/** Named group that the expression must capture, by kind of line. */
const NEEDED: Readonly<Record<string, string>> = { feature: "name", member: "host" };

function* expressions({ end, strip, match }: Table, at: At): Generator<Finding> {
  const all = { end, strip, match } as Pick<Profile, "end" | "strip" | "match">;
  for (const { path, source } of expressionsOf(all)) {
    const problem = whyNot(() => compile(source));
    if (problem !== null) {
      yield { path: at(...path), message: `is an invalid regular expression: ${problem}` };
      continue;
    }
    if (path[0] !== "match") continue;
    const groups = groupsOf(source);
    for (const group of groups)
      if (!FACTS.some((known) => known === group)) {
        const there = `known ones are ${FACTS.join(", ")}`;
        yield { path: at(...path), message: `has an unknown group (?<${group}>…); ${there}` };
      }
    const needed = NEEDED[String(path[1])];
    if (needed !== undefined && !groups.includes(needed))
      yield { path: at(...path), message: `lacks the group (?<${needed}>…)` };
  }
}

function groupsOf(source: string): readonly string[] {
  return Object.keys(compile(`(?:${source})|`).exec("")?.groups ?? {});
}

/** Finds unknown placeholders, and secrets that other processes or logs would show. */
function* places(profile: Table, at: At): Generator<Finding> {
  for (const { path, text } of templatesOf(profile)) {
    const [section, key] = path;
    const isOpen = section === "argv" || section === "env" || key === "url";
    for (const place of placesIn(text)) {
      const isSecret = SECRETS.some((each) => each === place);
      if (isSecret && isOpen) {
        const where = "is only allowed in stdin, a query, a header or a body: others could read it here";
        yield { path: at(...path), message: `{${place}} ${where}` };
      } else if (place === "token" && (section !== "http" || profile.login === undefined))
        yield { path: at(...path), message: "{token} is only allowed in http, after a login" };
      else if (!isSecret && !PLACES.some((each) => each === place)) {
        const there = [...PLACES, ...(isOpen ? [] : SECRETS)].map((each) => `{${each}}`).join(", ");
        yield {
          path: at(...path),
          message: `has an unknown placeholder {${place}}; known ones are ${there}`,
        };
      }
    }
  }
}

function whyNot(make: () => unknown): string | null {
  try {
    make();
    return null;
  } catch (error) {
    return messageOf(error).replace(/^Invalid regular expression: /, "");
  }
}
