import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MANAGERS } from "../../src/managers/registry.ts";
import { run } from "./rig.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-managers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, "licmond.toml");
const put = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const OWN = `[storage]
directory = "${folder}"
[[managers]]
name = "site"
title = "Site's own"
argv = ["/bin/echo", "solver 1/2"]
format = "lines"
[managers.match]
feature = '^(?<name>\\w+) (?<used>\\d+)/(?<total>\\d+)$'
`;
beforeAll(() => writeFileSync(config, OWN));

describe("licmond managers", () => {
  test("lists all: code, profiles and the config's own", async () => {
    const { out, exitCode } = await run(["managers", "--config", config]);
    expect(exitCode).toBe(0);
    const lines = out.trim().split("\n");
    const rows = lines.map((line) => line.trim().split(/\s{2,}/));
    expect(rows.slice(1).map(([name]) => name)).toEqual([...MANAGERS, "site"]);
    expect(rows).toContainEqual(["flexnet", "FlexNet", "code", "seen"]);
    expect(rows).toContainEqual(["lsdyna", "LS-DYNA", "profile", "seen"]);
    expect(rows).toContainEqual(["hasp", "Sentinel LDK", "profile", "experimental"]);
    expect(rows).toContainEqual(["site", "Site's own", "config"]);
  });

  test("show prints a profile that a config accepts under another name", async () => {
    const { out } = await run(["managers", "show", "lsdyna"]);
    const copied = put("copied.toml", `${OWN}${out.replace('name = "lsdyna"', 'name = "lstc"')}`);
    expect((await run(["managers", "--config", copied])).out).toMatch(/^lstc +LS-DYNA +config/m);
  });

  test.each([
    ["show flexnet", "flexnet is built in and has no profile"],
    ["show nosuch", 'unknown profile "nosuch"'],
    ["show", "expected no arguments, or: show <manager>"],
    ["hide lsdyna", "expected no arguments, or: show"],
  ])("%j is a usage error", async (args, words) => {
    const err = expect.stringContaining(words);
    expect(await run(["managers", ...args.split(" ")])).toMatchObject({ exitCode: 2, err });
  });
});

describe("licmond parse", () => {
  test("parses with a profile of the config, and reports unknown lines", async () => {
    const text = put("answer.txt", "solver 1/2\nwhat is this?\n");
    const { exitCode, out, err } = await run(["parse", "--config", config, "--manager", "site", text]);
    expect(exitCode).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ features: [{ name: "solver", used: 1, total: 2 }] });
    expect(err).toBe("line 2: what is this?\n");
  });

  test("reports why an answer is unusable", async () => {
    const text = put("login.html", "<html>login</html>");
    const { exitCode, err } = await run(["parse", "--manager", "jetbrains-fls", text]);
    expect(exitCode).toBe(1);
    expect(err).toContain(`${text}: The answer is not valid JSON.`);
  });

  test("names an expression that hangs", async () => {
    const evil = put("evil.toml", `${OWN}ignore = '^(a|aa)*(\\1)+$'\n`);
    const text = put("evil.txt", `${"a".repeat(60)}!\n`.repeat(10));
    const { exitCode, err } = await run(["parse", "--config", evil, "--manager", "site", text]);
    expect(exitCode).toBe(1);
    const named = /The expression match\.ignore of the manager site, on line \d, did not finish within 5 s/;
    expect(err).toMatch(named);
  });
});

test("licmond probe uses a manager of the config", async () => {
  const { exitCode, out } = await run(["probe", "--config", config, "site", "lic", "--json"]);
  expect(exitCode).toBe(0);
  const servers = [{ manager: "site", status: "up", members: [{ host: "lic" }] }];
  expect(JSON.parse(out)).toMatchObject({ servers, features: [{ name: "solver" }] });
});

describe("licmond check", () => {
  const check = (text: string) => run(["check", "--no-poll", "--config", put("checked.toml", text)]);

  test("warns of a profile without an end mark", async () => {
    expect((await check(OWN)).out).toMatch(/warning {2}managers: site: no end mark \(end\)/);
    const ended = OWN.replace('format = "lines"', '$&\nend = "^bye$"');
    expect((await check(ended)).out).toMatch(/ok {7}managers: site: Site's own/);
  });

  test("warns of an expression whose time grows exponentially", async () => {
    const { out } = await check(`${OWN}ignore = ['^#', '^(x+)+$']\n`);
    expect(out).toMatch(/warning {2}managers: site: match\.ignore\[1\] takes exponential time/);
    expect(out).not.toMatch(/match\.feature takes a time/);
  });

  test("reports an expression that does not compile", async () => {
    const { out, exitCode } = await check(OWN.replace("(?<used>", "((?<used>"));
    expect(exitCode).toBe(1);
    const path = /PROBLEM.*checked\.toml:9: managers\[0\]\.match\.feature is an invalid regular expression: /;
    expect(out).toMatch(path);
  });

  test("asks for the output of an experimental manager", async () => {
    const { out } = await check(`${OWN}[[servers]]\nid = "bl"\nmanager = "beta-lm"\naddress = "localhost"\n`);
    expect(out).toMatch(/warning {2}bl: manager: BETA LM is experimental, .*`licmond probe bl --raw`/);
  });
});

test("the shell completes names of managers, including the config's", async () => {
  const env = { LICMOND_CONFIG: config };
  const words = async (line: string) => (await run(`completion words -- ${line}`.split(" "), { env })).out;
  expect(await words("parse --manager s")).toBe("sidefx\nsite\n");
  expect(await words("managers show ls")).toBe("lsdyna\n");
});
