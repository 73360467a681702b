import { createExecutor } from "../../src/collector/execute/executor.ts";
import type { RescanRow } from "../../src/collector/outcomes.ts";
import type { CommandRequest, CommandResult } from "../../src/collector/run-command.ts";
import type { ConfiguredCommand } from "../../src/config/config.ts";
import type { Denial } from "../../src/domain/denials.ts";
import { type KeyRecord, keyState, type NewKey } from "../../src/domain/keys.ts";
import type { Log, LogFields, LogOf } from "../../src/domain/log.ts";
import type { FeaturePicture, ServerPicture, Snapshot } from "../../src/domain/picture.ts";
import type { PollError } from "../../src/domain/poll.ts";
import type { CheckoutReading, FeatureReading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { Role } from "../../src/domain/words.ts";
import { limitedPicture } from "../../src/http/anonymous/anonymous.ts";
import { type App, apiDocument, createApp } from "../../src/http/app.ts";
import type { HttpSettings } from "../../src/http/deps.ts";
import { createRequestCounters } from "../../src/http/request-counters.ts";
import type { AppDeps } from "../../src/http/routes/deps.ts";
import { perPicture } from "../../src/http/snapshot.ts";
import { kindOf, socketCallerOf } from "../../src/http/without-key.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { stateOf } from "../../src/store/database/precious.ts";
import type { KeyCheck } from "../../src/store/key-book.ts";
import type { Keys } from "../../src/store/keys.ts";
import { createSignIns, type SignInsDeps } from "../../src/store/sign-ins.ts";
import * as a from "../domain/make.ts";
import type { createRig } from "../history/rig.ts";
import { type ApiDocument, type Conformance, createConformance } from "./document.ts";
import { emptyHistory, historyPort } from "./history-port.ts";
import { memoryStreams, PSEUDONYMS } from "./streams/rig.ts";

/** Time of the tests: 2026-03-01T12:00:00.000Z. */
export const NOW = Date.UTC(2026, 2, 1, 12);

export function monitored(id: string, more: Partial<MonitoredServer> = {}): MonitoredServer {
  return a.server({ id, name: `The ${id}`, labels: { site: "muc" }, ...more });
}

export function checkout(user: string, more: Partial<CheckoutReading> = {}): CheckoutReading {
  return a.checkout({ user, host: "ws01", startedAt: NOW - 3_600_000, ...more });
}

const EXPIRY = { expiresOn: "2026-03-31", expiresAt: Date.UTC(2026, 3, 1) - 1, permanent: false };

export function feature(name: string, more: Partial<FeaturePicture> = {}): FeaturePicture {
  return {
    daemon: "acmed",
    name,
    total: 4,
    used: 1,
    available: 3,
    reserved: 0,
    queued: 0,
    unlimited: false,
    utilization: 25,
    shared: false,
    expiry: EXPIRY,
    pools: [{ id: "1", ...a.pool({ total: 4, expiry: EXPIRY }) }],
    state: "ok",
    error: null,
    collectedAt: NOW - 5_000,
    checkouts: [checkout("ada")],
    reservations: [],
    queue: [],
    missed: 0,
    missedPools: 0,
    ...more,
  };
}

export function picture(id: string, more: Partial<ServerPicture> = {}): ServerPicture {
  return {
    server: monitored(id),
    status: "up",
    state: "ok",
    members: [a.member({ master: true })],
    daemons: [a.daemon({ name: "acmed" })],
    error: null,
    collectedAt: NOW - 5_000,
    lastPollAt: NOW - 5_000,
    nextPollAt: NOW + 55_000,
    pollDurationMs: 120,
    toolVersion: "v11.19",
    unparsedLines: 1,
    unparsed: [{ line: 7, text: "a line that no rule knew" }],
    cut: false,
    reachability: [
      { host: "lic1", port: 27000, addresses: ["192.0.2.1"], reachable: true, connectMs: 1.5, error: null },
    ],
    features: [
      feature("solver"),
      feature("mesher", { used: 0, utilization: 0, available: 4, checkouts: [] }),
    ],
    ...more,
  };
}

export function denial(at: number, more: Partial<Denial> = {}): Denial {
  return {
    at,
    until: at,
    server: "eda",
    daemon: "acmed",
    feature: "solver",
    user: "ada",
    host: "WS01",
    count: 1,
    reason: null,
    code: -4,
    attempts: 1,
    outcome: "denied",
    ...more,
  };
}

const POLLS = { servers: 1, enabled: 1, runningPolls: 0, durationMs: { p50: 100, p95: 120.5 } };
const RAW = {
  ...a.outcome().raw,
  argv: ["/opt/lmutil", "lmstat", "-a"],
  stdout: new TextEncoder().encode("Users of solver: …"),
};
const SYSTEM = { hostname: "mon1", os: "Debian GNU/Linux 12", kernel: "6.1.0", arch: "x64" };
const ADDRESS = { address: "192.0.2.9", family: "IPv4", prefixLength: 24 } as const;
const fine = (message: string) => ({ status: "healthy", message }) as const;
const HEALTH = { database: fine("up"), collector: fine("polls"), disk: fine("12 %"), clock: fine("right") };

type Rig = ReturnType<typeof createRig>;

export interface LogLine {
  readonly level: string;
  readonly source: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** `[page]` with defaults. */
export const PRIVATE: HttpSettings["page"] = {
  people: "viewer",
  public: "off",
  frameAncestors: [],
  userHeader: null,
  roleHeader: null,
  roles: null,
};

/** Limits that tests do not reach. */
export const PLENTY: HttpSettings["limits"] = {
  requestsPerMinute: 1_000_000,
  burst: 1_000_000,
  anonymousPerMinute: 1_000_000,
  dailyQuota: null,
  monthlyQuota: null,
};

const SETTINGS: HttpSettings = {
  host: "127.0.0.1",
  port: 0,
  publicUrl: null,
  tls: null,
  maxBodyBytes: 1024,
  rescanTimeoutMs: 5_000,
  timezone: "Europe/Berlin",
  products: [],
  maintenance: [],
  page: PRIVATE,
  corsOrigins: [],
  trustedProxies: [],
  limits: PLENTY,
};

/** A daemon of plain objects. Tests can change every field. */
export interface Bench {
  readonly app: App;
  readonly deps: Omit<AppDeps, "keys"> & { readonly keys: MemoryKeys };
  /** One key of each role, and an anonymized viewer's key. */
  readonly keys: Readonly<Record<Exclude<Role, "site"> | "anonymous", string>>;
  readonly logged: LogLine[];
  /** Log lines of one source. */
  linesOf(source: string): LogLine[];
  /** Names of the servers in each call of the collector's rescan; null for all. */
  readonly rescans: (readonly string[] | null)[];
  now: number;
  /** Tests change it as a reload would. */
  settings: HttpSettings;
  show(...servers: ServerPicture[]): void;
  /** Sets the error of the next polls of a server; null lets them succeed. */
  fail(server: string, error: PollError | null): void;
  /** Sends a request to the app. Throws if the answer does not match the document. */
  get(path: string, options?: Ask): Promise<Response>;
  status(path: string, ask?: Ask): Promise<number>;
  /** Returns status and JSON body. */
  answer<Body = Refusal>(path: string, ask?: Ask): Promise<{ readonly status: number; readonly body: Body }>;
  /** Returns the body of a 200 answer. */
  json<T = Record<string, unknown>>(path: string, ask?: Ask): Promise<T>;
  /** Sends JSON, as an admin by default. */
  post(path: string, body: object, key?: string | null): Promise<Response>;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

export interface Ask {
  readonly key?: string | null;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | ReadableStream<Uint8Array>;
}

/** Creates a bench. `settings` are settings that differ from the defaults. */
export function bench(over: Partial<Bench["deps"]> = {}, settings: Partial<HttpSettings> = {}): Bench {
  let snapshot: Snapshot = { version: 1, servers: [picture("eda")] };
  const logged: LogLine[] = [];
  const failures = new Map<string, PollError | null>();
  const rescans: (readonly string[] | null)[] = [];
  const keys = memoryKeys(() => result.now);
  const signIns = memorySignIns(
    (id) => socketCallerOf(id) ?? keys.get(id),
    () => result.now,
  );
  const log: LogOf = (source) => {
    const write =
      (level: string): Log["info"] =>
      (message, fields = {}) =>
        void logged.push({ level, source, message, fields });
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  };
  const row = (server: string): RescanRow => {
    const error = failures.get(server) ?? null;
    return { server, status: error === null ? "ok" : "failed", durationMs: 12, error };
  };
  const requests = createRequestCounters();
  const deps: Bench["deps"] = {
    clock: { now: () => result.now },
    log,
    build: { version: "1.2.3", commit: "abc1234", bun: Bun.version },
    settings: () => result.settings,
    live: { snapshot: () => snapshot },
    pseudonyms: PSEUDONYMS,
    pictures: {
      numberOf: () => snapshot.version,
      anonymous: perPicture((each) => limitedPicture(each, PSEUDONYMS)),
    },
    execute: executor(),
    collector: {
      rescan(ids) {
        rescans.push(ids);
        const enabled = snapshot.servers.flatMap(({ server }) => (server.enabled ? [server.id] : []));
        return Promise.resolve((ids ?? enabled).map(row));
      },
      status: () => ({ ...POLLS, lastPollAt: NOW - 5_000, nextPollAt: NOW + 55_000 }),
      raw: async (id) => (id === "eda" ? { ...RAW, at: NOW, unparsedLines: 0, unparsed: [] } : null),
    },
    keys,
    signIns,
    installationId: "0123abcd",
    quotas: { take: () => null },
    health: () => HEALTH,
    streams: memoryStreams(
      (id) => signIns.holds(id) || kindOf(id) !== "key" || keys.get(id)?.state === "active",
    ),
    denials: { logging: () => [] },
    logs: { clear: () => Promise.resolve(0) },
    history: emptyHistory(() => NOW),
    alerts: {
      counts: () => ({ info: 0, warning: 1, critical: 2 }),
      acknowledge: () => Promise.resolve({ outcome: "unknown" }),
      silence: () => Promise.resolve({ outcome: "unknown" }),
    },
    host: {
      info: () => ({ ...SYSTEM, cpuModel: null, cpuCount: 2, memoryBytes: 4_000_000_000 }),
      interfaces: () => [{ name: "eth0", addresses: [ADDRESS], receivedBytes: 10, sentBytes: null }],
      sample: () => ({ cpu: 12.5, memory: 40, disk: null }),
    },
    daemon: {
      status: () => ({
        startedAt: NOW - 60_000,
        uptimeSeconds: 60,
        configFile: "/etc/licmond/licmond.toml",
        lastReload: { at: NOW - 1000, outcome: "applied", message: null },
        streams: { sse: 0, websocket: 0 },
        database: {
          sizeBytes: 4096,
          schemaVersion: 1,
          oldestSampleAt: null,
          backups: { state: NOW, history: null },
        },
        fleet: null,
        eventLoopLagMs: 0.4,
      }),
      counters: () => ({
        polls: { ok: 3, partial: 1, failed: 0 },
        parseProblems: 2,
        streamClients: 0,
        memoryBytes: 50_000_000,
        cpuSeconds: 1.5,
        eventLoopLagMs: null,
      }),
      reload: () => ({ outcome: "applied", problems: [], needRestart: [] }),
    },
    meters: requests.emit,
    ...over,
  };
  const app = createApp(deps, requests);
  const result: Bench = {
    app,
    deps,
    keys: {
      calendar: keys.add("calendar"),
      viewer: keys.add("viewer"),
      operator: keys.add("operator"),
      admin: keys.add("admin"),
      anonymous: keys.add("viewer", { anonymize: true }),
    },
    logged,
    linesOf: (source) => logged.filter((line) => line.source === source),
    rescans,
    now: NOW,
    settings: { ...SETTINGS, ...settings },
    show(...servers) {
      snapshot = { version: snapshot.version + 1, servers };
    },
    fail: (server, error) => void failures.set(server, error),
    async get(path, { key = result.keys.viewer, method = "GET", headers = {}, body } = {}) {
      const response = await app.handle(
        new Request(`http://lic${path}`, {
          method,
          headers: { ...(key !== null && { "x-api-key": key }), ...headers },
          ...(body !== undefined && { body, duplex: "half" }),
        }),
      );
      await hold(deps, method, path, response);
      return response;
    },
    status: async (path, ask) => (await result.get(path, ask)).status,
    async answer<Body>(path: string, ask: Ask = {}) {
      const response = await result.get(path, ask);
      return { status: response.status, body: (await response.json()) as Body };
    },
    async json<T>(path: string, ask: Ask = {}) {
      const response = await result.get(path, ask);
      if (response.status !== 200) throw new Error(`${path} → ${response.status}: ${await response.text()}`);
      return (await response.json()) as T;
    },
    post: (path, body, key = result.keys.admin) => {
      const headers = { "content-type": "application/json" };
      return result.get(path, { key, method: "POST", body: JSON.stringify(body), headers });
    },
  };
  return result;
}

/** Creates a bench at `now` with the history of a rig. */
export function historyBench(
  { reader }: Pick<Rig, "reader">,
  now: number,
  settings: Partial<HttpSettings> = {},
): Bench {
  const at = bench({ history: historyPort(() => reader(now)) }, settings);
  at.now = now;
  return at;
}

/** Polls servers every minute. A poll without features fails. */
export async function pollMinutes(
  { poll }: Pick<Rig, "poll">,
  from: number,
  to: number,
  servers: Readonly<Record<string, (at: number) => readonly FeatureReading[] | null>>,
): Promise<void> {
  for (let at = from; at <= to; at += 60_000)
    for (const [serverId, read] of Object.entries(servers)) {
      const features = read(at);
      const times = { startedAt: at - 200, finishedAt: at, serverId };
      await poll(
        features === null ? a.failedPoll(times) : a.outcome({ ...times, reading: a.reading({ features }) }),
      );
    }
}

/** Checks answers against the OpenAPI document, which is the same for all benches. */
let conformance: Promise<Conformance> | null = null;

async function hold(deps: AppDeps, method: string, path: string, response: Response): Promise<void> {
  conformance ??= apiDocument(deps).then((made) =>
    createConformance(JSON.parse(JSON.stringify(made)) as ApiDocument),
  );
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const bytes = isStream ? null : new Uint8Array(await response.clone().arrayBuffer());
  const zipped = headers.get("content-encoding") === "gzip" && bytes !== null && bytes.length > 0;
  const text = bytes && new TextDecoder().decode(zipped ? Bun.gunzipSync(bytes) : bytes);
  const { pathname } = new URL(`http://lic${path}`);
  const problems = (await conformance).check(method, pathname, { status, headers, text });
  if (problems.length > 0) throw new Error(`${method} ${path} → ${status}: ${problems.join("; ")}\n${text}`);
}

/** Creates an executor without processes (`run` is a stub). Commands are off by default. */
export function executor(
  commands: readonly ConfiguredCommand[] | null = null,
  run: (request: CommandRequest) => Promise<CommandResult> = () => Promise.reject(new Error("not run here")),
): AppDeps["execute"] {
  return createExecutor({
    run,
    findTool: ([name = ""]) => `/opt/tools/${name}`,
    settings: () => ({ enabled: commands !== null, commands: commands ?? [] }),
    managers: () => [managerOf("flexnet")],
  });
}

/** Defaults of a key. */
export const NEW_KEY: Omit<NewKey, "name"> = {
  role: "viewer",
  expiresAt: null,
  anonymize: false,
  dailyQuota: null,
  monthlyQuota: null,
  requestsPerMinute: null,
};

/** Real sign-ins on an in-memory database. */
function memorySignIns(keyOf: (id: string) => KeyRecord | null, now: () => number) {
  const sqlite = stateOf(null);
  const change = <T>(work: (on: typeof sqlite) => T) => work(sqlite);
  const state = {
    sqlite,
    read: <T>(work: () => T) => work(),
    change,
    transaction: <T>(work: () => T) => work(),
  };
  return createSignIns({ state: state as unknown as SignInsDeps["state"], keyOf, clock: { now } });
}

/** In-memory keys that behave like the real ones. */
type MemoryKeys = Pick<Keys, "verify" | "touch" | "count" | "create" | "list" | "get" | "revoke">;

export function memoryKeys(
  now: () => number,
): MemoryKeys & { add(role: Role, more?: Partial<NewKey>): string } {
  const known = new Map<string, { secret: string; record: KeyRecord }>();
  const current = (record: KeyRecord): KeyRecord => ({ ...record, state: keyState(record, now()) });
  const change = (id: string, fields: Partial<KeyRecord>) => {
    const found = known.get(id);
    if (found !== undefined) known.set(id, { ...found, record: { ...found.record, ...fields } });
  };
  const insert = (wanted: NewKey) => {
    const id = `key${String(known.size).padStart(9, "0")}`;
    const secret = id.padEnd(43, "x");
    const times = { createdAt: NOW, revokedAt: null, lastUsedAt: null };
    const key: KeyRecord = { ...wanted, ...times, id, state: "active" };
    known.set(id, { secret, record: key });
    return { presented: `lmk_${id}_${secret}`, key };
  };
  const list = () => [...known.values()].map(({ record }) => current(record));
  const get = (id: string) => list().find((key) => key.id === id) ?? null;
  return {
    add: (role, more = {}) => insert({ ...NEW_KEY, name: `${role} ${known.size}`, role, ...more }).presented,
    verify(presented): KeyCheck {
      const [, id = "", secret] = presented.split("_");
      const key = get(id);
      if (key === null || known.get(id)?.secret !== secret) return { outcome: "invalid" };
      return { outcome: key.state === "active" ? "valid" : key.state, key };
    },
    touch: (id, at) => change(id, { lastUsedAt: at }),
    count: () => known.size,
    create(wanted) {
      const taken = list().find(({ name, state }) => name === wanted.name && state === "active");
      return taken === undefined
        ? { outcome: "created", ...insert(wanted) }
        : { outcome: "name-taken", key: taken };
    },
    list,
    get,
    revoke(id) {
      const key = get(id);
      if (key === null) return "unknown";
      if (key.revokedAt !== null) return "gone";
      change(id, { revokedAt: now() });
      return "revoked";
    },
  };
}

export const REFUSED: PollError = {
  code: "LICENSE_SERVER_UNREACHABLE",
  message: "Nobody answers at 27000@lic1.",
  details: "Cannot connect to license server system. (-15,570)",
};
