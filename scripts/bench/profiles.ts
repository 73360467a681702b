import { createParseApart } from "../../src/collector/parse-apart.ts";
import { createKnownHosts } from "../../src/managers/manager.ts";
import { profileReader } from "../../src/managers/profiles/reader.ts";
import { shippedProfile } from "../../src/managers/profiles/shipped.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { longestStall, medianTimes } from "./measure.ts";
import { INSTANT } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

const ROUNDS = 9;

/** A profile of lines over a large output, beside decoding and splitting the same bytes. */
export const profiles: Bench = {
  name: "profiles",
  what: "10 MB of lstc_qrun by the profile lsdyna: time beside decode + split, stall of the event loop",
  async run(): Promise<Row[]> {
    const profile = shippedProfile("lsdyna");
    if (profile === undefined) throw new Error("there is no profile lsdyna");
    const ten = largeOutput();
    const read = profileReader(profile);
    const context = { zone: "UTC", now: INSTANT };
    // As in the worker, which notes down where it is.
    const place = new Int32Array(new SharedArrayBuffer(8));
    const parser = () =>
      read({ ...context, knownHosts: createKnownHosts() }, (expression, line) => {
        place[0] = expression;
        place[1] = line;
      });
    const reading = readOutputSync(ten, parser());
    if (reading.unparsedLines > 0) throw new Error(`${reading.unparsedLines} lines were not understood`);
    const checkouts = reading.features.reduce((total, feature) => total + feature.checkouts.length, 0);

    const apart = createParseApart({ limitMs: 60_000 });
    const readApart = () => apart.read(profile, ten, context, false);
    const [split = NaN, parse = NaN, whole = NaN] = await medianTimes(ROUNDS, [
      () => new TextDecoder().decode(ten).split("\n").length,
      () => readOutputSync(ten, parser()),
      readApart,
    ]);
    const stall = await longestStall(readApart);
    apart.stop();
    return [
      {
        what: `parse 10 MB, ${checkouts} checkouts, beside decode + split`,
        ours: parse,
        baseline: split,
        unit: "ms",
        bound: { of: "ratio", atMost: 40 },
      },
      {
        what: "the same in the worker, there and back",
        ours: whole,
        baseline: parse,
        unit: "ms",
        bound: null,
      },
      {
        what: "longest stall of the event loop meanwhile",
        ours: stall,
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 50 },
      },
    ];
  },
};

/** In the shape of `lstc_qrun -R`: 50 people below each program. */
function largeOutput(): Uint8Array {
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
