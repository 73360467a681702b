import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Reading } from "../../src/domain/reading.ts";
import { summary as dsls } from "./dsls/read.ts";
import { summary as lmx } from "./lmx/read.ts";
import { summary as profile } from "./profiles/read.ts";
import { readAs } from "./read-as.ts";
import { summary as rlm } from "./rlm/read.ts";
import { summary as rms } from "./rms/read.ts";

const FOLDER = join(import.meta.dir, "../fixtures/published");

interface Sample {
  /** Expected lines of the manager's summary. */
  readonly summary?: readonly string[];
  /** Expected fields of the reading. */
  readonly reading?: object;
  /** Expected fields of one feature, and of its first checkout. */
  readonly feature?: readonly [index: number, fields: object, checkout?: object];
}

const down = (kind: string, more: object = {}) => ({ features: [], errors: [{ kind, ...more }] });

const pac = (used: Readonly<Record<string, number>> = {}) =>
  Object.entries({
    PAC: 1,
    PAJ: 6,
    PCA: 4,
    PCO: 2,
    PD5: 1,
    PV6: 7,
    PVG: 2,
    PW7: 2000,
    PW8: 2000,
    SRU: 2374,
  }).map(
    ([name, total]) =>
      `Dassault Systemes/${name} ${used[name] ?? 0} of ${total} tokens pools 1 held ${used[name] ?? 0} ok`,
  );
const converge = (used: number) => [
  "csci/converge 1/0 reserved 0 pools 1 seats 0 ok",
  "csci/converge_gui 45/0 reserved 0 pools 1 seats 0 ok",
  "csci/converge_gui_polygonica 1/0 reserved 0 pools 1 seats 0 ok",
  `csci/converge_super 1000/${used} reserved 0 pools 1 seats ${used} ok`,
  "csci/converge_tecplot 45/0 reserved 0 pools 1 seats 0 ok",
];
const aveva = {
  errors: [],
  toolVersion: "9.1.0.0104",
  members: [{ host: "999385-pc.samba.corporate.example", port: null, status: "up" }],
};
const ALTAIR = [{ host: "licserv0013.com", port: 6200, status: "up", version: "v5.1" }];
const AVEVA_CLIENTS = "usr001 1, user000002 1, UserNameAB 1";
const DYNA_USERS =
  " dvds3g@n-c13.com×80 ssss1d@n-c52.com×80 ssss1d@n-c15.com×80 ywap0o@n-c53.com×80 ywap0o@n-c51.com×80 ndha1a@n-c55.com×40";
const dyna = (name: string) => `${name} 500/0 (lsdyna) 2022-12-30`;

/** Manager and summary by folder. */
const FOLDERS: Readonly<Record<string, readonly [manager: string, summary: (reading: Reading) => string[]]>> =
  {
    dsls: ["dsls", dsls],
    rlm: ["rlm", rlm],
    lmx: ["lmx", lmx],
    "sentinel-rms": ["rms", rms],
    lsdyna: ["lsdyna", profile],
    olicense: ["olicense", profile],
    other: ["beta-lm", profile],
  };

