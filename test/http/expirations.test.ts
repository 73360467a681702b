import { describe, expect, test } from "bun:test";
import type { PoolPicture } from "../../src/domain/picture.ts";
import type { Expiry } from "../../src/domain/reading.ts";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import { endOfDay } from "../../src/domain/time/zone.ts";
import { type Bench, bench, feature, monitored, NOW, picture } from "./make.ts";

/** NOW is 2026-03-01T12:00Z, which is the 2nd in Auckland. */
const expiry = (day: string, zone: string): Expiry => {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  return { expiresOn: day, expiresAt: endOfDay(zone, year, month, date), permanent: false };
};

const [pool] = feature("solver").pools as [PoolPicture];

function site(): Bench {
  const at = bench();
  const of = (name: string, day: string, zone: string) =>
    feature(name, { pools: [{ ...pool, expiry: expiry(day, zone) }] });
  const permanent = { expiresOn: null, expiresAt: null, permanent: true };
  at.show(
    picture("eda", { features: [of("solver", "2026-03-31", "UTC"), of('a;b, "c"\\d', "2026-03-01", "UTC")] }),
    picture("nz", {
      server: monitored("nz", { timezone: "Pacific/Auckland" }),
      features: [
        of("solver", "2026-03-01", "Pacific/Auckland"),
        feature("gui", { pools: [{ ...pool, expiry: permanent }] }),
      ],
    }),
  );
  return at;
}

const rowsOf = async (at: Bench, query = "") =>
  (await at.json<{ expirations: ExpirationRecord[] }>(`/api/licenses/expirations${query}`)).expirations;

describe("expirations", () => {
  test("are sorted by date, with days left by the server's calendar", async () => {
    const rows = await rowsOf(site());
    expect(rows.map(({ server, feature: name, daysLeft }) => [server, name, daysLeft])).toEqual([
      ["nz", "solver", -1],
      ["eda", 'a;b, "c"\\d', 0],
      ["eda", "solver", 30],
    ]);
    const solver = {
      server: "nz",
      daemon: "acmed",
      feature: "solver",
      pool: "1",
      total: 4,
      permanent: false,
      unit: "seats" as const,
      seatGroup: null,
    };
    const expires = { expiresOn: "2026-03-01", expiresAt: "2026-03-01T10:59:59.999Z", daysLeft: -1 };
    expect(rows[0]).toEqual({ ...solver, ...expires });
  });

  test.each<[string, number[]]>([
    ["?days=0", [-1, 0]],
    ["?days=30", [-1, 0, 30]],
    ["?server=eda", [0, 30]],
    ["?feature=solver", [-1, 30]],
    ["?daemon=acmed", [-1, 0, 30]],
    ["?start=2026-03-02", [30]],
    ["?end=2026-03-01", [-1, 0]],
    ["?sort=-daysLeft&limit=2", [30, 0]],
  ])("%s", async (query, days) => {
    expect((await rowsOf(site(), query)).map(({ daysLeft }) => daysLeft)).toEqual(days);
  });

  test("with permanent=true end with pools that never expire", async () => {
    const rows = await rowsOf(site(), "?permanent=true");
    expect(rows.map(({ feature: name }) => name)).toEqual(["solver", 'a;b, "c"\\d', "solver", "gui"]);
    expect(rows.at(-1)).toMatchObject({ expiresOn: null, expiresAt: null, daysLeft: null, permanent: true });
    expect((await rowsOf(site(), "?permanent=false")).length).toBe(3);
    // Permanent licenses match any number of days and sort after all dates.
    expect((await rowsOf(site(), "?permanent=true&days=36500")).length).toBe(3);
    expect((await rowsOf(site(), "?permanent=true&end=2099-01-01")).length).toBe(3);
  });

  test("as CSV", async () => {
    const csv = await (await site().get("/api/licenses/expirations?format=csv&server=nz")).text();
    expect(csv).toBe(
      "server,daemon,feature,pool,total,expiresOn,expiresAt,daysLeft,permanent,unit,seatGroup\r\n" +
        "nz,acmed,solver,1,4,2026-03-01,2026-03-01T10:59:59.999Z,-1,false,seats,\r\n",
    );
  });
});

