import { flexnet } from "../../src/managers/flexnet/index.ts";
import { createKnownHosts } from "../../src/managers/manager.ts";
import { readOutput, readOutputSync } from "../../src/managers/read-output.ts";
import { longestStall, medianTimes } from "./measure.ts";
import { INSTANT, largeOutput } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

/** The first rounds run while the parser is still being compiled; what it is compared with is compiled already. */
const ROUNDS = 15;

/** The parser over large outputs, beside decoding and splitting the same bytes. */
export const parse: Bench = {
  name: "parse",
  what: "lmstat outputs of 10 and 20 MB: time beside decode + split, stall of the event loop",
  async run(): Promise<Row[]> {
    const ten = largeOutput(10);
    const twenty = largeOutput(20);
    const parser = () => flexnet.createParser({ zone: "UTC", now: INSTANT, knownHosts: createKnownHosts() });

    const reading = readOutputSync(ten, parser());
    if (reading.unparsedLines > 0) throw new Error(`${reading.unparsedLines} lines were not understood`);

    const checkouts = reading.features.reduce((total, feature) => total + feature.checkouts.length, 0);

    const [split = NaN, parse10 = NaN, parse20 = NaN, yielding = NaN, learning = NaN] = await medianTimes(
      ROUNDS,
      [
        () => new TextDecoder().decode(ten).split("\n").length,
        () => readOutputSync(ten, parser()),
        () => readOutputSync(twenty, parser()),
        () => readOutput(ten, parser()),
        () => {
          const hosts = createKnownHosts();
          for (const { checkouts: held } of reading.features)
            for (const { host } of held) hosts.add(host ?? "");
          return hosts.list();
        },
      ],
    );
    const stall = await longestStall(() => readOutput(ten, parser()));

    return [
      {
        what: `parse 10 MB, ${checkouts} checkouts, beside decode + split`,
        ours: parse10,
        baseline: split,
        unit: "ms",
        bound: { of: "ratio", atMost: 8 },
      },
      {
        what: "learning the hosts of its checkouts, once it is read",
        ours: learning,
        baseline: split,
        unit: "ms",
        bound: null,
      },
      {
        what: "parse 20 MB beside 10 MB",
        ours: parse20,
        baseline: parse10,
        unit: "ms",
        bound: { of: "ratio", atMost: 2.2 },
      },
      {
        what: "parse 10 MB yielding, beside at once",
        ours: yielding,
        baseline: parse10,
        unit: "ms",
        bound: null,
      },
      {
        what: "longest stall of the event loop, 10 MB",
        ours: stall,
        baseline: null,
        unit: "ms",
        bound: { of: "ours", atMost: 20 },
      },
    ];
  },
};
