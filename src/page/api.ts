import { signal, signal as signalOf } from "@preact/signals";
import type { AlertRecord } from "../domain/alerts.ts";
import type { DenialRecord, LoggingRecord } from "../domain/denials.ts";
import type { LogEvent } from "../domain/events.ts";
import type {
  EfficiencyRecord,
  HeatCellRecord,
  SessionRecord,
  StatsRecord,
  UsageRecord,
  WaitsRecord,
} from "../domain/history-records.ts";
import type { CreatedKey, Key, Me, Permission, SignInRecord } from "../domain/keys.ts";
import type { AvailabilityRecord, OutageRecord } from "../domain/outages.ts";
import type {
  ErrorBody,
  ExpirationRecord,
  FeatureRecord,
  RawOutput,
  RescanResult,
  UserRecord,
} from "../domain/records.ts";
import type { CommandList, CommandResult } from "../domain/service/commands.ts";
import type { Maintenance } from "../domain/service/maintenance.ts";
import type { FleetSummary, SiteRecord } from "../domain/service/sites.ts";
import type { HealthRecord, Reloaded, Status } from "../domain/service/status.ts";
import { atHub, ownIds, SITE } from "./here.ts";

type Range = Readonly<{ start: string; end: string }>;
/** Rows of a stored list. `total` is their number without the limit. */
type List<Name extends string, Row> = { readonly [N in Name]: readonly Row[] } & { readonly total: number };

export interface Answers {
  readonly "/api/me": Me | null;
  readonly "/api/licenses/features": List<"features", FeatureRecord>;
  readonly "/api/licenses/users": List<"users", UserRecord>;
  readonly "/api/licenses/servers": List<"servers", { readonly id: string }>;
  readonly "/api/licenses/summary": FleetSummary;
  readonly "/api/fleet/sites": List<"sites", SiteRecord>;
  readonly [site: `/api/fleet/sites/${string}`]: SiteRecord;
  readonly "/api/licenses/alerts": List<"alerts", AlertRecord & { readonly site?: string }>;
  readonly "/api/licenses/stats": List<"features", StatsRecord> & Range;
  readonly "/api/licenses/waits": List<"waits", WaitsRecord> & Range;
  readonly "/api/licenses/heatmap": {
    readonly features: number;
    readonly cells: readonly HeatCellRecord[];
  } & Range;
  readonly "/api/licenses/efficiency": List<"features", EfficiencyRecord> & Range;
  readonly "/api/licenses/usage": List<"groups", UsageRecord> & Range & { readonly coverage: number };
  readonly "/api/licenses/sessions": List<"sessions", SessionRecord>;
  readonly "/api/licenses/denials": List<"denials", DenialRecord> & {
    readonly logging: readonly LoggingRecord[];
  };
  readonly "/api/licenses/expirations": List<"expirations", ExpirationRecord>;
  readonly "/api/licenses/outages": List<"outages", OutageRecord> &
    Range & { readonly servers: readonly AvailabilityRecord[] };
  readonly [raw: `/api/licenses/servers/${string}/raw`]: RawOutput;
  readonly "/api/keys": List<"keys", Key>;
  readonly "/api/signins": List<"signins", SignInRecord>;
  readonly "/api/status": Status;
  readonly "/api/health": HealthRecord;
  readonly "/api/maintenance": Maintenance;
  readonly "/api/execute": CommandList;
  readonly "/api/logs/recent": List<"logs", LogEvent>;
  readonly "/api/logs/search": List<"logs", LogEvent>;
}

interface Changes {
  readonly "/api/signin": null;
  readonly "/api/signout": null;
  readonly "/api/keys": CreatedKey;
  readonly "/api/reload": Reloaded;
  readonly "/api/execute": CommandResult;
  readonly "/api/licenses/rescan": { readonly results: readonly RescanResult[] };
  readonly [alert: `/api/licenses/alerts/${number}/${"acknowledge" | "silence"}`]: AlertRecord;
}

export type Query = Readonly<Record<string, string | readonly string[]>>;

/** An error answer. `code` is null if a proxy answered. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorBody["code"] | null,
    message: string,
    readonly requestId: string | null,
    readonly details: string | null,
  ) {
    super(message);
  }
}

/** The server's clock minus this browser's, in ms, from the last `Date` header (whole seconds). */
let offset = 0;
const LEAST_OFFSET_MS = 2_000;

export function serverNow(): number {
  return Date.now() + offset;
}

/** Header that marks requests of the page. A form or a script of another origin cannot send it. */
export const PAGE = { "x-licmond": "page" };

