import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { MINUTE } from "../../src/simulator/calendar.ts";
import { SERVERS as SIMULATED } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";
import { runTool } from "../../src/simulator/tool.ts";
import { median, residentMegabytes } from "./measure.ts";
import { type Place, rescan, startPlace } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const SERVERS = 100;
const MINUTES = Number(process.env.DAY_MINUTES ?? 1440);
/** A minute of the daemon's clock takes a second. */
const SPEED = 60;
/** What is compared with the end: the hour after the first working hours have filled every cache. */
const WARM_MINUTES = Math.floor(MINUTES / 4);
const WINDOW_MINUTES = Math.max(1, Math.floor(MINUTES / 24));
/** Debian's package libfaketime, which makes the clock of a program run faster. */
const FAKETIME = [
  process.env.LIBFAKETIME,
  ...["x86_64", "aarch64"].map((arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketime.so.1`),
];

/**
 * Memory of the built binary over a day of polls of 100 servers, one a minute each, with the clock sped up: hours and
 * days are rolled up, people come, go and have sessions as on the simulated site.
 */
export const day: Bench = {
  name: "day",
  what: `memory over ${MINUTES} polls of each of ${SERVERS} servers, with a clock ${SPEED} times as fast (DAY_MINUTES=…; needs libfaketime)`,
  byNameOnly: true,
  async run(): Promise<Row[]> {
    const library = FAKETIME.find((path) => path !== undefined && existsSync(path));
    if (library === undefined) throw new Error("libfaketime is not here (Debian: apt install libfaketime)");
    const startsAt = Date.now();
    const print = printer();
    const outputs = Array.from({ length: SERVERS }, (_, index) => print(index, startsAt));
    await using place = await startPlace({
      outputs,
      interval: "60s",
      environment: {
        LD_PRELOAD: library,
        FAKETIME: `+0 x${SPEED}`,
        // Timers keep their time: what is sped up is the clock on the wall.
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    const samples = await pollADay(place, print, startsAt);
    const own = (from: number) =>
      median(samples.slice(from, from + WINDOW_MINUTES).map((sample) => sample.own));
    const all = (from: number) =>
      median(samples.slice(from, from + WINDOW_MINUTES).map((sample) => sample.all));
    const end = samples.length - WINDOW_MINUTES;
    const { sessions, checkouts } = await contents(place);
    return [
      {
        what: `resident memory at the end, beside that after a quarter (${samples.length * SERVERS} polls, ${sessions} sessions, ${checkouts} checkouts now)`,
        ...{ ours: all(end), baseline: all(WARM_MINUTES), unit: "MB" },
        bound: { of: "ratio", atMost: 1.1 },
      },
      {
        what: "… of it not mapped from files",
        ...{ ours: own(end), baseline: own(WARM_MINUTES), unit: "MB" },
        bound: { of: "ratio", atMost: 1.1 },
      },
    ];
  },
};

type Print = (index: number, instant: number) => string;

/** What lmstat says of one of the many sites: each has its own people. */
function printer(): Print {
  const server = SIMULATED.find((spec) => spec.silentMinutes === 0);
  if (server === undefined) throw new Error("every simulated server is silent at times");
  const sites = Array.from({ length: SERVERS }, (_, seed) => createSite({ seed, zone: "UTC" }));
  return (index, instant) => {
    const site = sites[index];
    if (site === undefined) throw new Error(`no site ${index}`);
    const { address, members, version } = server;
    const reading = (as: typeof members) => site.reading(server, instant, as);
    const asked = { manager: flexnet, zone: "UTC", address, members, version, reading };
    return runTool(["lmstat", "-a", "-i", "-c", address], asked).stdout;
  };
}

interface Sample {
  readonly all: number;
  readonly own: number;
}

async function pollADay(place: Place, print: Print, startsAt: number): Promise<Sample[]> {
  const folder = dirname(place.tool);
  const begun = performance.now();
  const samples: Sample[] = [];
  for (let minute = 0; minute < MINUTES; minute++) {
    await Promise.all(
      place.addresses.map((address, index) =>
        Bun.write(join(folder, address), print(index, startsAt + minute * MINUTE)),
      ),
    );
    await rescan(place);
    samples.push(await residentMegabytes(place.pid));
    if ((minute + 1) % (WINDOW_MINUTES * 2) === 0) {
      const { all, own } = samples.at(-1) ?? { all: 0, own: 0 };
      const seconds = ((performance.now() - begun) / 1000).toFixed(0);
      console.error(`  minute ${minute + 1}: ${all.toFixed(1)} MB, ${own.toFixed(1)} MB own, ${seconds} s`);
    }
    await Bun.sleep(Math.max(0, begun + ((minute + 1) * 60_000) / SPEED - performance.now()));
  }
  return samples;
}

async function contents(place: Place): Promise<{ sessions: number; checkouts: number }> {
  const total = async (path: string) => {
    const response = await fetch(`${place.url}${path}`, { headers: { "X-API-Key": place.key } });
    const found = /"total":(\d+),"limit"/.exec(await response.text())?.[1];
    if (found === undefined) throw new Error(`${path} tells no total`);
    return Number(found);
  };
  return {
    sessions: await total("/api/licenses/sessions?start=2020-01-01&limit=1"),
    checkouts: await total("/api/licenses/users?kind=checkout&limit=1"),
  };
}
