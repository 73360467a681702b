import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { readBy, summary } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../fixtures/published");

const DOWN = { features: [], errors: [{ kind: "unreachable" }] };
const dyna = (name: string, used: number, users = "") => `${name} 500/${used} (lsdyna) 2022-12-30${users}`;
const credits = (name: string, used: number, user = "") =>
  `${name} 2865/${used} (PRE_POST) 2021-03-30${user}`;

const TRUTH: readonly [profile: string, file: string, hold: (reading: Reading) => void][] = [
  [
    "lsdyna",
    "lsdyna/omni-lsdyna-in-use.txt",
    (reading) => {
      expect(reading.members).toMatchObject([{ host: "licserv0004.com", port: 31010, status: "up" }]);
      const users = [
        ...[" dvds3g@n-c13.com×80", " ssss1d@n-c52.com×80", " ssss1d@n-c15.com×80"],
        ...[" ywap0o@n-c53.com×80", " ywap0o@n-c51.com×80", " ndha1a@n-c55.com×40"],
      ];
      expect(summary(reading)).toEqual([
        dyna("MPPDYNA", 440, users.join("")),
        ...["MPPDYNA_971", "MPPDYNA_970", "MPPDYNA_960"].map((name) => dyna(name, 0)),
        ...["LS-DYNA", "LS-DYNA_971", "LS-DYNA_970", "LS-DYNA_960"].map((name) => dyna(name, 0)),
      ]);
      expect(reading.features[0]?.checkouts[0]?.pid).toBe(59005);
    },
  ],
  [
    "lsdyna",
    "lsdyna/treydock-r-idle.txt",
    (reading) => {
      expect(reading.members).toMatchObject([{ host: "haswell2", port: 31011, status: "up" }]);
      const idle = (name: string) => `${name} 2000/0 (lsdyna) 2020-07-31`;
      expect(summary(reading)).toEqual(["LS-DYNA", "MPPDYNA"].map(idle));
    },
  ],
  [
    "lsdyna",
    "lsdyna/omni-lsdyna-error.txt",
    (reading) => {
      expect(reading).toMatchObject({
        ...DOWN,
        members: [{ host: "localhost", port: 31010, status: "down" }],
      });
      expect(reading.errors[0]?.message).toBe("failed to open server localhost");
    },
  ],
  [
    "lsdyna",
    "lsdyna/omni-lstc-segfault.txt",
    (reading) =>
      expect(reading).toMatchObject({ members: [], features: [], errors: [{ kind: "query" }, {}] }),
  ],
  [
    "olicense",
    "olicense/omni-olic-in-use.txt",
    (reading) => {
      expect(reading).toMatchObject({ toolVersion: "4.8.0", members: [{ port: 31212, status: "up" }] });
      expect(summary(reading)).toEqual([
        "ftire_adams 3/3 2022-12-31 sbhyma@RD0087712×1 sbhyma@RD0087713×1 user22@RD0087713×1",
        "ftire_adams 1/0 2023-02-28",
      ]);
    },
  ],
  [
    "olicense",
    "olicense/omni-olic-idle.txt",
    (reading) =>
      expect(summary(reading)).toEqual(["ftire_adams 3/0 2022-12-31", "ftire_adams 1/0 2023-02-28"]),
  ],
  [
    "olicense",
    "olicense/omni-olic-error.txt",
    (reading) => expect(reading).toMatchObject({ ...DOWN, members: [{ host: "123", status: "down" }] }),
  ],
  [
    "beta-lm",
    "other/omni-beta-lm-stat-ansa.txt",
    (reading) => {
      expect(reading.members).toMatchObject([{ host: "l5163p.sss.se.scania.com", status: "up" }]);
      expect(reading.features.every(({ unit }) => unit === "credits")).toBe(true);
      const used = summary(reading).filter((line) => !/\/0 /.test(line));
      expect(used).toEqual([
        credits("ANSA", 100, " HSARYF@RD0079221×1"),
        credits("META_POST", 33, " rafjdg@dcv040.maas.rnd.scania.com×1"),
      ]);
      expect(summary(reading).at(-1)).toBe("NEW_ANSA_CATIA_V5 25/0 2021-03-30");
      expect(reading.features).toHaveLength(12);
    },
  ],
];

describe("published samples", () => {
  test.each(TRUTH)("%s reads %s to the last line", (profile, file, hold) => {
    const reading = readBy(profile, readFileSync(join(FOLDER, file)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, cut: false, recognised: true });
    hold(reading);
  });

  test("a fragment that stands under no module is not understood, and says 2 and 1 below one", () => {
    const fragment = readFileSync(join(FOLDER, "olicense/omni-unknown-clients-lines.txt"), "utf8");
    expect(readBy("olicense", fragment)).toMatchObject({ recognised: false, unparsedLines: 3 });
    const [feature] = readBy(
      "olicense",
      `  tire;\tFloating;\t4;\t2030-01-01 00:00:00;\n${fragment}`,
    ).features;
    expect(feature).toMatchObject({ total: 4, used: 3, consistency: "short" });
    expect(feature?.checkouts).toMatchObject([{ user: "user01", count: 1 }]);
  });

  test.each(TRUTH)("%s of %s: cut at every byte, it never looks whole and is not", (profile, file) => {
    const bytes = readFileSync(join(FOLDER, file));
    const whole = readBy(profile, bytes);
    for (let end = 0; end < bytes.length; end++) {
      const head = bytes.subarray(0, end);
      const reading = readBy(profile, head);
      if (/[^\s]$/.test(head.toString())) expect(reading.cut).toBe(true);
      // Other formats have no end mark, so a text that ends between two lines may look complete.
      else if (profile === "lsdyna" && !reading.cut && reading.features.length > 0)
        expect(reading).toEqual(whole);
    }
  });
});
