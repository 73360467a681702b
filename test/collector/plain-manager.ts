import type { Manager, ReadingParser, Step } from "../../src/managers/manager.ts";
import { createUnparsed } from "../../src/managers/read-output.ts";
import { feature, member, pool, reading, toolError } from "../domain/make.ts";

/**
 * Makes a manager with any steps. Its answers have lines `feature NAME TOTAL`, `server HOST` and `error
 * TEXT`; other lines are unparsed.
 */
export function plainManager(steps: readonly Step[], more: Partial<Manager> = {}): Manager {
  return {
    name: "plain",
    title: "Plain",
    tools: [],
    parseAddress: () => ({ members: [{ host: "lic1", port: null }] }),
    steps: () => steps,
    commands: {},
    utility: (tool) => tool,
    createParser,
    explain: () => null,
    quorum: () => 1,
    debugLog: null,
    render: () => "",
    simulatedTool: null,
    merge: (readings) => ({
      ...reading({ manager: "plain" }),
      members: readings.flatMap(({ members }) => members),
      daemons: [],
      features: readings.flatMap(({ features }) => features),
      errors: readings.flatMap(({ errors }) => errors),
      recognised: readings.some(({ recognised }) => recognised),
      unparsed: readings.flatMap(({ unparsed }) => unparsed),
      unparsedLines: readings.reduce((sum, { unparsedLines }) => sum + unparsedLines, 0),
    }),
    ...more,
  };
}

function createParser(): ReadingParser {
  const unparsed = createUnparsed();
  const words: string[][] = [];
  let count = 0;
  const named = (kind: string) => words.filter(([first]) => first === kind).map(([, ...rest]) => rest);
  const line = (text: string) => {
    count++;
    const split = text.split(" ");
    if (["feature", "server", "error"].includes(split[0] ?? "")) words.push(split);
    else if (text !== "") unparsed.add(text, count);
  };
  return {
    line,
    finish({ rest, truncated }) {
      if (rest !== null) line(rest);
      return {
        ...reading({ manager: "plain", daemons: [] }),
        members: named("server").map(([host = ""]) => member({ host })),
        features: named("feature").map(([name = "", seats]) => {
          const counts = { total: Number(seats), used: 0 };
          const pools = [pool({ version: null, ...counts })];
          return feature({ daemon: "", name, ...counts, pools, checkouts: [] });
        }),
        errors: named("error").map((words) =>
          toolError({ message: words.join(" "), major: null, minor: null }),
        ),
        ...unparsed.read(),
        cut: truncated,
        recognised: words.length > 0,
      };
    },
  };
}