const SAMPLES: Readonly<Record<string, Sample>> = {
  "dsls/omni-dsls-csv-idle.txt": {
    summary: pac(),
    reading: {
      toolVersion: "6.425.4",
      members: [{ host: "localhost", status: "up", version: "6.425.4" }],
    },
  },
  "dsls/omni-dsls-csv-inuse.txt": {
    summary: pac({ PW7: 2, SRU: 1559 }),
    reading: { members: [{ host: "localhost", status: "up" }] },
    feature: [
      9,
      {
        pools: [{ expiry: { expiresOn: "2025-01-01" } }],
        checkouts: [
          { user: "user_2", host: "nid001626", count: 493, handle: "02DBE16", pid: 3148728 },
          { user: "user_3", host: "nid001601", count: 533, handle: "02DBE17", pid: 2885345 },
          { user: "user_4", host: "nid001671", count: 533, handle: "02DBE18", pid: 3206577 },
        ],
      },
      { startedAt: Date.parse("2024-09-17T17:59:34Z") },
    ],
  },
  "dsls/omni-dsls-cannot-connect.txt": {
    reading: {
      ...down("unreachable", { message: "Cannot connect to server localhost on port 1234" }),
      members: [{ host: "localhost", port: 1234, status: "down" }],
    },
  },
  "rlm/omni-rlm-csci-tabs.txt": {
    summary: converge(93),
    reading: {
      reportTime: Date.parse("2021-11-03T12:48:38Z"),
      members: [{ status: "up", version: "v12.2" }],
      daemons: [{ name: "csci", status: "up", totals: { checkouts: 937, denials: 0, removals: 0 } }],
    },
    feature: [
      3,
      {
        pools: [{ expiry: { expiresOn: "2022-01-31" } }],
        checkouts: [
          { count: 29, handle: "15a" },
          { count: 27, handle: "128" },
          { count: 37, handle: "15a" },
        ],
      },
    ],
  },
  "rlm/omni-rlm-no-licenses.txt": {
    summary: converge(0),
    reading: { daemons: [{ totals: { checkouts: 262 } }] },
  },
  "rlm/omni-rlm-noerror.txt": {
    reading: { members: [], ...down("unreachable", { message: expect.stringMatching(/No error$/) }) },
  },
  "rlm/omni-rlm-bad-hostname.txt": {
    reading: {
      ...down("unreachable", { major: -131, minor: -18, system: -2 }),
      members: [{ host: "licserv0001", port: 27007, status: "down" }],
    },
  },
  "lmx/omni-lmx-altair-inuse.txt": {
    summary: [
      "ALTAIR/CatiaV5Reader 0/3 seats - ok",
      "ALTAIR/GlobalZoneEU 40000/1000003 tokens VRAAFG 15000, VRAAFG 25000 ok",
      "ALTAIR/HWAIFPBS 0/unlimited tokens - ok",
      "ALTAIR/HWAWPF 0/unlimited tokens - ok",
      "ALTAIR/HWActivate 0/unlimited tokens - ok",
      "ALTAIR/HWFlux2D 30000/unlimited tokens VRAAFG 15000, VRAAFG 15000 ok",
      "ALTAIR/HyperWorks 25000/1000000 tokens sssaah 25000 ok",
    ],
    reading: { members: ALTAIR, toolVersion: "v3.32", errors: [] },
    feature: [
      1,
      { pools: [{ expiry: { expiresOn: "2023-01-31" } }] },
      {
        host: "RD0082879",
        display: "138.106.159.158",
        qualifier: "VRAAFG:RD0082879",
        startedAt: Date.parse("2022-02-18T09:29Z"),
      },
    ],
  },
  "lmx/omni-lmx-altair-idle.txt": {
    reading: {
      members: ALTAIR,
      errors: [],
      features: [
        "CatiaV5Reader",
        "GlobalZoneEU",
        "HWAIFPBS",
        "HWAWPF",
        "HWActivate",
        "HWFlux2D",
        "HyperWorks",
      ].map((name) => ({ name, used: 0, cut: false })),
    },
  },
  "lmx/omni-lmx-none-available.txt": {
    reading: {
      members: [],
      ...down("unreachable", { message: "There are no license server(s) available." }),
    },
  },
  "lmx/omni-lmx-xf-error.txt": {
    reading: {
      members: [{ host: "licserv0003", port: 6300, status: "down" }],
      toolVersion: "v4.7.1",
      ...down("unreachable"),
    },
  },
  // 13 tokens are in use, but only three clients were published.
  "sentinel-rms/aveva-two-features-clients.txt": {
    summary: ["ARMS_ID 1.0 0/99999 - ok", `AVEVA201 1.0 13/130 ${AVEVA_CLIENTS} short`],
    reading: aveva,
    feature: [
      1,
      { pools: [{ expiry: { expiresOn: "2022-11-19" } }], reserved: 0 },
      {
        host: "OENS-1-8222",
        display: "local",
        borrowed: false,
        startedAt: Date.parse("2020-11-03T11:34:40Z"),
      },
    ],
  },
  // The publisher abbreviated this output: the missing data is unknown, and the features are incomplete.
  "sentinel-rms/aveva-one-feature-full.txt": {
    summary: ["ARMS_ID 1.0 null/null - ok cut", `AVEVA201 1.0 null/null ${AVEVA_CLIENTS} ok cut`],
    reading: aveva,
  },
  "sentinel-rms/arms-id-single-feature.txt": {
    summary: ["ARMS_ID 1.0 null/99999 - ok cut"],
    reading: aveva,
  },
  "lsdyna/omni-lsdyna-in-use.txt": {
    summary: [
      `MPPDYNA 500/440 (lsdyna) 2022-12-30${DYNA_USERS}`,
      ...["MPPDYNA_971", "MPPDYNA_970", "MPPDYNA_960", "LS-DYNA"].map(dyna),
      ...["LS-DYNA_971", "LS-DYNA_970", "LS-DYNA_960"].map(dyna),
    ],
    reading: { members: [{ host: "licserv0004.com", port: 31010, status: "up" }] },
    feature: [0, {}, { pid: 59005 }],
  },
  "lsdyna/treydock-r-idle.txt": {
    summary: ["LS-DYNA", "MPPDYNA"].map((name) => `${name} 2000/0 (lsdyna) 2020-07-31`),
    reading: { members: [{ host: "haswell2", port: 31011, status: "up" }] },
  },
  "lsdyna/omni-lsdyna-error.txt": {
    reading: {
      ...down("unreachable", { message: "failed to open server localhost" }),
      members: [{ host: "localhost", port: 31010, status: "down" }],
    },
  },
  "lsdyna/omni-lstc-segfault.txt": {
    reading: { members: [], features: [], errors: [{ kind: "query" }, {}] },
  },
  "olicense/omni-olic-in-use.txt": {
    summary: [
      "ftire_adams 3/3 2022-12-31 sbhyma@RD0087712×1 sbhyma@RD0087713×1 user22@RD0087713×1",
      "ftire_adams 1/0 2023-02-28",
    ],
    reading: { toolVersion: "4.8.0", members: [{ port: 31212, status: "up" }] },
  },
  "olicense/omni-olic-idle.txt": { summary: ["ftire_adams 3/0 2022-12-31", "ftire_adams 1/0 2023-02-28"] },
  "olicense/omni-olic-error.txt": {
    reading: { ...down("unreachable"), members: [{ host: "123", status: "down" }] },
  },
  "other/omni-beta-lm-stat-ansa.txt": {
    reading: {
      members: [{ host: "l5163p.sss.se.scania.com", status: "up" }],
      features: Array.from({ length: 12 }, () => ({ unit: "credits" })),
    },
  },
};

