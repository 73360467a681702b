import {
  assign,
  batch,
  deny,
  EXPIRED,
  feature,
  keep,
  LEASED,
  pool,
  type ServerSpec,
  SUPPORTED,
  server,
  service,
  share,
  tokens,
  use,
  YEARLY,
} from "./spec.ts";

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

const SOLVING = use(0.3, [1, 2], [30, 180], { each: 25, ...batch([4, 8], [60, 180], [2, 8]), long: 1 });
const STUDIES = use(0.35, [1, 3], [30, 200], { each: 15, ...batch([2, 4], [20, 40], [2, 7]) });
const MPP = use(0, [0, 0], [1, 1], { ...batch([3, 6], [32, 96], [3, 9]), each: 96, long: 1 });
const SMP = use(0.5, [1, 3], [20, 150], { each: 8 });

/** Each server shows a situation that a monitor must handle. Names of products and vendors are fictitious. */
export const SERVERS: readonly ServerSpec[] = [
  // Busy: seats run out every working day, and people queue or are denied.
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
  // Three redundant servers, one of them down: the status is degraded, but the data is valid.
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
  // Unreachable for ten minutes of every hour, and its log is unreadable.
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
    queues: false,
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
  // DSLS: named users, concurrent users and tokens.
  server({
    id: "styling",
    name: "Styling and body design",
    manager: "dsls",
    address: "4084@lic-styling",
    labels: { location: "tor", department: "body" },
    staff: { people: 55, groups: ["exterior", "interior", "mockup"], windows: true },
    queues: false,
    debugLog: false,
    daemons: { "Orbiform Systems": "6.426.1" },
    features: {
      "Orbiform Systems": [
        assign(34, feature("FSX", pool("32", 40, YEARLY), use(0.7, [1, 2], [60, 300]))),
        feature("ASX", [pool("32", 12, YEARLY), pool("31", 6, SUPPORTED)], use(0.45, [1, 3], [20, 200])),
        feature("VUE", pool("32", null, YEARLY), use(0.3, [1, 3], [5, 60])),
        tokens(feature("FEX", pool("18", 1200, SUPPORTED), SOLVING)),
        tokens(feature("OPX", pool("18", 300, LEASED), null)),
      ],
    },
  }),
  // LM-X: each program takes fifteen or more tokens.
  server({
    id: "optim",
    name: "Optimisation",
    manager: "lmx",
    address: "6200@lic-optim",
    labels: { location: "stu", department: "simulation" },
    staff: { people: 30, groups: ["durability", "topology"], windows: false },
    queues: false,
    debugLog: false,
    daemons: { VORTEXA: "v5.5" },
    features: {
      VORTEXA: [
        tokens(feature("VortexUnits", pool("26.0", 240, YEARLY), STUDIES)),
        feature("MeshStudio", pool("26.0", 13, SUPPORTED), use(0.4, [1, 2], [30, 240])),
        feature("ResultReader", pool("26.0", null, YEARLY), use(0.3, [1, 3], [5, 60])),
      ],
    },
  }),
  // Sentinel RMS: the address is a host without a port.
  server({
    id: "plant",
    name: "Plant design",
    manager: "rms",
    address: "lic-plant",
    labels: { location: "tor", department: "plant" },
    staff: { people: 26, groups: ["piping", "review"], windows: true },
    debugLog: false,
    daemons: { "": "9.1.0.0104" },
    features: {
      "": [
        feature("PIPE_MODEL", pool("12.1", 13, YEARLY), use(0.5, [1, 2], [40, 240])),
        feature("PLANT_REVIEW", pool("12.1", 20, SUPPORTED), use(0.4, [1, 3], [10, 90])),
      ],
    },
  }),
  // LS-DYNA: programs that share one set of cores.
  server({
    id: "impact",
    name: "Crash solvers",
    manager: "lsdyna",
    address: "31010@lic-impact",
    labels: { location: "stu", department: "simulation" },
    staff: { people: 24, groups: ["crash", "pedestrian"], windows: false },
    pids: true,
    debugLog: false,
    daemons: { "": "" },
    features: {
      "": share("lsdyna", [
        feature("MPP_SOLVE", pool("", 500, YEARLY), MPP),
        feature("SMP_SOLVE", pool("", 500, YEARLY), SMP),
        feature("MPP_SOLVE_R9", pool("", 500, YEARLY), null),
        feature("SMP_SOLVE_R9", pool("", 500, YEARLY), null),
      ]),
    },
  }),
];
