import { createParseApart } from "../../src/collector/parse-apart.ts";
import { createKnownHosts } from "../../src/managers/manager.ts";
import { profileReader } from "../../src/managers/profiles/parsing-service.ts";
import { shippedProfile } from "../../src/managers/profiles/shipped.ts";
import { readOutput, readOutputSync } from "../../src/managers/read-output.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { dslsOutput } from "./dsls-output.ts";
import { longestStall, medianTimes } from "./measure.ts";
import { INSTANT, largeHolderBlocks, largeOutput } from "./shapes.ts";
import { type Bench, compared, figure, type Row } from "./table.ts";

/**
 * Number of rounds. In the first ones the parser is still being compiled, while the baseline is compiled
 * already.
 */
const ROUNDS = 15;
const CONTEXT = { zone: "UTC", now: INSTANT };

interface Case {
  readonly manager: string;
  readonly bytes: Uint8Array;
  /** Maximum ratio of parsing to decode + split. */
  readonly atMost: number;
}

/** Each manager's parser on 10 MB of output, compared with decoding and splitting the same bytes. */
export const parse: Bench = {
  name: "parse",
  what: "outputs of 10 MB: parse time compared with decode + split, stall of the event loop",
  async run(): Promise<Row[]> {
    const flexnet = largeOutput(10);
    const lsdyna = largeLstcOutput();
    const cases: Case[] = [
      { manager: "flexnet", bytes: flexnet, atMost: 8 },
      { manager: "dsls", bytes: dslsOutput(10), atMost: 15 },
      { manager: "lmx", bytes: largeHolderBlocks("lmx", 10), atMost: 15 },
      { manager: "rms", bytes: largeHolderBlocks("rms", 10), atMost: 15 },
      { manager: "lsdyna", bytes: lsdyna, atMost: 40 },
    ];
    const rows: Row[] = [];
    for (const one of cases) rows.push(await parseRow(one));
    return [
      ...rows,
      await linearRow(flexnet),
      stallRow("flexnet", 20, await longestStall(() => readOutput(flexnet, parserOf("flexnet")))),
      await workerStallRow(lsdyna),
    ];
  },
};

function parserOf(manager: string) {
  const context = { ...CONTEXT, knownHosts: createKnownHosts() };
  const profile = shippedProfile(manager);
  if (profile === undefined) return managerOf(manager).createParser(context);
  // Note the position for each line, as the worker does.
  const position = new Int32Array(new SharedArrayBuffer(8));
  return profileReader(profile)(context, (expression, line) => {
    position[0] = expression;
    position[1] = line;
  });
}

async function parseRow({ manager, bytes, atMost }: Case): Promise<Row> {
  const read = () => readOutputSync(bytes, parserOf(manager));
  const { unparsedLines, cut, features } = read();
  if (unparsedLines > 0 || cut) throw new Error(`${manager}: ${unparsedLines} unparsed lines`);
  const checkouts = features.reduce((total, feature) => total + feature.checkouts.length, 0);
  const [split = NaN, parse = NaN] = await medianTimes(ROUNDS, [
    () => new TextDecoder().decode(bytes).split("\n").length,
    read,
  ]);
  const what = `${manager}: parse 10 MB, ${checkouts} checkouts, compared with decode + split`;
  return compared(what, { ours: parse, baseline: split }, "ms", { of: "ratio", atMost });
}

async function linearRow(ten: Uint8Array): Promise<Row> {
  const twenty = largeOutput(20);
  const [time20 = NaN, time10 = NaN] = await medianTimes(
    ROUNDS,
    [twenty, ten].map((bytes) => () => readOutputSync(bytes, parserOf("flexnet"))),
  );
  const what = "flexnet: parse 20 MB, compared with 10 MB";
  return compared(what, { ours: time20, baseline: time10 }, "ms", { of: "ratio", atMost: 2.2 });
}

/** Profiles are parsed in a worker, so that a slow expression of a user cannot stall the daemon. */
async function workerStallRow(bytes: Uint8Array): Promise<Row> {
  const profile = shippedProfile("lsdyna");
  if (profile === undefined) throw new Error("no profile lsdyna");
  const apart = createParseApart({ limitMs: 60_000 });
  try {
    await apart.read(profile, bytes, CONTEXT, false);
    return stallRow("lsdyna", 50, await longestStall(() => apart.read(profile, bytes, CONTEXT, false)));
  } finally {
    apart.stop();
  }
}

function stallRow(manager: string, atMost: number, ours: number): Row {
  return figure(`${manager}: longest stall of the event loop, 10 MB`, ours, "ms", atMost);
}

/** Output of `lstc_qrun -R` with 50 users of each program. */
function largeLstcOutput(): Uint8Array {
  const parts = ["Using user specified server 31010@lic7.example\n\n"];
  let length = 0;
  for (let program = 0; length < 10e6; program++) {
    const people = Array.from(
      { length: 50 },
      (_, index) =>
        ` user${(program * 50 + index) % 900}     ${10_000 + index}@node-${index}.cluster.example  1\n`,
    );
    const part = `SOLVER_${program}     12/30/2030          -  99950 100000 |     0\n${people.join("")}`;
    parts.push(part);
    length += part.length;
  }
  parts.push(`                   LICENSE GROUP ${(parts.length - 1) * 50}  1 2 | 0\n`);
  return new TextEncoder().encode(parts.join(""));
}
