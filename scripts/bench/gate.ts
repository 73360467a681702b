import { join } from "node:path";
import { load } from "./load.ts";
import { median } from "./measure.ts";
import { freePort, untilAnswers } from "./place.ts";
import type { Bench, Row } from "./table.ts";

const SUMMARY = "/api/licenses/summary";
const FEATURES = "/api/licenses/features";
const ROUNDS = 5;
const LOAD = { connections: 4, seconds: 1.5, pauseMs: 0 } as const;

const GUESSES = 1_000_000;

interface Served extends AsyncDisposable {
  readonly port: number;
  readonly key: string;
}

async function serve(form: "gate" | "bare"): Promise<Served> {
  const port = freePort();
  const server = Bun.spawn([process.execPath, join(import.meta.dir, "gate-server.ts"), String(port), form], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = server.stdout.getReader();
  const { value } = await lines.read();
  const key = new TextDecoder().decode(value).trim();
  await untilAnswers(`http://127.0.0.1:${port}${SUMMARY}`, () => server.exitCode !== null, {
    "x-api-key": key,
  });
  return {
    port,
    key,
    async [Symbol.asyncDispose]() {
      server.kill();
      await server.exited;
    },
  };
}

/** Requests a second of both, round by round in turn, so that what else the machine does falls on both alike. */
async function compare(
  path: string,
  gate: Served,
  bare: Served,
): Promise<{ ours: number; baseline: number }> {
  const rates: { ours: number[]; baseline: number[] } = { ours: [], baseline: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await load({ ...LOAD, ...gate, path });
    const baseline = await load({ ...LOAD, ...bare, path });
    // The first round warms up.
    if (round === 0) continue;
    rates.ours.push(ours.requestsPerSecond);
    rates.baseline.push(baseline.requestsPerSecond);
  }
  return { ours: median(rates.ours), baseline: median(rates.baseline) };
}

/** Resident megabytes that the guesses left, and how many were refused a second. */
async function guess(): Promise<{ megabytes: number; perSecond: number }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "gate-guesses.ts"), String(GUESSES)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const [megabytes = Number.NaN, perSecond = Number.NaN] = (await child.stdout.text()).split(" ").map(Number);
  if ((await child.exited) !== 0) throw new Error("the guesses failed");
  return { megabytes, perSecond };
}

export const gate: Bench = {
  name: "gate",
  what: "the gate (request id, limits, key, quota, checks, access log) beside the same routes without it; guessed keys",
  async run(): Promise<Row[]> {
    await using behind = await serve("gate");
    await using bare = await serve("bare");
    const size = async ({ port, key }: Served) =>
      (await (await fetch(`http://127.0.0.1:${port}${FEATURES}`, { headers: { "x-api-key": key } })).bytes())
        .byteLength;
    const [bytes, bareBytes] = [await size(behind), await size(bare)];
    if (bytes !== bareBytes) throw new Error(`${bytes} bytes behind the gate, ${bareBytes} without`);
    const guessed = await guess();
    return [
      {
        what: `requests a second, ${SUMMARY}, beside the bare route`,
        ...(await compare(SUMMARY, behind, bare)),
        unit: "/s",
        bound: { of: "ratio", atLeast: 0.5 },
      },
      {
        what: `requests a second, ${(bytes / 1000).toFixed(0)} KB, beside the bare route`,
        ...(await compare(FEATURES, behind, bare)),
        unit: "/s",
        bound: { of: "ratio", atLeast: 0.85 },
      },
      {
        what: `memory that ${GUESSES / 1e6} million guessed keys left`,
        ours: guessed.megabytes,
        baseline: null,
        unit: "MB",
        bound: { of: "ours", atMost: 10 },
      },
      {
        what: "… guesses refused a second",
        ours: guessed.perSecond,
        baseline: null,
        unit: "/s",
        bound: null,
      },
    ];
  },
};
