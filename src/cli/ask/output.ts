import { escapeControls } from "../../domain/plain-text.ts";
import type { HeldServer, PictureFeature } from "../../domain/polls/live-picture.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS } from "../../domain/time/clock.ts";
import { type Client, createClient } from "../client/client.ts";
import { CLIENT_OPTIONS, type ClientOptions, findTarget } from "../client/target.ts";
import { flag, integer, option } from "../command.ts";
import { type CommandIo, mayColour, toolWords, UsageError } from "../io.ts";
import { type Cell, printJson, printTable } from "../terminal.ts";

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

/** What a person can look at, and all that the API gives at once. */
const USUAL_ROWS = 100;
const MOST_ROWS = 10_000;
export const LIMIT = option(
  "<rows>",
  `most rows to print (default ${USUAL_ROWS}; as JSON and CSV ${MOST_ROWS})`,
  integer(1, MOST_ROWS, `It takes 1 to ${MOST_ROWS}.`),
);

/** Prints a stored list of the API as JSON, as CSV, or for people; and says when it is not the whole. */
export async function printList<T extends { readonly total: number }>(
  options: Asked & { readonly limit: number | undefined },
  io: CommandIo,
  path: string,
  query: Query,
  print: (answer: T) => void,
): Promise<void> {
  const client = await ask(options, io);
  const limit = options.limit ?? (options.json || options.csv ? MOST_ROWS : USUAL_ROWS);
  let total: number;
  if (options.csv) {
    const csv = await client.csv(licenses(path, { ...query, limit, format: "csv" }));
    printCsv(io, csv.text);
    total = csv.total;
  } else {
    const answer = await client.get<T>(licenses(path, { ...query, limit }));
    if (options.json) io.out(printJson(answer));
    else print(answer);
    total = answer.total;
  }
  if (total > limit) io.err(`${limit} of ${total} are shown: --limit takes up to ${MOST_ROWS}.\n`);
}

/** CSV of strangers' names: on a terminal nothing of it may act on that. */
export function printCsv(io: CommandIo, csv: string): void {
  io.out(toolWords(io, "out", csv));
}

/** CSV as the API writes it, of rows that are chosen here. */
export async function printRecords(
  io: CommandIo,
  columns: readonly (readonly string[])[],
  rows: readonly object[],
): Promise<void> {
  const { csvHeading, csvRows } = await import("../../http/answers/list.ts");
  printCsv(io, csvHeading(columns, false) + csvRows(rows, columns));
}

/** A sentence with names of strangers in it. */
export function printLine(io: CommandIo, line: string): void {
  io.out(`${escapeControls(line)}\n`);
}

/**
 * Prints a table that fits the terminal, without the columns in which nothing stands. `empty`: what is said, on stderr,
 * in the place of one without rows.
 */
export function printRows(
  io: CommandIo,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  empty: string,
): void {
  if (rows.length === 0) {
    io.err(`${empty}\n`);
    return;
  }
  io.out(tableOf(io, heads, rows));
}

/** A table as {@link printRows} prints it. */
export function tableOf(io: CommandIo, heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const shown = paintedIf(mayColour(io, "out"), rows);
  const isFilled = heads.map((_, column) => rows.some((row) => textOf(row[column] ?? "") !== ""));
  const filled = <T>(cells: readonly T[]) => cells.filter((_, column) => isFilled[column]);
  return printTable(filled(heads), shown.map(filled), io.terminal.columns);
}

/** Rows as they are, or without their colours. */
export function paintedIf(colour: boolean, rows: readonly (readonly Cell[])[]) {
  return colour ? rows : rows.map((row) => row.map(textOf));
}

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell[0]);

export const RED = "31";
export const YELLOW = "33";
export const DIM = "2";

/** `36 of 38`, `12 of no limit`, `?`: seats in use of those issued. */
export function seatsOf({ used, total, unlimited }: Pick<FeatureRecord, "used" | "total" | "unlimited">) {
  return `${used ?? "?"} of ${unlimited ? "no limit" : (total ?? "?")}`;
}

/** A count, empty when it is 0: what nobody waits for draws no eye. `?` = unknown. */
export function some(count: number | null): string {
  return count === null ? "?" : count === 0 ? "" : String(count);
}

/** Numbers that are not of now say so, in colour and in words. */
export function stateCell(
  { state, collectedAt, error }: Pick<FeatureRecord, "state" | "collectedAt" | "error">,
  now: number,
): Cell {
  if (state === "ok") return "";
  const age = collectedAt === null ? "" : ` ${span(now - Date.parse(collectedAt))}`;
  return [`${state}${state === "partial" ? "" : age}${error === null ? "" : `: ${error}`}`, YELLOW];
}

export function expiryCell(expiresAt: string | null, expiresOn: string | null, now: number): Cell {
  if (expiresAt === null || expiresOn === null) return expiresOn ?? "";
  const left = Date.parse(expiresAt) - now;
  return left < 0 ? [expiresOn, RED] : left < 30 * DAY_MS ? [expiresOn, YELLOW] : expiresOn;
}

/** `2026-01-31 08:15` on this host's clock; empty when unknown. Temporal and Intl would take 10 to 25 ms to load. */
export function minuteOf(time: string | null): string {
  if (time === null) return "";
  const at = new Date(time);
  return iso(at.getTime() - at.getTimezoneOffset() * MINUTE_MS)
    .slice(0, 16)
    .replace("T", " ");
}

/** How long something lasts, in at most two units: `45 s`, `12 min`, `2 h 10 min`, `20 d 3 h`. */
export function span(ms: number): string {
  const of = (value: number, unit: string) => (value === 0 ? "" : ` ${value} ${unit}`);
  if (ms < MINUTE_MS) return `${Math.max(0, Math.round(ms / 1_000))} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h${of(Math.floor((ms % HOUR_MS) / MINUTE_MS), "min")}`;
  return `${Math.floor(ms / DAY_MS)} d${of(Math.floor((ms % DAY_MS) / HOUR_MS), "h")}`;
}

/** The pictures of servers by their ids, as a stream keeps them. */
export type Site = ReadonlyMap<string, HeldServer>;

/** A feature of a picture, with what its record has besides. */
export interface LiveFeature extends PictureFeature {
  readonly server: string;
}

/** The features of a site that are wanted. */
export function featuresOf(
  site: Site,
  isWanted: (feature: PictureFeature, server: string) => boolean,
): LiveFeature[] {
  const found: LiveFeature[] = [];
  for (const [server, { features, collectedAt }] of site) {
    for (const feature of features.values()) {
      if (!isWanted(feature, server)) continue;
      // Of most features it is the server's, and stands there alone.
      found.push({ ...feature, server, collectedAt: feature.collectedAt ?? collectedAt });
    }
  }
  return found;
}
