import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Reading } from "../../../src/domain/reading.ts";
import { featureOf, readText } from "./read.ts";

const ROOT = new URL("../../../../shared/samples/", import.meta.url);
const FOLDERS = ["flexlm-lmstat", "flexlm-lmstat-i"];

interface Truth {
  readonly features: number;
  /** `name total/used` of features that the index names. */
  readonly named?: readonly string[];
  readonly checkouts: number;
  readonly reservations?: number;
  readonly queue?: number;
  readonly unparsed?: number;
  readonly cut?: boolean;
  readonly members?: string;
  readonly daemons?: string;
  readonly expiries?: readonly string[];
}

/** What stands in each sample, by its row of the samples' index; line counts were taken with grep. */
const TRUTH: Readonly<Record<string, Truth>> = {
  "exporter-app1": {
    // 54 blocks: feature42 is printed twice, with 13 lines of reservations.
    features: 53,
    named: ["feature1 1814/1206", "feature5 2/2", "feature11 16384/80", "feature27 20/5", "feature100 10/2"],
    checkouts: 127,
    reservations: 319,
    queue: 2,
    members: "host-1.domain.net:up host2.domain.net:up* host3.domain.net:up",
    daemons: "VENDOR1:up:v11.6",
  },
  "exporter-app2": {
    features: 10,
    named: ["feature1 144/0", "feature2 144/22"],
    checkouts: 38,
    members: "host1:up host2:up* host3:up",
    daemons: "vendor1:up:v11.13",
  },
  "exporter-app4": {
    features: 60,
    named: [
      "ACDC 2/1",
      "COMSOL 3/1",
      "COMSOLGUI 3/1",
      "COMSOLUSER 2/1",
      "SERIAL null/null",
      "SUBSURFACEFLOW null/null",
    ],
    checkouts: 5,
    members: "licensevm.domain.example:up*",
    daemons: "LMCOMSOL:up:v11.19.6",
    expiries: ["ACDC permanent"],
  },
  "exporter-app5": {
    features: 122,
    named: ["MATLAB 10000/61", "SIMULINK 10000/10", "Control_Toolbox 10000/3", "RoadRunner null/null"],
    checkouts: 85,
    members: "host.example.com:up*",
    daemons: "MLM:up:v11.19.6",
    expiries: ["MATLAB 2025-12-30"],
  },
  "exporter-server-down": {
    features: 2,
    named: ["feature1 144/0", "feature2 144/39"],
    checkouts: 0,
    members: "host1:up host2:up* host3:down",
    daemons: "daemon:up:v11.13.1",
    expiries: ["feature2 permanent"],
  },
  "exporter-server-up-win": {
    features: 0,
    checkouts: 0,
    members: "BVS15004:up*",
    daemons: "ptc_d:up:v11.14.0",
  },
  "omni-good-93of1000": { features: 1, named: ["TESTFEATURE 1000/93"], checkouts: 3 },
  "omni-feature-qualifier": { features: 1, named: ["TEST_FEATURE 42800/1600"], checkouts: 3 },
  "omni-two-versions": { features: 1, named: ["ccmppower 40/3"], checkouts: 3 },
  "omni-singular-in-use": { features: 1, named: ["ADAMSTK_GG_Solver 6/1"], checkouts: 1 },
  "omni-connect-refused": { features: 0, checkouts: 0, members: "", daemons: "" },
  "omni-abaqus-triad-full": {
    features: 1,
    named: ["abaqus 737/737"],
    checkouts: 38,
    members: "server1:up server2:up* server3:up",
    daemons: "ABAQUSLM:up:v11.13",
  },
  "granite-idle": { features: 12, named: ["XAP-01-004 9999/0"], checkouts: 0, daemons: "granitex:up:v8.4" },
  "granite-temp": { features: 12, named: ["XAP-01-004 9999/8", "XWX-01-001 9999/0"], checkouts: 8 },
  "shohirose-1-licenses-grammar": {
    features: 5,
    named: ["feat1 2/0", "feat2 5/1", "feat6 3/3", "feat-add 2/0", "feat_opt 1/1"],
    checkouts: 0,
    members: "lic-server:up*",
    daemons: "complic:up:v11.14.1",
  },
  "issue60-triad-dvt-head-truncated": {
    features: 1,
    named: ["dvt_e 10/10"],
    checkouts: 0,
    unparsed: 1,
    cut: true,
    members: "mxxxx2:up* mxxxx2-xxx01:up mxxxx2-xx02:up",
    expiries: ["dvt_e 2023-11-15"],
  },
  "issue80-cameo-longvendorstring-truncated": {
    features: 1,
    named: ["CC888888Connections 2/2"],
    checkouts: 1,
    unparsed: 1,
    cut: true,
    expiries: ["CC888888Connections 2025-06-02"],
  },
  "issue6-cetim-combined-truncated": {
    features: 4,
    named: ["CETIM-COBRA 1/0", "CETIM-COBRA-VDI-1986 1/0"],
    checkouts: 0,
    unparsed: 1,
    cut: true,
  },
  "pr212-matlab-blanklines-truncated": {
    features: 1,
    named: ["MATLAB 424/51"],
    checkouts: 4,
    reservations: 1,
    unparsed: 1,
    cut: true,
  },
  "exporter-i-app1": {
    features: 16,
    named: ["feature7 600/null", "feature12 52/null", "feature16 1/null"],
    checkouts: 0,
    expiries: ["feature7 2018-12-31", "feature12 2018-12-31", "feature15 permanent", "feature16 permanent"],
  },
  "exporter-i-app2": {
    features: 9,
    named: ["FEATURE_NAME_2_38_05 1/null", "feature_name_9 2/null", "feature_name_10 2/null"],
    checkouts: 0,
    expiries: ["FEATURE_NAME_2_38_05 2020-06-12", "feature_name_9 permanent", "feature_name_10 2020-04-30"],
  },
};