declare global {
  var early: Map<string, Promise<Response>> | undefined;
}

function takeEarly(path: string): Promise<Response> | undefined {
  const answer = globalThis.early?.get(path);
  globalThis.early?.delete(path);
  return answer;
}

/** Time until which requests wait after a 429, in epoch ms by the server's clock. */
export const waitsUntil = signalOf(0);
/**
 * Maximum wait after a 429, in seconds. A longer wait is shown as an error, because a daily quota would
 * block the page for hours.
 */
const LONGEST_WAIT_S = 300;

/**
 * Time without an answer after which a request is aborted. A daemon that hangs accepts requests but sends
 * nothing.
 */
const UNANSWERED_MS = 30_000;

/** Returns a signal that aborts after 30 s without an answer. Calling `heard` restarts the 30 s. */
export function createPatience(): { readonly signal: AbortSignal; heard(): void } {
  const end = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    // Restart the time while requests wait after a 429, because waiting requests cannot be answered.
    timer = setTimeout(() => (waitsUntil.peek() > serverNow() ? heard() : end.abort()), UNANSWERED_MS);
  };
  heard();
  return { signal: end.signal, heard };
}

/**
 * Sends a GET request. Throws a Refusal if the daemon refuses the request, or the TypeError of `fetch` if
 * no answer arrives.
 */
export async function get<P extends keyof Answers>(
  path: P,
  query: Query = {},
  signal: AbortSignal | null = null,
): Promise<Answers[P]> {
  return read(await ask(addressOf(path, query), { signal, headers: PAGE }));
}

async function read<T>(response: Response): Promise<T> {
  return JSON.parse(response.status === 204 ? "null" : ownIds(await response.text(), SITE));
}

function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

const OF_JSON = { "content-type": "application/json", ...PAGE };

export async function post<P extends keyof Changes>(path: P, body: object | null): Promise<Changes[P]> {
  return read(await ask(path, { method: "POST", headers: OF_JSON, body: body && JSON.stringify(body) }));
}

export async function remove(path: `/api/${"keys" | "signins"}/${string}`, body: object): Promise<void> {
  await ask(path, { method: "DELETE", headers: OF_JSON, body: JSON.stringify(body) });
}

/** Sends a request. The relative address works below any prefix. Waits after a 429. Throws like `get`. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await (takeEarly(path) ?? fetch(`.${path}`, { cache: "no-cache", ...init }));
  const date = Date.parse(response.headers.get("date") ?? "");
  const seen = date + 500 - Date.now();
  if (!Number.isNaN(seen)) offset = Math.abs(seen) > LEAST_OFFSET_MS ? seen : 0;
  if (response.ok || response.status === 304) return response;
  const seconds = Number(response.headers.get("retry-after"));
  if (response.status === 429 && init.method === undefined && seconds > 0 && seconds <= LONGEST_WAIT_S) {
    waitsUntil.value = serverNow() + 1000 * seconds;
    await pause(1000 * seconds, init.signal);
    return ask(path, init);
  }
  const body = (await response.json().catch(() => null)) as ErrorBody | null;
  const words = body?.message ?? `The server answers ${response.status}.`;
  const id = response.headers.get("x-request-id");
  throw new Refusal(response.status, body?.code ?? null, words, id, body?.details ?? null);
}

const BY_SITE = /^\/api\/(picture|licenses\/[a-z.]+)$/;

/** Returns the address of a query. On the pages of a site, adds the site and replaces server ids with the hub's ids. */
export function addressOf(path: string, { server, ...query }: Query): string {
  return (
    path +
    search({
      ...(SITE !== null && BY_SITE.test(path) && { site: SITE }),
      ...(server !== undefined && { server: [server].flat().map(atHub) }),
      ...query,
    })
  );
}

export function search(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) pairs.append(name, one);
  return pairs.size === 0 ? "" : `?${pairs}`;
}

/** The signed-in caller, or the viewer of a public page; null while unknown, and if no one is signed in. */
export const me = signal<Me | null>(null);

export const may = (what: Permission): boolean => me.value?.permissions.includes(what) ?? false;

/** Reports whether an action is known to be forbidden. Returns false until the permissions are known. */
export const mayNot = (what: Permission): boolean => me.value !== null && !may(what);

/**
 * Loads the caller. Returns false if no one is signed in. Ignores failures, because the following request
 * for the picture reports them.
 */
export async function loadMe(): Promise<boolean> {
  try {
    me.value = await get("/api/me");
    return me.value !== null;
  } catch {
    return true;
  }
}
