/**
 * Measures licmond beside what the same machine does without it: `bun scripts/bench/run.ts [name…]`.
 * Figures, not tests: they need a quiet machine, and the built binary (`bun run build`).
 */
import { existsSync } from "node:fs";
import { featuresHttp } from "./features-http.ts";
import { fleetCost } from "./fleet-cost.ts";
import { history } from "./history.ts";
import { page } from "./page.ts";
import { parse } from "./parse.ts";
import { parsers } from "./parsers.ts";
import { BINARY } from "./place.ts";
import { profiles } from "./profiles.ts";
import { prometheus } from "./prometheus.ts";
import { spawns } from "./spawns.ts";
import { startup } from "./startup.ts";
import { streams } from "./streams.ts";
import { type Bench, holds, type Row, tableOf } from "./table.ts";
import { waits } from "./waits.ts";
import { words } from "./words.ts";

const BENCHES: readonly Bench[] = [
  startup,
  parse,
  parsers,
  profiles,
  featuresHttp,
  prometheus,
  spawns,
  streams,
  history,
  fleetCost,
  waits,
  page,
  words,
];

const names = process.argv.slice(2);
const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0 || !existsSync(BINARY)) {
  console.error(
    unknown.length > 0 ? `no such bench: ${unknown.join(", ")}` : `${BINARY} is not there: bun run build`,
  );
  console.error(BENCHES.map((bench) => `  ${bench.name.padEnd(14)} ${bench.what}`).join("\n"));
  process.exit(2);
}

const rows: Row[] = [];
for (const bench of BENCHES) {
  if (names.length > 0 && !names.includes(bench.name)) continue;
  console.error(`${bench.name}: ${bench.what} …`);
  rows.push(...(await bench.run()));
}
console.log(tableOf(rows));
if (!rows.every(holds)) process.exitCode = 1;