const count = (reading: Reading, of: "checkouts" | "reservations" | "queue") =>
  reading.features.reduce((sum, feature) => sum + feature[of].length, 0);

const present = existsSync(ROOT);
if (!present) console.warn("SKIPPED: the shared samples are not there, so no real output is parsed");

describe.skipIf(!present)("every lmstat sample", () => {
  const files = !present
    ? []
    : FOLDERS.flatMap((folder) =>
        readdirSync(new URL(`${folder}/`, ROOT)).map((name) => ({
          name: name.replace(/\.txt$/, ""),
          url: new URL(`${folder}/${name}`, ROOT),
        })),
      );

  test("stands in the table", () => {
    expect(files.map(({ name }) => name).sort()).toEqual(Object.keys(TRUTH).sort());
  });

  test.each(files)("$name", ({ name, url }) => {
    const truth = TRUTH[name];
    if (truth === undefined) throw new Error(`no truth for ${name}`);
    const reading = readText(new Uint8Array(readFileSync(url)));
    expect(reading.recognised).toBe(true);
    expect(reading.features).toHaveLength(truth.features);
    expect(count(reading, "checkouts")).toBe(truth.checkouts);
    expect(count(reading, "reservations")).toBe(truth.reservations ?? 0);
    expect(count(reading, "queue")).toBe(truth.queue ?? 0);
    expect(reading.unparsedLines).toBe(truth.unparsed ?? 0);
    expect(reading.cut).toBe(truth.cut ?? false);
    for (const named of truth.named ?? []) {
      const feature = featureOf(reading, named.split(" ")[0] ?? "");
      expect(`${feature.name} ${feature.total}/${feature.used}`).toBe(named);
    }
    for (const expected of truth.expiries ?? []) {
      const feature = featureOf(reading, expected.split(" ")[0] ?? "");
      const expiry = feature.pools[0]?.expiry;
      expect(`${feature.name} ${expiry?.permanent ? "permanent" : expiry?.expiresOn}`).toBe(expected);
    }
    if (truth.members !== undefined) {
      const members = reading.members.map(
        ({ host, status, master }) => `${host}:${status}${master ? "*" : ""}`,
      );
      expect(members.join(" ")).toBe(truth.members);
    }
    if (truth.daemons !== undefined) {
      const daemons = reading.daemons.map((daemon) => `${daemon.name}:${daemon.status}:${daemon.version}`);
      expect(daemons.join(" ")).toBe(truth.daemons);
    }
    // Untouched outputs add up; what was cut or edited says so.
    if (truth.cut === true && truth.checkouts > 0) expect(reading.features.at(-1)?.consistency).toBe("short");
  });
});
