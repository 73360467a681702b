import { parse, TomlError } from "smol-toml";
import { printPath } from "../domain/schema-problems.ts";
import { beginsWithDate } from "../domain/time/zone.ts";
import { buildConfig } from "./build.ts";
import { checkValue, type Partly } from "./check-value.ts";
import type { Config } from "./config.ts";
import { crossCheck } from "./cross-checks.ts";
import { type Environment, overrideFromEnvironment } from "./environment.ts";
import { createLocator, type Locate } from "./locate.ts";
import type { Finding, Problem } from "./problem.ts";
import { ConfigFile } from "./schema.ts";

/** What a config's text and the environment come to. `warnings` are told and change nothing. */
export type Interpreted =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly warnings: readonly string[] };

/**
 * TOML text and environment → config, or every problem of it at once, in the order of the file.
 * Never throws, whatever the text. `file` is for the problems; null = there is none and the text is empty.
 * `hasCredential` says whether the unit hands over a credential of that name.
 */
export function interpretConfig(
  text: string,
  file: string | null,
  environment: Environment,
  hasCredential: (name: string) => boolean = () => true,
): Interpreted {
  const parsed = parseToml(text);
  if (!parsed.ok) {
    const { line, message } = parsed;
    return { ok: false, problems: [{ file, variable: null, line, path: "", message }], warnings: [] };
  }
  const { raw, origins, warnings } = overrideFromEnvironment(parsed.tables, environment);
  const locate = createLocator(text);
  const findings: Finding[] = [];
  const checked = checkValue(ConfigFile, raw, findings) ?? {};
  findings.push(...crossCheck(checked, locate, hasCredential), ...impossibleDates(checked, text, locate));
  if (isWhole(checked, findings)) return { ok: true, config: buildConfig(checked, environment), warnings };
  return { ok: false, problems: place(findings, file, origins, locate), warnings };
}

/** Nothing was found, so nothing was left out. */
function isWhole(_checked: Partly<ConfigFile>, findings: readonly Finding[]): _checked is ConfigFile {
  return findings.length === 0;
}

/** The TOML parser turns a February 30 into March 2, so the dates of maintenance windows are looked up in the text. */
function impossibleDates({ maintenance = [] }: Partly<ConfigFile>, text: string, locate: Locate): Finding[] {
  const lines = text.split("\n");
  return maintenance.flatMap((window, index) => {
    const path = ["maintenance", index, "start"];
    const line = window?.start instanceof Date ? locate(path) : null;
    const written =
      line === null ? undefined : /\bstart\s*=\s*(\d{4}-\d\d-\d\d)/.exec(lines[line - 1] ?? "")?.[1];
    if (written === undefined || beginsWithDate(written)) return [];
    return [{ path, message: `takes a day that the calendar has, not ${written}` }];
  });
}

type Parsed =
  | { readonly ok: true; readonly tables: unknown }
  | { readonly ok: false; readonly line: number | null; readonly message: string };

function parseToml(text: string): Parsed {
  try {
    return { ok: true, tables: parse(text.replace(/^\uFEFF/, "")) };
  } catch (error) {
    if (!(error instanceof TomlError)) return { ok: false, line: null, message: "is no TOML" };
    // Behind the first line stands a piece of the file, which may hold a secret.
    const [first = ""] = error.message.split("\n", 1);
    const why = first.replace(/^Invalid TOML document: /, "");
    return { ok: false, line: error.line, message: `is no TOML: ${why} (column ${error.column})` };
  }
}

function place(
  findings: readonly Finding[],
  file: string | null,
  origins: ReadonlyMap<string, string>,
  locate: Locate,
): Problem[] {
  const problems = findings.map(({ path, message }): Problem => {
    const printed = printPath(path);
    const variable = origins.get(printed) ?? null;
    return { file, variable, line: variable === null ? locate(path) : null, path: printed, message };
  });
  return problems.sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER));
}
