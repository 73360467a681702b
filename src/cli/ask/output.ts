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

/** Options of every command that prints what a running daemon answers. */
export const ASK = {
  ...CLIENT_OPTIONS,
  json: flag("print the API's answer"),
  csv: flag("print CSV, for spreadsheets"),
};

interface Asked extends ClientOptions {
  readonly json: boolean;
  readonly csv: boolean;
}

/** The daemon that a command asks. */
export async function connect(options: ClientOptions, io: CommandIo): Promise<Client> {
  return createClient(await findTarget(options, io.env));
}

/** The same for a command whose options are {@link ASK}. */
export function ask(options: Asked, io: CommandIo): Promise<Client> {
  if (options.json && options.csv) throw new UsageError("option '--json' cannot be used with option '--csv'");
  return connect(options, io);
}

/** Parameters of a query; those that are undefined are left out. */
type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A path of the API below `/api/licenses/`. */
export function licenses(path: string, query: Query = {}): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined) sent.append(name, String(one));
  return `/api/licenses/${path}${sent.size === 0 ? "" : `?${sent}`}`;
}

/** What the API's list of features answers. */
export interface Features {
  readonly features: readonly FeatureRecord[];
}

/** Prints an answer as JSON; or its rows as CSV, as the API writes it; or for people. */
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
  // Names of strangers: on a terminal nothing of it may act on that.
  io.out(toolWords(io, "out", csvHeading(columns, false) + csvRows(rows, columns)));
}

/** What a person can look at, and all that the API gives at once. */
const USUAL_ROWS = 100;
const MOST_ROWS = 10_000;
export const LIMIT = option(
  "<rows>",
  `most rows to print (default ${USUAL_ROWS}; as JSON and CSV ${MOST_ROWS})`,
  integer(1, MOST_ROWS, `It takes 1 to ${MOST_ROWS}.`),
);

/**
 * Asks for the stored list of a path, and prints it as {@link show} does; says when it is not the whole. `Beside`: what
 * the answer has beside the rows. `isFirst`: rows that people see before all others.
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
  if (total > limit) io.err(`${limit} of ${total} are shown: --limit takes up to ${MOST_ROWS}.\n`);
}

/** A sentence with names of strangers in it. */
export function printLine(io: CommandIo, line: string): void {
  io.out(`${escapeControls(line)}\n`);
}

/** How a row is painted where colours are shown (parameters of SGR, ECMA-48 8.3.117), and its cells. */
export type Row = readonly [paint: string, ...cells: string[]];
export const PLAIN = "";
export const RED = "31";
export const YELLOW = "33";

/** Text as a terminal that shows colours paints it. */
export function painted(text: string, paint: string): string {
  return paint === PLAIN ? text : `\u001b[${paint}m${text}\u001b[0m`;
}

/** Lines of a table of so many characters, its head first. */
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

/** The lines of a table that fits the terminal, without the columns in which nothing stands. */
export function tableOf(io: CommandIo, heads: readonly string[], rows: readonly Row[]): string[] {
  const isFilled = heads.map((_, column) => rows.some((row) => row[column + 1] !== ""));
  const filled = rows.map(([paint, ...cells]): Row => [paint, ...cells.filter((_, at) => isFilled[at])]);
  const shown = heads.filter((_, at) => isFilled[at]);
  return tableLines(shown, filled, io.terminal.columns, mayColour(io, "out"));
}

/** Prints a table. `empty`: what is said, on stderr, in the place of one without rows. */
export function printRows(
  io: CommandIo,
  heads: readonly string[],
  rows: readonly Row[],
  empty: string,
): void {
  if (rows.length === 0) io.err(`${escapeControls(empty)}\n`);
  else io.out(`${tableOf(io, heads, rows).join("\n")}\n`);
}

/** `36 of 38`, `12 of no limit`, `?`, `25000 tokens of 1000003`: what is in use of what is issued. */
export function seatsOf({
  used,
  total,
  unlimited,
  unit,
}: Pick<FeatureRecord, "used" | "total" | "unlimited" | "unit">) {
  return `${used ?? "?"}${unit === "seats" ? "" : ` ${unit}`} of ${unlimited ? "no limit" : (total ?? "?")}`;
}

/**
 * `01-31 08:15` on this host's clock, with the year where it is not that of `now`; empty when unknown. Temporal and Intl
 * would take 10 to 25 ms to load.
 */
export function minuteOf(time: string | null, now: number): string {
  if (time === null) return "";
  const local = (at: Date) => iso(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  const shown = local(new Date(time)).slice(0, 16).replace("T", " ");
  const year = local(new Date(now)).slice(0, 5);
  return shown.startsWith(year) ? shown.slice(year.length) : shown;
}

/** A feature of a picture, with what its record has besides. */
export interface LiveFeature extends PictureFeature {
  readonly server: string;
}

/** The features of a site that are wanted. */
export function featuresOf(
  site: Site,
  isWanted: (feature: PictureFeature, server: string) => boolean,
): LiveFeature[] {
  return [...site].flatMap(([server, { features, collectedAt }]) =>
    [...features.values()]
      .filter((feature) => isWanted(feature, server))
      // Of most features it is the server's, and stands there alone.
      .map((feature) => ({ ...feature, server, collectedAt: feature.collectedAt ?? collectedAt })),
  );
}
