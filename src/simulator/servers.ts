import { type Expiry, PERMANENT, type ReservationType, UNKNOWN_EXPIRY } from "../domain/reading.ts";
import { endOfDay } from "../domain/time/zone.ts";
import type { ManagerName, PoolKind } from "../domain/words.ts";
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
  /** A job that asks every hour, day and night, for more seats than there are. Only the log tells of it. */
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
  /** Null: nobody uses it. */
  readonly use: UseSpec | null;
  /** A request without a seat is refused, also where others of the server may wait: most clients do not queue. */
  readonly deny?: boolean;
  readonly kept: readonly {
    readonly type: Extract<ReservationType, "user" | "host" | "group">;
    readonly name: string;
    readonly seats: number;
  }[];
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
  readonly kind: PoolKind;
  readonly vendorString: string | null;
  readonly expires: ExpirySpec;
}

/**
 * When a pool expires, relative to the clock and yet the same from day to day (its date is part of a pool's
 * identity): licenses are renewed every `every` weeks, and expire `days` after the renewal.
 */
export type ExpirySpec = "permanent" | "unknown" | { readonly every: number; readonly days: number };

/** Always within the next 30 days: a lease of four weeks with two days of grace. */
const LEASED: ExpirySpec = { every: 4, days: 29 };
/** Between two and six months ahead. */
const SUPPORTED: ExpirySpec = { every: 20, days: 200 };
/** One to two years ahead. */
const YEARLY: ExpirySpec = { every: 52, days: 730 };
/** In the past, some days to half a year: nobody has removed it. */
const EXPIRED: ExpirySpec = { every: 26, days: -9 };

/** Licenses expire by the real calendar, whatever week the people live in. */
export function expiryOf(spec: ExpirySpec, zone: string, instant: number): Expiry {
  if (spec === "permanent") return PERMANENT;
  if (spec === "unknown") return UNKNOWN_EXPIRY;
  const { index } = weekAt({ zone, ahead: 0 }, instant);
  const expiresOn = dateOf(Math.floor(index / spec.every) * spec.every, spec.days);
  const [year, month, day] = expiresOn.split("-").map(Number);
  return { expiresOn, expiresAt: endOfDay(zone, year ?? 0, month ?? 1, day ?? 1), permanent: false };
}

export function member(host: string, port: number): MemberSpec {
  return { host, port, master: true, down: false };
}

type OtherFeatureParts = Partial<Pick<FeatureSpec, "deny" | "kept">>;

/** A feature of one pool, or of several: `[version, seats, expiry, vendor string]`; null seats are uncounted. */
function feature(
  daemon: string,
  name: string,
  pools: readonly (readonly [string, number | null, ExpirySpec, string?])[],
  use: UseSpec | null,
  { deny = false, kept = [] }: OtherFeatureParts = {},
): FeatureSpec {
  return {
    daemon,
    name,
    pools: pools.map(([version, seats, expires, vendorString = null]) => ({
      version,
      seats,
      kind: seats === null ? "uncounted" : "floating",
      vendorString,
      expires,
    })),
    use,
    deny,
    kept,
  };
}

function use(share: number, sessions: Range, minutes: Range, more: Partial<UseSpec> = {}): UseSpec {
  return { share, sessions, minutes, ...more };
}

function batch(jobs: Range, seats: Range, hours: Range): Pick<UseSpec, "batch"> {
  return { batch: { jobs, seats, hours } };
}

/** A service that holds its seats for weeks. */
const service = (seats: number): UseSpec => use(0, [0, 0], [1, 1], { long: seats });

/** What most servers of the site have in common. */
const USUAL = { manager: "flexnet", pids: false, silentMinutes: 0, debugLog: true } as const;

/**
 * The license servers of the simulated site: each shows something that a monitor must get right. Names of products
 * and vendors are made up.
 */
