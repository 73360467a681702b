import { type Expiry, PERMANENT } from "../domain/reading.ts";
import { endOfDay } from "../domain/time/zone.ts";
import type { ManagerName } from "../domain/words.ts";
import { dateOf, weekAt } from "./calendar.ts";

/** A simulated license server: what stands still of it. What moves is drawn from seed and clock. */
export interface ServerSpec {
  readonly id: string;
  readonly name: string;
  readonly manager: ManagerName;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly members: readonly MemberSpec[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  /** Of the server software, e.g. `v11.19.5`. */
  readonly version: string;
  readonly staff: StaffSpec;
  /** Checkout lines name the client's process. */
  readonly pids: boolean;
  /** The server does not answer for so many minutes of every hour. */
  readonly silentMinutes: number;
  /** Its vendor daemons' debug log can be read. */
  readonly debugLog: boolean;
  /** A job that asks every hour, day and night, for more seats than there are. Only the log shows it. */
  readonly greedyJob?: { readonly feature: string; readonly seats: number };
  readonly features: readonly FeatureSpec[];
}

export interface MemberSpec {
  readonly host: string;
  readonly port: number;
  readonly master: boolean;
  readonly down: boolean;
}

export interface StaffSpec {
  readonly people: number;
  /** Code of the place in host names, e.g. `muc`. */
  readonly site: string;
  readonly groups: readonly [string, ...string[]];
  readonly windows: boolean;
}

export interface FeatureSpec {
  readonly daemon: string;
  readonly name: string;
  readonly pools: readonly PoolSpec[];
  /** Null: it is not used. */
  readonly use: UseSpec | null;
  /** A request without a seat is refused, also where others of the server wait: most clients do not queue. */
  readonly deny: boolean;
  /** Seats of the first pool that are kept for a user or a group. */
  readonly kept: { readonly type: "user" | "group"; readonly name: string; readonly seats: number } | null;
}

type Range = readonly [min: number, max: number];

/** How a feature is used. */
export interface UseSpec {
  /** Share of the staff that works with it on a usual day, 0–1. */
  readonly share: number;
  /** Times a day that one of them opens it. */
  readonly sessions: Range;
  readonly minutes: Range;
  /** Jobs that start in the evening and hold several seats into the night, on weekends too. */
  readonly batch?: { readonly jobs: Range; readonly seats: Range; readonly hours: Range };
  /** Seats that are held over days or weeks. */
  readonly long?: number;
  /** The long holds are borrowed: taken offline until a set time. */
  readonly borrow?: boolean;
}

export interface PoolSpec {
  /** The version licensed, e.g. `v2026.09`. */
  readonly version: string;
  /** Null is uncounted. */
  readonly seats: number | null;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * When a pool expires, relative to the clock and yet the same from day to day (its date is part of a pool's
 * identity): licenses are renewed every `every` weeks, and expire `days` after the renewal.
 */
export type ExpirySpec = "permanent" | { readonly every: number; readonly days: number };

/** Always within the next 30 days: a lease of four weeks with two days of grace. */
const LEASED: ExpirySpec = { every: 4, days: 29 };
/** Between two and six months ahead. */
const SUPPORTED: ExpirySpec = { every: 20, days: 200 };
/** One to two years ahead. */
const YEARLY: ExpirySpec = { every: 52, days: 730 };
/** In the past, some days to half a year: no administrator has removed it. */
const EXPIRED: ExpirySpec = { every: 26, days: -9 };

/** Licenses expire by the real calendar, whatever week the people live in. */
export function expiryOf(spec: ExpirySpec, zone: string, instant: number): Expiry {
  if (spec === "permanent") return PERMANENT;
  const { index } = weekAt({ zone, ahead: 0 }, instant);
  const expiresOn = dateOf(Math.floor(index / spec.every) * spec.every, spec.days);
  const [year = 0, month = 1, day = 1] = expiresOn.split("-").map(Number);
  return { expiresOn, expiresAt: endOfDay(zone, year, month, day), permanent: false };
}

type Feature = Omit<FeatureSpec, "daemon">;

function pool(version: string, seats: number | null, expires: ExpirySpec, vendorString?: string): PoolSpec {
  return { version, seats, expires, vendorString: vendorString ?? null };
}

function feature(name: string, pools: PoolSpec | PoolSpec[], use: UseSpec | null): Feature {
  return { name, pools: [pools].flat(), use, deny: false, kept: null };
}

/** Some seats of a feature are kept for a group of the staff, or for one user. */
function keep(name: string, seats: number, feature: Feature, type: "group" | "user" = "group"): Feature {
  return { ...feature, kept: { type, name, seats } };
}

function deny(feature: Feature): Feature {
  return { ...feature, deny: true };
}

function use(share: number, sessions: Range, minutes: Range, more: Partial<UseSpec> = {}): UseSpec {
  return { share, sessions, minutes, ...more };
}

/** Jobs: how many an evening, seats and hours of each. */
function batch(jobs: Range, seats: Range, hours: Range): Pick<UseSpec, "batch"> {
  return { batch: { jobs, seats, hours } };
}

/** A service that holds its seats for weeks. */
const service = (seats: number): UseSpec => use(0, [0, 0], [1, 1], { long: seats });

/** What servers differ in. */
interface ServerRow
  extends Pick<ServerSpec, "id" | "name" | "address">,
    Partial<Pick<ServerSpec, "manager" | "pids" | "silentMinutes" | "debugLog" | "greedyJob">> {
  /** Host that is switched off. */
  readonly down?: string;
  readonly labels: { readonly location: string; readonly department: string };
  readonly staff: Omit<StaffSpec, "site">;
  /** Versions by name; that of the first one is the server's. */
  readonly daemons: Readonly<Record<string, string>>;
  /** By daemon. */
  readonly features: Readonly<Record<string, readonly Feature[]>>;
}

function server({ down, staff, daemons, features, ...row }: ServerRow): ServerSpec {
  const members = row.address.split(",").map((member, index, all): MemberSpec => {
    const [port, host = ""] = member.split("@");
    // The second of a triad is the master.
    return { host, port: Number(port), master: all.length === 1 || index === 1, down: host === down };
  });
  return {
    manager: "flexnet",
    pids: false,
    silentMinutes: 0,
    debugLog: true,
    ...row,
    members,
    daemons: Object.entries(daemons).map(([name, version]) => ({ name, version })),
    version: Object.values(daemons)[0] ?? "",
    staff: { ...staff, site: row.labels.location },
    features: Object.entries(features).flatMap(([daemon, all]) => all.map((each) => ({ ...each, daemon }))),
  };
}

const SIMULATION = use(0.55, [2, 5], [15, 150], { ...batch([6, 12], [2, 8], [1, 7]), long: 3 });
const SYNTHESIS = use(0.2, [1, 3], [40, 240], batch([2, 4], [1, 4], [2, 8]));
const SIGNOFF = use(0.1, [1, 2], [30, 200], batch([1, 3], [2, 4], [1, 6]));
const CHECKS = use(0.14, [1, 3], [10, 90], batch([1, 2], [2, 5], [1, 5]));
const CRASHES = use(0.5, [1, 3], [20, 200], { ...batch([5, 10], [8, 30], [2, 8]), long: 4 });
const FLOWS = use(0.15, [1, 2], [60, 300], batch([2, 5], [4, 8], [3, 8]));
const RENDERING = use(0.3, [1, 3], [20, 120], batch([4, 8], [2, 6], [2, 8]));
const RADIO = use(0.06, [1, 2], [30, 240]);
const CAD = use(0.7, [1, 2], [90, 480]);
const COMPILING = use(0.5, [3, 9], [1, 25]);
const LAPTOPS = use(0.03, [1, 1], [60, 300], { long: 5, borrow: true });

/**
 * The license servers of the simulated site: each shows something that a monitor must get right. Names of products
 * and vendors are made up.
 */
export const SERVERS: readonly ServerSpec[] = [
  // Busy: seats run out every working day, people wait in the queue or are denied.
  server({
    id: "eda",
    name: "Chip design tools",
    address: "27000@lic-eda",
    labels: { location: "muc", department: "chip-design" },
    staff: { people: 110, groups: ["analog", "digital", "verification", "layout"], windows: false },
    pids: true,
    greedyJob: { feature: "Timing_Signoff", seats: 16 },
    daemons: { siliqd: "v11.19.5" },
    features: {
      siliqd: [
        feature("Schema_Editor", pool("v2026.06", 38, YEARLY), use(0.75, [1, 3], [30, 300], { long: 2 })),
        feature("Wave_Viewer", pool("v2026.06", 25, YEARLY), use(0.5, [1, 4], [10, 120])),
        keep("verification", 6, feature("LogicSim_Core", pool("v2026.09", 38, SUPPORTED), SIMULATION)),
        deny(feature("LogicSim_Debug", pool("v2026.09", 8, SUPPORTED), use(0.22, [1, 3], [20, 180]))),
        feature("Synth-Ultra", pool("v2025.12", 16, LEASED), SYNTHESIS),
        feature("Timing_Signoff", pool("v2025.12", 12, LEASED), SIGNOFF),
        feature("Layout_XL", pool("v2026.06", 30, YEARLY), use(0.3, [1, 3], [60, 400])),
        feature("DRC_Check", [pool("v2024.03", 8, YEARLY), pool("v2026.03", 8, SUPPORTED)], CHECKS),
        keep("analog", 1, feature("RF_Option", pool("v2026.06", 4, SUPPORTED), RADIO)),
        feature("Power_Analyzer", pool("v2023.12", 3, EXPIRED), null),
      ],
    },
  }),
  // Three redundant servers, one of them down: degraded, and its data is valid.
  server({
    id: "cae",
    name: "Simulation (triad)",
    address: "27010@lic-cae1,27010@lic-cae2,27010@lic-cae3",
    down: "lic-cae3",
    labels: { location: "stu", department: "simulation" },
    staff: { people: 45, groups: ["crash", "nvh", "fluids"], windows: false },
    daemons: { feamond: "v11.16.4" },
    features: {
      feamond: [
        feature("fea_tokens", pool("v62.5", 240, YEARLY), CRASHES),
        feature("fea_prepost", pool("v62.5", 20, YEARLY), use(0.6, [1, 3], [30, 240])),
        feature("cfd_solve", pool("v24.1", 32, LEASED), FLOWS),
        feature("mesh+morph", pool("v24.1", 6, SUPPORTED), use(0.12, [1, 2], [30, 240])),
      ],
    },
  }),
  // Two vendor daemons on one server, with features of equal names.
  server({
    id: "plm",
    name: "CAD and data management",
    address: "28000@lic-plm",
    labels: { location: "muc", department: "mechanics" },
    staff: { people: 60, groups: ["chassis", "interior", "tooling"], windows: true },
    daemons: { drawlmd: "v11.18.3", vaultlmd: "v11.17.1" },
    features: {
      drawlmd: [
        feature("solid_designer", pool("v34.0", 35, YEARLY, "PKG:DESIGN_ADV,SITE=41"), CAD),
        feature("server", pool("v34.0", 2, "permanent"), service(1)),
        feature("viewer", pool("v34.0", 80, "permanent"), use(0.4, [1, 4], [5, 60])),
        feature("laptop_kit", pool("v34.0", 10, SUPPORTED, "PKG:MOBILE"), LAPTOPS),
      ],
      vaultlmd: [
        feature("server", pool("v12.2", 4, YEARLY), service(3)),
        feature("viewer", pool("v12.2", 12, LEASED), use(0.35, [1, 3], [10, 90])),
        feature("author", pool("v12.2", 25, YEARLY), use(0.45, [1, 3], [20, 240])),
      ],
    },
  }),
  // Cannot be reached for ten minutes of every hour, and its log is not readable.
  server({
    id: "remote",
    name: "Branch office (bad line)",
    address: "27020@lic-branch",
    labels: { location: "gra", department: "electronics" },
    staff: { people: 18, groups: ["boards"], windows: true },
    silentMinutes: 10,
    debugLog: false,
    daemons: { pcbd: "v11.13.1" },
    features: {
      pcbd: [
        feature("board_layout", pool("v17.4", 8, YEARLY), use(0.5, [1, 3], [40, 300])),
        feature("board_router", pool("v17.4", 2, SUPPORTED), use(0.15, [1, 2], [20, 120])),
        feature("library_manager", pool("v17.4", 5, "permanent"), use(0.2, [1, 3], [10, 60])),
      ],
    },
  }),
  // Uncounted features beside floating ones.
  server({
    id: "embedded",
    name: "Compilers and debuggers",
    address: "8224@lic-embedded",
    labels: { location: "muc", department: "firmware" },
    staff: { people: 35, groups: ["firmware", "test"], windows: true },
    daemons: { compd: "v11.14.1" },
    features: {
      compd: [
        keep("buildbot", 2, feature("cc_arm64", pool("v6.22", 12, YEARLY), COMPILING), "user"),
        deny(feature("debugger", pool("v6.22", 6, SUPPORTED), use(0.3, [1, 3], [20, 200]))),
        feature("static_check", pool("v6.10", 5, LEASED), use(0.2, [1, 3], [5, 60])),
        feature("cc_host_any", pool("v6.22", null, "permanent"), null),
        feature("trace_probe", pool("v2.0", null, YEARLY), null),
      ],
    },
  }),
  // RLM: two ISVs and several pools of one product; a request without a seat is denied.
  server({
    id: "media",
    name: "Rendering and compositing",
    manager: "rlm",
    address: "5053@lic-media",
    labels: { location: "ber", department: "visualisation" },
    staff: { people: 40, groups: ["lighting", "comp"], windows: false },
    debugLog: false,
    daemons: { lumenisv: "v14.2", paintisv: "v12.4" },
    features: {
      lumenisv: [
        feature("lumen_render", [pool("v2026.0", 40, SUPPORTED), pool("v2026.0", 20, LEASED)], RENDERING),
        feature("lumen_interactive", pool("v2026.0", 14, SUPPORTED), use(0.6, [1, 3], [40, 260])),
        feature("denoise-gpu", pool("v3.1", 4, YEARLY), use(0.2, [1, 2], [10, 120])),
      ],
      paintisv: [
        feature("paint_studio", pool("v9.5", 10, YEARLY), use(0.35, [1, 3], [30, 240], { long: 1 })),
        feature("paint_viewer", pool("v9.5", null, "permanent"), use(0.3, [1, 3], [5, 60])),
      ],
    },
  }),
];
