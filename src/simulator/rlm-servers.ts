import { LEASED, type ServerSpec, SUPPORTED, YEARLY } from "./server-spec.ts";
import { feature, floating, member, uncounted } from "./spec-parts.ts";

/** RLM servers of the make-believe site. Names of products and vendors are made up. */
export const RLM_SERVERS: readonly ServerSpec[] = [
  {
    id: "media",
    name: "Rendering and compositing",
    manager: "rlm",
    about: "an RLM server with two ISVs and several pools of one product; who finds no seat is denied",
    address: "5053@lic-media",
    labels: { site: "ber", department: "visualisation" },
    members: [member("lic-media", 5053)],
    daemons: [
      { name: "lumenisv", version: "v14.2" },
      { name: "paintisv", version: "v12.4" },
    ],
    version: "v14.2",
    staff: { people: 40, site: "ber", groups: ["lighting", "comp"], windows: false },
    pids: false,
    silentMinutes: 0,
    debugLog: false,
    features: [
      feature(
        "lumenisv",
        "lumen_render",
        [floating("v2026.0", 40, SUPPORTED), floating("v2026.0", 20, LEASED)],
        {
          share: 0.3,
          sessions: [1, 3],
          minutes: [20, 120],
          batch: { jobs: [4, 8], seats: [2, 6], hours: [2, 8] },
        },
      ),
      feature("lumenisv", "lumen_interactive", [floating("v2026.0", 14, SUPPORTED)], {
        share: 0.6,
        sessions: [1, 3],
        minutes: [40, 260],
      }),
      feature("lumenisv", "denoise-gpu", [floating("v3.1", 4, YEARLY)], {
        share: 0.2,
        sessions: [1, 2],
        minutes: [10, 120],
      }),
      feature("paintisv", "paint_studio", [floating("v9.5", 10, YEARLY)], {
        share: 0.35,
        sessions: [1, 3],
        minutes: [30, 240],
        long: 1,
      }),
      feature("paintisv", "paint_viewer", [uncounted("v9.5", "permanent")], {
        share: 0.3,
        sessions: [1, 3],
        minutes: [5, 60],
      }),
    ],
  },
];
