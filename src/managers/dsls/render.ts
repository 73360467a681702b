import type {
  AssignedReading,
  CheckoutReading,
  FeatureReading,
  PoolReading,
  QueueReading,
  Reading,
} from "../../domain/reading.ts";
import { wallClock } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";
import { printCells, readCells } from "./csv.ts";
import { COLUMNS, type Column } from "./table.ts";

const HEADER =
  "Editor,EditorId,Feature,Model,Commercial Type,Max Release Number,Max Release Date,Pricing Structure,Max Casual Duration,Expiration Date,Customer ID,Count,Inuse,Tokens,Casual Usage (mn),Host,User,Internal ID,Active Process,Client Code Version,Session ID,Granted Since,Last Used At,Granted At,Queue Position,".split(
    ",",
  );
const USED_FROM = HEADER.indexOf(COLUMNS.tokens);
const BUILT = "May 2, 2023, 6:45:36 PM";
const EDITOR_ID = "5E756A80-1C80-478D-B83A-1D5913677621";

type Cells = Partial<Record<Column, string>>;

/**
 * Prints what DSLicSrv 6.425 prints for this reading with `-run`; parsing it returns the reading. The format cannot
 * express report times, daemons, reservations, displays, borrowing, fractions of a second, permanent licenses, and
 * two programs of one person on one license. The vendor string of a pool is its model, commercial type, pricing
 * structure and customer. Names may have any characters, but an editor's name must not look like a prompt.
 */
export function render({ members, features, errors, toolVersion }: Reading, { zone }: RenderOptions): string {
  const lines: string[] = [];
  if (toolVersion !== null)
    lines.push(`License Administration Tool Version ${toolVersion} Built on ${BUILT}.`);
  const [member] = members;
  if (member === undefined || member.status === "down") {
    for (const { message } of errors) lines.push(message);
    return `${lines.join("\n")}\n`;
  }
  lines.push(`admin >connect ${member.host} ${member.port ?? ""} -restricted`);
  if (member.version !== null) lines.push(`\tSoftware version: ${member.version}`);
  lines.push(
    `\tBuild date: ${BUILT}`,
    "\tStandalone mode",
    "\tReady: yes",
    `\tServer name: ${member.host}   Server id: KRN-4120A3F06C81D2B7`,
    "admin >getLicenseUsage -csv",
    HEADER.join(","),
    ...features.flatMap((feature) => printFeature(feature, zone)),
    "admin >quit",
  );
  return `${lines.join("\n")}\n`;
}

function printFeature(feature: FeatureReading, zone: string): string[] {
  const { pools, checkouts, queue, assigned = [] } = feature;
  const home = pools.findIndex((pool) => modelOf(pool) === "NamedUser");
  return pools.flatMap((pool, index) => {
    const held = checkouts.filter((each) => each.pool === index);
    const waiting = queue.filter((each) => each.pool === index);
    const isHolder = ({ user }: AssignedReading) => held.some((each) => each.user === user);
    const people =
      modelOf(pool) === "NamedUser" ? assigned.filter((one) => isHolder(one) || index === home) : null;
    const listed = people?.length ?? 0;
    const set = cellsOf(
      feature,
      pool,
      people === null ? (pool.used ?? 0) : listed + (isShort(feature) ? 1 : 0),
    );
    const uses =
      people === null
        ? held.map((each) => printHeld(each, pool, zone))
        : people.map((one) => printAssigned(one, held, zone));
    const rows = [...uses, ...waiting.map((each, at) => printWaiting(each, at + 1))];
    return rows.length === 0
      ? [printRow(set, USED_FROM)]
      : rows.map((row) => printRow({ ...set, ...row }, HEADER.length - 1));
  });
}

function isShort({ consistency }: FeatureReading): boolean {
  return consistency === "short";
}

function cellsOf({ daemon, name }: FeatureReading, pool: PoolReading, inuse: number): Cells {
  const cells = readCells(pool.vendorString ?? "");
  const [model = "", type = "", pricing = "", customer = ""] = Array.isArray(cells) ? cells : [];
  const { expiresOn } = pool.expiry;
  return {
    editor: daemon,
    feature: name,
    model: model || (pool.kind === "unknown" ? "NamedUser" : "ConcurrentUser"),
    type,
    release: pool.version ?? "",
    pricing,
    expires: expiresOn === null ? "" : `${expiresOn} 23:59:00`,
    customer,
    count: pool.unlimited ? "unlimited" : String(pool.total ?? 0),
    inuse: String(inuse),
  };
}

function modelOf(pool: PoolReading): string {
  return pool.vendorString?.split(",", 1)[0] ?? "";
}

function printHeld(held: CheckoutReading, pool: PoolReading, zone: string): Cells {
  const isUser = modelOf(pool) === "ConcurrentUser";
  const started = printTime(held.startedAt, zone);
  return {
    ...printClient(held),
    tokens: isUser ? "" : String(held.count),
    // Make the id of each row distinct, so that each user has a separate license.
    internalId: isUser ? `${held.user ?? ""}.${held.host ?? ""}.${held.handle ?? ""}` : "",
    process: printProcess(held),
    since: started,
    used: started,
    at: started,
  };
}

function printAssigned(
  { user, host, since }: AssignedReading,
  held: readonly CheckoutReading[],
  zone: string,
): Cells {
  const own = held.find((each) => each.user === user);
  const given = printTime(since, zone);
  const base = { internalId: user, since: given, used: given };
  if (own === undefined) return { ...base, user, host: printHost(host) };
  return { ...printClient(own), ...base, process: printProcess(own), at: printTime(own.startedAt, zone) };
}

function printWaiting(waiting: QueueReading, place: number): Cells {
  return {
    ...printClient(waiting),
    tokens: String(waiting.count),
    process: printProcess({ ...waiting, pid: null }),
    queue: String(place),
  };
}

function printClient({ user, host, version, handle }: QueueReading | CheckoutReading): Cells {
  return { user: user ?? "", host: printHost(host), clientVersion: version ?? "", session: handle ?? "" };
}

function printHost(host: string | null): string {
  return host === null ? "" : `${host} (263.0)/127.0.0.1`;
}

function printProcess({ qualifier, pid }: Pick<CheckoutReading, "qualifier" | "pid">): string {
  if (pid === null) return qualifier ?? "";
  return `${qualifier ?? ""} ( ${pid})`;
}

function printTime(time: number | null, zone: string): string {
  if (time === null) return "";
  return new Date(wallClock(zone, time)).toISOString().slice(0, 19).replace("T", " ");
}

function printRow(cells: Cells, length: number): string {
  const named = new Map(
    Object.entries(cells).map(([column, text]) => [COLUMNS[column as Column] as string, text]),
  );
  const fixed = new Map([
    ["EditorId", EDITOR_ID],
    ["Max Release Date", named.get(COLUMNS.expires) ?? ""],
    ["Max Casual Duration", "0"],
  ]);
  const row = HEADER.slice(0, length).map((title) => named.get(title) ?? fixed.get(title) ?? "");
  // The tool ends a row without users with a comma, and a row of a user with its place in the queue.
  return printCells(length === USED_FROM ? [...row, ""] : row);
}
