import { Database } from "bun:sqlite";

export class CountsError extends Error {
  override readonly name = "CountsError";
}

export interface CountSeries {
  readonly server: string;
  readonly feature: string;
  readonly daemon: string | null;
}

export interface Count {
  /** Local time as seconds since 1970-01-01; null for an impossible time such as 0000-00-00. */
  readonly wall: number | null;
  readonly used: number | null;
  readonly total: number | null;
}

export type CountsCsv = Awaited<ReturnType<typeof readCountsCsv>>;

const REQUIRED = ["time", "server", "feature", "used"] as const;
const COLUMNS = [...REQUIRED, "total", "daemon"] as const;
const TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?$/;
/** Texts that mean an empty cell, including NULL as `mysql --batch` prints it. */
const NULLS = new Set(["", "NULL", "\\N"]);
const CELLS = {
  ",": /("(?:[^"]|"")*"|[^",]*)(?:,|$)/y,
  "\t": /("(?:[^"]|"")*"|[^"\t]*)(?:\t|$)/y,
  ";": /("(?:[^"]|"")*"|[^";]*)(?:;|$)/y,
};

const MAX_LINE = 64 * 1024;
const USUAL_MINUTES = 10;

/**
 * Reads counts from CSV (RFC 4180, also with semicolons or tabs), with the column names in the first line.
 * The counts are kept in a temporary table, because years of counts may be larger than memory. Throws
 * CountsError with the line number of a mistake.
 */
export async function readCountsCsv(pieces: AsyncIterable<Uint8Array>, name: string) {
  const sqlite = new Database(":memory:");
  try {
    sqlite.run("CREATE TEMP TABLE counts (server, feature, daemon, wall, used, total)");
    const insert = sqlite.query("INSERT INTO counts VALUES (?, ?, ?, unixepoch(?), ?, ?)");
    const row = createRowReader(name);
    const add = (text: string) => {
      const count = row(text);
      if (count !== null) insert.run(...count);
    };
    sqlite.run("BEGIN");
    for await (const line of linesOf(pieces, name)) add(line);
    sqlite.run("COMMIT");
    sqlite.run("CREATE INDEX temp.counts_by_time ON counts (server, feature, wall)");
    return queriesOf(sqlite, name);
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

async function* linesOf(pieces: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    for await (const piece of pieces) {
      const lines = (rest + utf8.decode(piece, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE)
        throw new CountsError(`${name} contains a line of more than ${MAX_LINE} characters`);
      yield* lines;
    }
    yield rest + utf8.decode();
  } catch (error) {
    throw error instanceof TypeError ? new CountsError(`${name} is not valid UTF-8`) : error;
  }
}

function queriesOf(sqlite: Database, name: string) {
  const list = sqlite.query<CountSeries, []>(
    "SELECT server, feature, max(daemon) AS daemon FROM counts GROUP BY server, feature ORDER BY server, feature",
  );
  const series = list.all();
  if (series.length === 0) throw new CountsError(`${name} contains no counts`);
  const counts = sqlite.query<Count, [string, string]>(
    "SELECT wall, used, total FROM counts WHERE server = ? AND feature = ? ORDER BY wall",
  );
  const usual = sqlite.query<{ minutes: number }, [string]>(
    `SELECT minutes FROM (SELECT max(1, round((wall - lag(wall) OVER (PARTITION BY feature ORDER BY wall)) / 60.0)) AS minutes
       FROM counts WHERE server = ?)
     WHERE minutes <= 1440 GROUP BY minutes ORDER BY count(*) DESC, minutes LIMIT 1`,
  );
  const total = sqlite.query<{ count: number }, []>("SELECT count(*) AS count FROM counts");
  return {
    servers: [...new Set(series.map(({ server }) => server))],
    count: total.get()?.count ?? 0,
    seriesOf: (server: string) => series.filter((one) => one.server === server),
    countsOf: ({ server, feature }: CountSeries) => counts.iterate(server, feature),
    intervalOf: (server: string) => (usual.get(server)?.minutes ?? USUAL_MINUTES) * 60_000,
    [Symbol.dispose]: () => sqlite.close(),
  };
}

function createRowReader(name: string) {
  let line = 0;
  let cells: RegExp | null = null;
  let columns: readonly string[] = [];
  const fail = (why: string) => new CountsError(`${name}, line ${line}: ${why}`);

  function split(text: string, by: RegExp): string[] {
    const found: string[] = [];
    for (by.lastIndex = 0; by.lastIndex < text.length || found.length === 0; ) {
      const [whole, cell = ""] = by.exec(text) ?? [];
      if (whole === undefined) throw fail("invalid quotes");
      found.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
      if (by.lastIndex === text.length && !/[,;\t]$/.test(whole)) return found;
    }
    return [...found, ""];
  }

  function head(text: string): void {
    cells = CELLS[text.includes("\t") ? "\t" : text.includes(";") ? ";" : ","];
    columns = split(text, cells).map((column) => column.trim().toLowerCase());
    const missing = REQUIRED.find((column) => !columns.includes(column));
    if (missing !== undefined)
      throw fail(
        `no column "${missing}"; the first line must name ${COLUMNS.join(", ")} (the last two are optional)`,
      );
    const unknown = columns.find(
      (column, at) => !COLUMNS.some((one) => one === column) || columns.indexOf(column) < at,
    );
    if (unknown !== undefined)
      throw fail(`unknown or repeated column "${unknown}"; expected ${COLUMNS.join(", ")}`);
  }

  function numberOf(text: string, column: string): number | null {
    if (NULLS.has(text)) return null;
    if (!/^\d{1,15}$/.test(text)) throw fail(`${column} must be a whole number, not "${text.slice(0, 40)}"`);
    return Number(text);
  }

  return (text: string) => {
    line++;
    if (text.trim() === "") return null;
    if (cells === null) {
      head(text);
      return null;
    }
    const row = split(text, cells);
    if (row.length !== columns.length)
      throw fail(`${row.length} columns; the first line has ${columns.length}`);
    const cellOf = (column: (typeof COLUMNS)[number]) => row[columns.indexOf(column)]?.trim() ?? "";
    const [server, feature, time] = [cellOf("server"), cellOf("feature"), cellOf("time")];
    if (NULLS.has(server) || NULLS.has(feature)) throw fail("server and feature must not be empty");
    const [, day, clock] = TIME.exec(time) ?? [];
    if (day === undefined)
      throw fail(`time must be YYYY-MM-DD HH:MM:SS without a time zone, not "${time.slice(0, 40)}"`);
    const daemon = cellOf("daemon");
    return [
      server,
      feature,
      NULLS.has(daemon) ? null : daemon,
      `${day} ${clock}`,
      numberOf(cellOf("used"), "used"),
      numberOf(cellOf("total"), "total"),
    ] as const;
  };
}