describe("the calendar", () => {
  test("has an all-day event for each date, with equal bytes for a snapshot", async () => {
    const at = site();
    const first = await at.get("/api/licenses/expirations.ics", { key: at.keys.calendar });
    expect(first.headers.get("content-type")).toBe("text/calendar; charset=utf-8");
    const text = await first.text();
    expect(text.match(/^BEGIN:VEVENT\r$/gm)?.length).toBe(3);
    expect(text.match(/^DTSTART;VALUE=DATE:\d+\r$/gm)).toEqual([
      "DTSTART;VALUE=DATE:20260301\r",
      "DTSTART;VALUE=DATE:20260301\r",
      "DTSTART;VALUE=DATE:20260331\r",
    ]);
    expect(text).toContain('SUMMARY:a\\;b\\, "c"\\\\d (4 seats) expires\r\n');
    const stamp = `${new Date(NOW - 5000).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
    expect(new Set(text.match(/^DTSTAMP:.*$/gm))).toEqual(new Set([`DTSTAMP:${stamp}`]));
    expect(new Set(text.match(/^UID:[0-9a-f]{32}@licmond\r$/gm)).size).toBe(3);
    const again = await at.get("/api/licenses/expirations.ics");
    expect(await again.text()).toBe(text);
  });

  test("UIDs stay when a date or the other pools change", async () => {
    const at = site();
    const uids = async () =>
      (await (await at.get("/api/licenses/expirations.ics?feature=solver&server=eda")).text()).match(
        /^UID:.*$/gm,
      );
    const before = await uids();
    const pools = [{ ...pool, expiry: expiry("2027-03-31", "UTC") }];
    at.show(picture("eda", { features: [feature("solver", { pools })] }));
    expect(await uids()).toEqual(before);
  });

  test("UIDs stay when a checkout gives the pool its name elsewhere", async () => {
    const at = site();
    const days = ["2026-03-31", "2026-03-31", "2027-01-31"];
    const shown = async (ids: readonly string[], query = "") => {
      const pools = days.map((day, index) => ({ ...pool, id: `${ids[index]}`, expiry: expiry(day, "UTC") }));
      at.show(picture("eda", { features: [feature("solver", { pools })] }));
      const text = await (await at.get(`/api/licenses/expirations.ics${query}`)).text();
      return [...text.matchAll(/^UID:(.*)\r\n(?:.*\r\n)*?DTSTART;VALUE=DATE:(.*)\r$/gm)].map(
        ([, uid, day]) => `${uid} ${day}`,
      );
    };
    const idle = await shown(["90fd0e17-1", "90fd0e17-2", "11fd0e17-1"]);
    expect(new Set(idle).size).toBe(3);
    expect(await shown(["9ab524dd-1", "9ab524dd-2", "aab524dd-1"])).toEqual(idle);
    expect(await shown(["z", "y", "x"], "?start=2026-06-01")).toEqual(idle.slice(2));
  });

  test("is the only route that its keys can read, by header or query", async () => {
    const at = site();
    const key = at.keys.calendar;
    const of = async (path: string, given: string | null) => await at.status(path, { key: given });
    expect(await of(`/api/licenses/expirations.ics?api_key=${key}`, null)).toBe(200);
    expect(await of("/api/licenses/expirations.ics", null)).toBe(401);
    expect(await of("/api/licenses/expirations.ics", at.keys.viewer)).toBe(200);
    expect(await of("/api/licenses/expirations", key)).toBe(403);
    expect(await of(`/api/licenses/expirations?api_key=${at.keys.viewer}`, null)).toBe(401);
    expect(await of("/api/licenses/expirations.ics?server=nope", key)).toBe(404);
  });
});