/** Part of an output, without the line of its module. */
const FRAGMENT = "olicense/omni-unknown-clients-lines.txt";

describe("published samples", () => {
  test.each(Object.entries(SAMPLES))("%s has the expected reading", (file, sample) => {
    const [manager = "", summary = () => []] = FOLDERS[dirname(file)] ?? [];
    const reading = readAs(manager, readFileSync(join(FOLDER, file)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, cut: false, recognised: true });
    expect(reading).toMatchObject(sample.reading ?? {});
    if (sample.summary !== undefined) expect(summary(reading)).toEqual([...sample.summary]);
    if (sample.feature === undefined) return;
    const [index, fields, checkout = {}] = sample.feature;
    const feature = reading.features[index];
    expect(feature).toMatchObject(fields);
    expect(feature?.checkouts[0]).toMatchObject(checkout);
  });

  test("beta-lm lists the users of the features in use", () => {
    const lines = profile(readAs("beta-lm", readFileSync(join(FOLDER, "other/omni-beta-lm-stat-ansa.txt"))));
    expect(lines.filter((line) => !/\/0 /.test(line))).toEqual([
      "ANSA 2865/100 (PRE_POST) 2021-03-30 HSARYF@RD0079221×1",
      "META_POST 2865/33 (PRE_POST) 2021-03-30 rafjdg@dcv040.maas.rnd.scania.com×1",
    ]);
    expect(lines.at(-1)).toBe("NEW_ANSA_CATIA_V5 25/0 2021-03-30");
  });

  test("a fragment without its module is not recognized", () => {
    const fragment = readFileSync(join(FOLDER, FRAGMENT), "utf8");
    expect(readAs("olicense", fragment)).toMatchObject({ recognised: false, unparsedLines: 3 });
    const module = "  tire;\tFloating;\t4;\t2030-01-01 00:00:00;\n";
    const [feature] = readAs("olicense", module + fragment).features;
    expect(feature).toMatchObject({ total: 4, used: 3, consistency: "short" });
    expect(feature?.checkouts).toMatchObject([{ user: "user01", count: 1 }]);
  });

  test("every sample has an expectation", () => {
    const folders = Object.keys(FOLDERS);
    const files = folders.flatMap((folder) =>
      readdirSync(join(FOLDER, folder)).map((name) => `${folder}/${name}`),
    );
    expect(files.toSorted()).toEqual([...Object.keys(SAMPLES), FRAGMENT].toSorted());
  });
});
