import { closestNames, closestSentence } from "../../config/closest-word.ts";
import type { StatsRecord } from "../../domain/history-records.ts";
import { countOf } from "../../domain/plain-text.ts";
import { groupLimit } from "../../domain/polls/seat-groups.ts";
import type { FeatureRecord, UserRecord } from "../../domain/records.ts";
import { iso, MINUTE_MS, span } from "../../domain/time/clock.ts";
import type { Client } from "../client/client.ts";
import { command, text } from "../command.ts";
import { Failure } from "../io.ts";
import {
  ASK,
  ask,
  type Features,
  licenses,
  minuteOf,
  PLAIN,
  printLine,
  printRows,
  RED,
  type Row,
  seatsOf,
  show,
} from "./output.ts";

export const NARROW = {
  server: text("<id>", "only this server"),
  daemon: text("<name>", "only this daemon"),
};

export const who = command({
  args: [["<feature...>", "feature names or parts of them; case-insensitive"]],
  options: { ...NARROW, ...ASK },
  async run({ args, options }, io) {
    const client = await ask(options, io);
    const { server, daemon } = options;
    const named = await Promise.all(args.map((name) => featuresNamed(client, name, { server, daemon })));
    const features = named.flat();
    const asked = { feature: [...new Set(features.map(({ name }) => name))], server, daemon };
    const isFull = ({ available }: FeatureRecord) => available !== null && available <= 0;
    const free = (feature: FeatureRecord) => (isFull(feature) ? lastFree(client, feature, io.now()) : null);
    const [{ users }, lastFrees] = await Promise.all([
      client.get<{ users: readonly UserRecord[] }>(licenses("users", asked)),
      Promise.all(options.json || options.csv ? [] : features.map(free)),
    ]);
    const schema = async () => (await import("../../domain/records.ts")).UserRecord;
    await show(options, io, { features, users }, users, schema, () => {
      for (const [at, feature] of features.entries()) {
        if (at > 0) io.out("\n");
        printLine(io, headline(feature, io.now()));
        const told = lastFrees[at] ?? null;
        if (told !== null) printLine(io, told);
        const rows = users.filter((user) => isOf(user, feature)).toSorted(byKind);
        const heads = ["user", "host", `>${feature.unit}`, ">since", ">held", ""];
        const cells = rows.map((row) => rowOf(row, io.now()));
        printRows(io, heads, cells, `No ${feature.unit} in use.`);
      }
    });
  },
});

/**
 * Returns the features with that name. Without a match, ignores case. If still none match, returns the
 * features whose name contains the given name. Throws Failure with the closest names if no feature matches.
 */
export async function featuresNamed(
  client: Client,
  name: string,
  narrow: { readonly server: string | undefined; readonly daemon: string | undefined },
): Promise<readonly FeatureRecord[]> {
  const find = async (by: "feature" | "search") =>
    (await client.get<Features>(licenses("features", { [by]: name, ...narrow }))).features;
  const containing = await find("search");
  const alike = containing.filter((one) => one.name.toLowerCase() === name.toLowerCase());
  const exact = alike.filter((one) => one.name === name);
  for (const found of [exact, alike, containing]) if (found.length > 0) return found;
  // The API fails and suggests the closest features. But while a server has never been read, the API
  // accepts any name, so compare names here too.
  await find("feature");
  const { features } = await client.get<Features>(licenses("features", narrow));
  const closest = closestNames(name, new Set(features.map((one) => one.name))).map((one) => `"${one}"`);
  throw new Failure(`Unknown feature "${name}".${closestSentence(closest)}`);
}

function headline(feature: FeatureRecord, now: number): string {
  const { name, server, daemon, available, reserved, queued, assigned, collectedAt, state } = feature;
  const inGroup = groupLimit(feature) > 0 ? " in its seat group" : "";
  const counts = [
    `${seatsOf(feature)} in use`,
    ...(available === null ? [] : [`${available} free${inGroup}`]),
    ...(reserved ? [`${reserved} reserved`] : []),
    ...(queued ? [`${queued} waiting`] : []),
    ...(assigned === null ? [] : [`assigned to ${countOf(assigned, "person", "people")}`]),
  ];
  const read = collectedAt === null ? "never read" : `read ${span(now - Date.parse(collectedAt))} ago`;
  return `${name} (${server}/${daemon}): ${counts.join(", ")}; ${state === "ok" ? "" : `${state}, `}${read}`;
}

const someOf = ({ unit }: FeatureRecord) => (unit === "seats" ? "a seat" : unit);

const BUCKET_MS = 5 * MINUTE_MS;

/** Describes when a seat was last free, from one day of history. */
async function lastFree(client: Client, of: FeatureRecord, now: number): Promise<string> {
  const { name: feature, server, daemon } = of;
  const query = { feature, server, daemon, start: "-24h", interval: "5m", series: "true" };
  const { features } = await client.get<{ features: readonly StatsRecord[] }>(licenses("stats", query));
  const known = features[0]?.series?.filter(({ used, total }) => used !== null && total !== null) ?? [];
  const [some, were] = [someOf(of), of.unit === "seats" ? "was" : "were"];
  if (known.length === 0) return `It is unknown when ${some} ${were} last free.`;
  const free = known.findLast(({ used, total }) => (used ?? 0) < (total ?? 0));
  if (free === undefined)
    return `No ${some.replace("a ", "")} ${were} free in the last 24 h while licmond was monitoring.`;
  const end = iso(Math.min(now, Date.parse(free.timestamp) + BUCKET_MS));
  return `${some[0]?.toUpperCase()}${some.slice(1)} ${were} last free between ${minuteOf(free.timestamp, now)} and ${minuteOf(end, now)}.`;
}

function isOf(user: UserRecord, { server, daemon, name }: FeatureRecord): boolean {
  return user.server === server && user.daemon === daemon && user.feature === name;
}

const KINDS: Readonly<Record<UserRecord["kind"], string>> = {
  checkout: "",
  reservation: "reserved",
  queued: "waits",
  assigned: "assigned",
};

/** Orders holders before reservations and reservations before the queue, each by time, oldest first. */
function byKind(a: UserRecord, b: UserRecord): number {
  const order = Object.keys(KINDS);
  return order.indexOf(a.kind) - order.indexOf(b.kind);
}

function rowOf(row: UserRecord, now: number): Row {
  const { kind, user, host, count, startedAt, firstSeenAt, collectedAt, reservedFor, borrowed } = row;
  const unnamed = reservedFor === null ? "not known" : `${reservedFor.type} ${reservedFor.name}`;
  // If the tool reports no start, use the time of the first poll that showed the checkout.
  const since = startedAt ?? firstSeenAt;
  const held =
    since === null || kind === "assigned" ? "" : span(Date.parse(collectedAt ?? since) - Date.parse(since));
  const what = borrowed ? "borrowed" : KINDS[kind];
  const cells = [user ?? unnamed, host ?? "", String(count), minuteOf(since, now), held, what];
  return [kind === "queued" ? RED : PLAIN, ...cells];
}
