import { DAEMON_RULES } from "../../src/domain/alerts.ts";
import { ROW_COLUMNS } from "../../src/domain/picture.ts";
import type { Fleet, FleetSite } from "./fleet-rig.ts";

/** Compares a hub's answers about a site with the site's own answers, from one table of questions. */

export interface Question {
  /** Path without `site=`; `{server}` is replaced by each server of the site. */
  readonly path: string;
  /** Fields of the sites' answers whose sum equals the field in the hub's answer. */
  readonly adds?: readonly string[];
  /** Set if the answer may be empty at some hours of the simulated day. */
  readonly mayBeEmpty?: true;
}

/** Parameters that select the rules of daemons, because a hub has additional rules about sites. */
const RULES = `&rule=${DAEMON_RULES}`;
const START = "start={start}&end={end}";
const MAY_BE_EMPTY = { adds: ["total"], mayBeEmpty: true } as const;
/** Every list, session range and statistic that both have. Ranges end in the past. */
export const QUESTIONS: readonly Question[] = [
  { path: "/api/licenses/features?limit=10000", adds: ["total"] },
  { path: "/api/licenses/features?limit=10000&sort=-utilization" },
  { path: "/api/licenses/features?limit=3&offset=2&sort=name" },
  { path: "/api/licenses/features?limit=10000&search=a&min_utilization=30&state=ok", ...MAY_BE_EMPTY },
  { path: "/api/licenses/features?limit=10000&server={server}" },
  { path: "/api/licenses/users?limit=10000", adds: ["total"] },
  { path: "/api/licenses/users?limit=10000&kind=queued,reservation", ...MAY_BE_EMPTY },
  { path: "/api/licenses/users?limit=10000&sort=-count&server={server}" },
  { path: "/api/licenses/servers?limit=10000", adds: ["total"] },
  { path: "/api/licenses/servers?limit=10000&sort=-name" },
  { path: "/api/licenses/servers/{server}" },
  { path: "/api/licenses" },
  { path: "/api/licenses?server={server}" },
  {
    path: "/api/licenses/summary",
    adds: [
      ...["up", "degraded", "down", "unknown"].map((status) => `servers.${status}`),
      ...["total", "used", "available"].map((what) => `seats.${what}`),
      ...["features", "staleFeatures", "unlimitedFeatures", "queued", "reserved"],
    ],
  },
  { path: "/api/licenses/expirations?limit=10000&permanent=true", adds: ["total"] },
  { path: "/api/licenses/expirations?limit=10000&days=90&sort=-total", adds: ["total"] },
  { path: "/api/picture" },
  { path: `/api/licenses/sessions?limit=10000&${START}`, adds: ["total"] },
  { path: `/api/licenses/sessions?limit=10000&${START}&sort=-startedAt` },
  { path: `/api/licenses/sessions?limit=10000&${START}&server={server}` },
  { path: `/api/licenses/sessions?limit=7&offset=5&${START}&sort=lastSeenAt` },
  { path: `/api/licenses/sessions?limit=10000&start={middle}&end={end}`, adds: ["total"] },
  { path: `/api/licenses/sessions?limit=10000&start={start}&end={middle}`, adds: ["total"] },
  // Omit the end, to include rows of a clock that was ahead.
  { path: "/api/licenses/sessions?limit=10000&start={start}" },
  { path: `/api/licenses/denials?limit=10000&${START}`, adds: ["total"] },
  { path: `/api/licenses/denials?limit=10000&start={middle}&end={end}&server={server}` },
  { path: `/api/licenses/alerts?limit=10000${RULES}`, adds: ["total"] },
  { path: `/api/licenses/alerts?limit=10000&state=firing${RULES}`, ...MAY_BE_EMPTY },
  {
    path: `/api/licenses/alerts?limit=10000&severity=critical,warning&state=resolved${RULES}`,
    ...MAY_BE_EMPTY,
  },
  { path: `/api/licenses/outages?limit=10000&${START}`, adds: ["total"] },
  { path: `/api/licenses/outages?limit=10000&${START}&status=down&server={server}` },
  { path: `/api/licenses/waits?limit=10000&${START}`, adds: ["total"] },
  { path: `/api/licenses/stats?limit=10000&${START}`, adds: ["total"] },
  { path: `/api/licenses/stats?limit=10000&${START}&interval=1h&series=true&server={server}` },
  { path: `/api/licenses/stats?limit=10000&${START}&interval=1d&series=true&timezone=Europe/Berlin` },
  { path: `/api/licenses/heatmap?${START}` },
  { path: `/api/licenses/heatmap?${START}&server={server}&timezone=Asia/Kolkata` },
  { path: `/api/licenses/efficiency?limit=10000&${START}`, adds: ["total"] },
  ...["user", "host", "feature", "daemon", "server", "day", "user,feature", "label:location"].map((keys) => ({
    path: `/api/licenses/usage?limit=10000&${START}&group_by=${keys}`,
    ...(["feature", "server"].includes(keys) && { adds: ["total"] }),
  })),
  { path: "/api/licenses/people?limit=10000" },
  { path: `/api/licenses/people?limit=10000&q=a&kind=user` },
];

export interface Range {
  readonly start: number;
  readonly end: number;
}

