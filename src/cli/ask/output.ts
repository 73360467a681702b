import { escapeControls } from "../../domain/plain-text.ts";
import type { PictureFeature } from "../../domain/polls/kept-picture.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import type { Schema } from "../../domain/text-types.ts";
import { iso, MINUTE_MS } from "../../domain/time/clock.ts";
import { type Client, createClient } from "../client/client.ts";
import { CLIENT_OPTIONS, type ClientOptions, findTarget } from "../client/target.ts";
import type { Site } from "../client/watch-picture.ts";
import { flag, integer, option } from "../command.ts";
import { type CommandIo, mayColour, toolWords, UsageError } from "../io.ts";
import { printJson, printTable } from "../terminal.ts";

export const ASK = {
  ...CLIENT_OPTIONS,
  json: flag("print the API's answer"),
  csv: flag("print CSV, for spreadsheets"),
};

interface Asked extends ClientOptions {
  readonly json: boolean;
  readonly csv: boolean;
}

export async function connect(options: ClientOptions, io: CommandIo): Promise<Client> {
  return createClient(await findTarget(options, io.env));
}

/** Like {@link connect}, for the options in {@link ASK}. */
export function ask(options: Asked, io: CommandIo): Promise<Client> {
  if (options.json && options.csv) throw new UsageError("option '--json' cannot be used with option '--csv'");
  return connect(options, io);
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export function licenses(path: string, query: Query = {}): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) sent.append(name, String(one));
  return `/api/licenses/${path}${sent.size === 0 ? "" : `?${sent}`}`;
}

export interface Features {
  readonly features: readonly FeatureRecord[];
}

/** Prints an answer as JSON, as CSV in the API's format, or as a table. */
export async function show(
  { json, csv }: Asked,
  io: CommandIo,
  answer: object,
  rows: readonly object[],
  schema: () => Promise<Schema>,
  people: () => void,
): Promise<void> {
  if (json) return io.out(printJson(answer));
  if (!csv) return people();
  const { columnsOf, csvHeading, csvRows } = await import("../../http/answers/list.ts");
  const [first = {}] = rows;
  const ofSite = "siteId" in first ? null : "site" in first ? "" : undefined;
  const columns = columnsOf(await schema(), ofSite);
  // Escape control characters on a terminal: names come from outside.
  io.out(toolWords(io, "out", csvHeading(columns, false) + csvRows(rows, columns)));
}

/** Default number of rows in tables. The default for JSON and CSV is the API's maximum. */
const USUAL_ROWS = 100;
const MOST_ROWS = 10_000;
const ROWS = `maximum number of rows (default ${USUAL_ROWS}; as JSON and CSV ${MOST_ROWS})`;
export const LIMIT = option("<rows>", ROWS, integer(1, MOST_ROWS, `Expected 1 to ${MOST_ROWS}.`));

/**
 * Requests a list and prints it like {@link show}. Prints a note on stderr if rows are missing. `Beside` is
 * the type of the answer's other fields. `isFirst` selects the rows that tables show first.
 */
export async function showList<R extends object, Beside>(
  options: Asked & { readonly limit: number | undefined },
  io: CommandIo,
  path: string,
  query: Query,
  schema: () => Promise<Schema>,
  people: (rows: readonly R[], beside: Beside) => void,
  isFirst?: (row: R) => boolean,
): Promise<void> {
  const client = await ask(options, io);
  const isForPeople = !options.json && !options.csv;
  const limit = options.limit ?? (isForPeople ? USUAL_ROWS : MOST_ROWS);
  const asked = isForPeople && isFirst !== undefined ? MOST_ROWS : limit;
  const answer = await client.get<object>(licenses(path, { ...query, limit: asked }));
  const { [path]: rows = [], total } = answer as { [list: string]: readonly R[] } & { total: number };
  await show(options, io, answer, rows, schema, () => {
    const ordered = rows.toSorted((a, b) => Number(isFirst?.(b) ?? 0) - Number(isFirst?.(a) ?? 0));
    people(ordered.slice(0, limit), answer as Beside);
  });
  if (total > limit)
    io.err(`Showing ${limit} of ${total}; raise --limit (up to ${MOST_ROWS}) to see more.\n`);
}

export function printLine(io: CommandIo, line: string): void {
  io.out(`${escapeControls(line)}\n`);
}

/** Color of a row (SGR parameters, ECMA-48 8.3.117) and its cells. */
export type Row = readonly [paint: string, ...cells: string[]];
export const PLAIN = "";
export const RED = "31";
export const YELLOW = "33";

export function painted(text: string, paint: string): string {
  return paint === PLAIN ? text : `\u001b[${paint}m${text}\u001b[0m`;
}

export function tableLines(
  heads: readonly string[],
  rows: readonly Row[],
  columns: number | undefined,
  colour: boolean,
): string[] {
  const cells = rows.map(([, ...row]) => row);
  const lines = printTable(heads, cells, columns).trimEnd().split("\n");
  return lines.map((line, at) => (colour ? painted(line, rows[at - 1]?.[0] ?? PLAIN) : line));
}

/** Returns the lines of a table that fits the terminal, without empty columns. */
export function tableOf(io: CommandIo, heads: readonly string[], rows: readonly Row[]): string[] {
  const isFilled = heads.map((_, column) => rows.some((row) => row[column + 1] !== ""));
  const filled = rows.map(([paint, ...cells]): Row => [paint, ...cells.filter((_, at) => isFilled[at])]);
  const shown = heads.filter((_, at) => isFilled[at]);
  return tableLines(shown, filled, io.terminal.columns, mayColour(io, "out"));
}

/** Prints a table. If it has no rows, prints `empty` on stderr instead. */
export function printRows(io: CommandIo, heads: readonly string[], rows: readonly Row[], empty: string) {
  if (rows.length === 0) io.err(`${escapeControls(empty)}\n`);
  else io.out(`${tableOf(io, heads, rows).join("\n")}\n`);
}

/** Returns used and issued seats: `36 of 38`, `12 of no limit`, `?`, `25000 tokens of 1000003`. */
export function seatsOf(feature: Pick<FeatureRecord, "used" | "total" | "unlimited" | "unit">): string {
  const { used, total, unlimited, unit } = feature;
  return `${used ?? "?"}${unit === "seats" ? "" : ` ${unit}`} of ${unlimited ? "no limit" : (total ?? "?")}`;
}

/**
 * Returns `01-31 08:15` in local time, with the year if it differs from that of `now`; empty if unknown. Avoids Temporal
 * and Intl, which take 10 to 25 ms to load.
 */
export function minuteOf(time: string | null, now: number): string {
  if (time === null) return "";
  const local = (at: Date) => iso(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  const shown = local(new Date(time)).slice(0, 16).replace("T", " ");
  const year = local(new Date(now)).slice(0, 5);
  return shown.startsWith(year) ? shown.slice(year.length) : shown;
}

export type LiveFeature = PictureFeature & { readonly server: string };

export function featuresOf(
  site: Site,
  isWanted: (feature: PictureFeature, server: string) => boolean,
): LiveFeature[] {
  return [...site].flatMap(([server, { features, collectedAt }]) =>
    [...features.values()]
      .filter((feature) => isWanted(feature, server))
      // Most features have their server's time, so only the server has it.
      .map((feature) => ({ ...feature, server, collectedAt: feature.collectedAt ?? collectedAt })),
  );
}
