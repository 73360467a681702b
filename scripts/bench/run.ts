/**
 * Measures licmond and, in the same run, the same machine without it: `bun scripts/bench/run.ts [name…]`.
 * Needs a quiet machine and the built binary (`bun run build`).
 */
import { existsSync } from "node:fs";
import { daemon } from "./daemon.ts";
import { history } from "./history.ts";
import { http } from "./http.ts";
import { page } from "./page.ts";
import { parse } from "./parse.ts";
import { BINARY } from "./place.ts";
import { streams } from "./streams.ts";
import { type Bench, holds, type Row, tableOf } from "./table.ts";

const BENCHES: readonly Bench[] = [daemon, parse, http, streams, history, page];

const names = process.argv.slice(2);
const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0 || !existsSync(BINARY)) {
  console.error(
    unknown.length > 0
      ? `unknown bench: ${unknown.join(", ")}`
      : `${BINARY} does not exist; run: bun run build`,
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