export async function differences(fleet: Fleet, range: Range, sites = fleet.sites): Promise<string[]> {
  const found: string[] = [];
  for (const question of QUESTIONS) {
    const sums = new Map(question.adds?.map((place) => [place, 0]));
    for (const site of sites) {
      const answers: unknown[] = [];
      for (const path of pathsOf(question, range, site)) {
        const answer = await atHub(fleet, site, path);
        const own = await site.get<unknown>(path);
        answers.push(own);
        const where = `${site.name}: ${path}`;
        if (!answer.ok) found.push(`${where}: ${answer.status} ${await answer.text()}`);
        else difference(plain(own, site.name), plain(await answer.json(), site.name), where, found);
      }
      for (const [place, sum] of sums) sums.set(place, sum + Number(at(answers[0], place)));
    }
    if (sums.size === 0 || sites.length < fleet.sites.length) continue;
    const path = filled(question.path, range);
    const whole = (await (await fleet.get(path)).json()) as unknown;
    if (sums.get("total") === 0 && !question.mayBeEmpty)
      found.push(`all: ${path}: there is nothing to compare`);
    for (const [place, sum] of sums)
      if (at(whole, place) !== sum)
        found.push(`all: ${path}: ${place}: ${sum} at the sites, ${at(whole, place)} at the hub`);
  }
  return found;
}

const iso = (instant: number) => new Date(instant).toISOString();

function filled(path: string, { start, end }: Range): string {
  return path
    .replace("{start}", iso(start))
    .replace("{end}", iso(end))
    .replace("{middle}", iso(Math.round((start + end) / 2)));
}

function pathsOf({ path }: Question, range: Range, { servers }: FleetSite): string[] {
  const whole = filled(path, range);
  return whole.includes("{server}") ? servers.map((id) => whole.replace("{server}", id)) : [whole];
}

/** Sends the same question about a site to the hub, where server ids have a prefix. */
function atHub(fleet: Fleet, { name }: FleetSite, path: string): Promise<Response> {
  const prefixed = path.replace("/servers/", `/servers/${name}:`).replace("server=", `server=${name}:`);
  if (/\/servers\//.test(path)) return fleet.get(prefixed);
  return fleet.get(`${prefixed}${prefixed.includes("?") ? "&" : "?"}site=${name}`);
}

/** Fields to ignore: those that only the hub has, ids, and free text of tools, which sites do not send. */
const LEFT_OUT = new Set(["site", "sites", "siteId", "session", "snapshot", "display", "qualifier"]);
const COLUMNS_LEFT_OUT = new Set(["key", "session", "display", "qualifier"]);
const ROWS = ["key", ...ROW_COLUMNS].map((name) => COLUMNS_LEFT_OUT.has(name));

/** Removes fields that may differ: `site`, the prefix of server ids, the hub's own ids, and free text. */
function plain(value: unknown, site: string, name = ""): unknown {
  if (Array.isArray(value)) {
    // In a picture, rows are arrays; elsewhere they are objects.
    if (name === "rows")
      return value.map((row: unknown[]) => row.map((cell, at) => (ROWS[at] ? null : cell)));
    return value.map((one) => plain(one, site));
  }
  if (typeof value === "string" && value.startsWith(`${site}:`)) return value.slice(site.length + 1);
  if (typeof value !== "object" || value === null) return value;
  const id = "siteId" in value ? { id: value.siteId } : {};
  const fields = Object.entries({ ...value, ...id }).filter(([key]) => !isLeftOut(key, value));
  return Object.fromEntries(fields.map(([key, field]) => [key, plain(field, site, key)]));
}

function isLeftOut(key: string, record: object): boolean {
  // Lists of a hub have a limit even if the daemon's list returns everything.
  if ("summary" in record && ["total", "limit", "offset"].includes(key)) return true;
  if ("staleFeatures" in record && key === "alerts") return true;
  // Messages of alerts and errors must be equal. Of `logging`, the hub knows the state but not the message.
  if (key === "message") return "since" in record;
  // Durations of ongoing rows grow between two requests.
  if (key === "durationSeconds") return isOpen(record, "endedAt") || isOpen(record, "resolvedAt");
  return LEFT_OUT.has(key);
}

const isOpen = (record: object, end: string) => end in record && record[end as keyof typeof record] === null;

function at(value: unknown, place: string): unknown {
  return place
    .split(".")
    .reduce<unknown>((found, key) => (found as Record<string, unknown> | undefined)?.[key], value);
}

/** Appends the places where two values differ, up to a limit for each answer. */
function difference(own: unknown, hub: unknown, where: string, found: string[]): void {
  const before = found.length;
  const walk = (x: unknown, y: unknown, path: string): void => {
    if (Object.is(x, y) || found.length >= before + 5) return;
    if (!isRecord(x) || !isRecord(y) || Array.isArray(x) !== Array.isArray(y))
      return void found.push(`${where}: ${path}: ${shown(x)} at the site, ${shown(y)} at the hub`);
    for (const key of new Set([...Object.keys(x), ...Object.keys(y)])) walk(x[key], y[key], `${path}.${key}`);
  };
  walk(own, hub, "");
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
const shown = (value: unknown) => (JSON.stringify(value) ?? "nothing").slice(0, 200);