export const SERVERS: readonly ServerSpec[] = [
  // Busy: seats run out every working day, people wait in the queue or are denied.
  {
    ...USUAL,
    id: "eda",
    name: "Chip design tools",
    address: "27000@lic-eda",
    labels: { location: "muc", department: "chip-design" },
    members: [member("lic-eda", 27000)],
    daemons: [{ name: "siliqd", version: "v11.19.5" }],
    version: "v11.19.5",
    staff: {
      people: 110,
      site: "muc",
      groups: ["analog", "digital", "verification", "layout"],
      windows: false,
    },
    pids: true,
    greedyJob: { feature: "Timing_Signoff", seats: 16 },
    features: [
      feature(
        "siliqd",
        "Schema_Editor",
        [["v2026.06", 38, YEARLY]],
        use(0.75, [1, 3], [30, 300], { long: 2 }),
      ),
      feature("siliqd", "Wave_Viewer", [["v2026.06", 25, YEARLY]], use(0.5, [1, 4], [10, 120])),
      feature(
        "siliqd",
        "LogicSim_Core",
        [["v2026.09", 38, SUPPORTED]],
        use(0.55, [2, 5], [15, 150], { ...batch([6, 12], [2, 8], [1, 7]), long: 3 }),
        { kept: [{ type: "group", name: "verification", seats: 6 }] },
      ),
      feature("siliqd", "LogicSim_Debug", [["v2026.09", 8, SUPPORTED]], use(0.22, [1, 3], [20, 180]), {
        deny: true,
      }),
      feature(
        "siliqd",
        "Synth-Ultra",
        [["v2025.12", 16, LEASED]],
        use(0.2, [1, 3], [40, 240], batch([2, 4], [1, 4], [2, 8])),
      ),
      feature(
        "siliqd",
        "Timing_Signoff",
        [["v2025.12", 12, LEASED]],
        use(0.1, [1, 2], [30, 200], batch([1, 3], [2, 4], [1, 6])),
      ),
      feature("siliqd", "Layout_XL", [["v2026.06", 30, YEARLY]], use(0.3, [1, 3], [60, 400])),
      feature(
        "siliqd",
        "DRC_Check",
        [
          ["v2024.03", 8, YEARLY],
          ["v2026.03", 8, SUPPORTED],
        ],
        use(0.14, [1, 3], [10, 90], batch([1, 2], [2, 5], [1, 5])),
      ),
      feature("siliqd", "RF_Option", [["v2026.06", 4, SUPPORTED]], use(0.06, [1, 2], [30, 240]), {
        kept: [{ type: "group", name: "analog", seats: 1 }],
      }),
      feature("siliqd", "Power_Analyzer", [["v2023.12", 3, EXPIRED]], null),
    ],
  },
  // Three redundant servers of which one is down: degraded, and its data is valid.
  {
    ...USUAL,
    id: "cae",
    name: "Simulation (triad)",
    address: "27010@lic-cae1,27010@lic-cae2,27010@lic-cae3",
    labels: { location: "stu", department: "simulation" },
    members: [
      { ...member("lic-cae1", 27010), master: false },
      member("lic-cae2", 27010),
      { ...member("lic-cae3", 27010), master: false, down: true },
    ],
    daemons: [{ name: "feamond", version: "v11.16.4" }],
    version: "v11.16.4",
    staff: { people: 45, site: "stu", groups: ["crash", "nvh", "fluids"], windows: false },
    features: [
      feature(
        "feamond",
        "fea_tokens",
        [["v62.5", 240, YEARLY]],
        use(0.5, [1, 3], [20, 200], { ...batch([5, 10], [8, 30], [2, 8]), long: 4 }),
      ),
      feature("feamond", "fea_prepost", [["v62.5", 20, YEARLY]], use(0.6, [1, 3], [30, 240])),
      feature(
        "feamond",
        "cfd_solve",
        [["v24.1", 32, LEASED]],
        use(0.15, [1, 2], [60, 300], batch([2, 5], [4, 8], [3, 8])),
      ),
      feature("feamond", "mesh+morph", [["v24.1", 6, SUPPORTED]], use(0.12, [1, 2], [30, 240])),
    ],
  },
  // Two vendor daemons on one server, with features of equal names.
  {
    ...USUAL,
    id: "plm",
    name: "CAD and data management",
    address: "28000@lic-plm",
    labels: { location: "muc", department: "mechanics" },
    members: [member("lic-plm", 28000)],
    daemons: [
      { name: "drawlmd", version: "v11.18.3" },
      { name: "vaultlmd", version: "v11.17.1" },
    ],
    version: "v11.18.3",
    staff: { people: 60, site: "muc", groups: ["chassis", "interior", "tooling"], windows: true },
    features: [
      feature(
        "drawlmd",
        "solid_designer",
        [["v34.0", 35, YEARLY, "PKG:DESIGN_ADV,SITE=41"]],
        use(0.7, [1, 2], [90, 480]),
      ),
      feature("drawlmd", "server", [["v34.0", 2, "permanent"]], service(1)),
      feature("drawlmd", "viewer", [["v34.0", 80, "permanent"]], use(0.4, [1, 4], [5, 60])),
      feature(
        "drawlmd",
        "laptop_kit",
        [["v34.0", 10, SUPPORTED, "PKG:MOBILE"]],
        use(0.03, [1, 1], [60, 300], { long: 5, borrow: true }),
      ),
      feature("vaultlmd", "server", [["v12.2", 4, YEARLY]], service(3)),
      feature("vaultlmd", "viewer", [["v12.2", 12, LEASED]], use(0.35, [1, 3], [10, 90])),
      feature("vaultlmd", "author", [["v12.2", 25, YEARLY]], use(0.45, [1, 3], [20, 240])),
    ],
  },
  // Cannot be reached for ten minutes of every hour, and its log is not readable.
  {
    ...USUAL,
    id: "remote",
    name: "Branch office (bad line)",
    address: "27020@lic-branch",
    labels: { location: "gra", department: "electronics" },
    members: [member("lic-branch", 27020)],
    daemons: [{ name: "pcbd", version: "v11.13.1" }],
    version: "v11.13.1",
    staff: { people: 18, site: "gra", groups: ["boards"], windows: true },
    silentMinutes: 10,
    debugLog: false,
    features: [
      feature("pcbd", "board_layout", [["v17.4", 8, YEARLY]], use(0.5, [1, 3], [40, 300])),
      feature("pcbd", "board_router", [["v17.4", 2, SUPPORTED]], use(0.15, [1, 2], [20, 120])),
      feature("pcbd", "library_manager", [["v17.4", 5, "permanent"]], use(0.2, [1, 3], [10, 60])),
    ],
  },
  // Uncounted features beside floating ones.
  {
    ...USUAL,
    id: "embedded",
    name: "Compilers and debuggers",
    address: "8224@lic-embedded",
    labels: { location: "muc", department: "firmware" },
    members: [member("lic-embedded", 8224)],
    daemons: [{ name: "compd", version: "v11.14.1" }],
    version: "v11.14.1",
    staff: { people: 35, site: "muc", groups: ["firmware", "test"], windows: true },
    features: [
      feature("compd", "cc_arm64", [["v6.22", 12, YEARLY]], use(0.5, [3, 9], [1, 25]), {
        kept: [{ type: "user", name: "buildbot", seats: 2 }],
      }),
      feature("compd", "debugger", [["v6.22", 6, SUPPORTED]], use(0.3, [1, 3], [20, 200]), { deny: true }),
      feature("compd", "static_check", [["v6.10", 5, LEASED]], use(0.2, [1, 3], [5, 60])),
      feature("compd", "cc_host_any", [["v6.22", null, "permanent"]], null),
      feature("compd", "trace_probe", [["v2.0", null, YEARLY]], null),
    ],
  },
  // RLM: two ISVs and several pools of one product; a request without a seat is denied.
  {
    ...USUAL,
    id: "media",
    name: "Rendering and compositing",
    manager: "rlm",
    address: "5053@lic-media",
    labels: { location: "ber", department: "visualisation" },
    members: [member("lic-media", 5053)],
    daemons: [
      { name: "lumenisv", version: "v14.2" },
      { name: "paintisv", version: "v12.4" },
    ],
    version: "v14.2",
    staff: { people: 40, site: "ber", groups: ["lighting", "comp"], windows: false },
    debugLog: false,
    features: [
      feature(
        "lumenisv",
        "lumen_render",
        [
          ["v2026.0", 40, SUPPORTED],
          ["v2026.0", 20, LEASED],
        ],
        use(0.3, [1, 3], [20, 120], batch([4, 8], [2, 6], [2, 8])),
      ),
      feature("lumenisv", "lumen_interactive", [["v2026.0", 14, SUPPORTED]], use(0.6, [1, 3], [40, 260])),
      feature("lumenisv", "denoise-gpu", [["v3.1", 4, YEARLY]], use(0.2, [1, 2], [10, 120])),
      feature("paintisv", "paint_studio", [["v9.5", 10, YEARLY]], use(0.35, [1, 3], [30, 240], { long: 1 })),
      feature("paintisv", "paint_viewer", [["v9.5", null, "permanent"]], use(0.3, [1, 3], [5, 60])),
    ],
  },
];
