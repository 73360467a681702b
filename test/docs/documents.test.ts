import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createProgram } from "../../src/cli/program.ts";
import { interpretConfig } from "../../src/config/load.ts";
import { printProblem } from "../../src/config/problem.ts";
import { world } from "../cli/rig.ts";
import { BLOCKS, claimed, DOCUMENTS, ROOT, RUNNERS, titleOf } from "./claims.ts";
import { commandsOf } from "./markdown.ts";

describe("every block", () => {
  test("is run by a test, and every runner has blocks", () => {
    expect(BLOCKS.length).toBeGreaterThan(20);
    const unclaimed = BLOCKS.filter(({ runner }) => runner === null || !(runner in RUNNERS));
    expect(unclaimed.map(titleOf)).toEqual([]);
    expect(Object.keys(RUNNERS).filter((runner) => claimed(runner).length === 0)).toEqual([]);
  });

  test("is used by the test that its runner names", async () => {
    for (const [runner, file] of Object.entries(RUNNERS))
      expect([runner, await Bun.file(join(ROOT, file)).text()]).toEqual([
        runner,
        expect.stringContaining(`claimed("${runner}"`),
      ]);
  });
});

describe("config examples", () => {
  const parts = BLOCKS.filter(({ language }) => language === "toml");
  for (const block of new Set([...parts, ...claimed("config")]))
    test(titleOf(block), () => {
      expect(block.language).toBe("toml");
      const result = interpretConfig(block.text, null, {});
      expect(result.ok ? result.warnings : result.problems.map(printProblem)).toEqual([]);
    });
});

const { scripts } = (await Bun.file(join(ROOT, "package.json")).json()) as { readonly scripts: object };

describe("commands for contributors", () => {
  for (const block of claimed("develop"))
    test(titleOf(block), () => {
      for (const { command } of commandsOf(block)) {
        const [line = ""] = command.split(" #");
        for (const each of line.trim().split(/ {2,}/)) expect([each, isThere(each)]).toEqual([each, true]);
      }
    });

  function isThere(command: string): boolean {
    const [program = "", verb = "", name = ""] = command.split(/\s+/);
    if (program !== "./scripts/bun") return program.startsWith("./") && existsSync(join(ROOT, program));
    if (verb === "run") return name in scripts;
    return existsSync(join(ROOT, verb === "test" ? name : verb));
  }
});

const program = await createProgram(world().io);

describe("commands of licmond in the text", () => {
  let found = 0;
  for (const file of DOCUMENTS)
    test(file, async () => {
      const text = await Bun.file(join(ROOT, file)).text();
      const named = [...text.matchAll(/`(?:sudo )?(?:-u licmond )?licmond ([a-z][^`\n]*)`/g)];
      for (const [shown, line = ""] of named) {
        const [first = "", ...words] = line.split(/\s+/);
        const command = program.commands.find((each) => each.name() === first);
        expect([shown, command?.name()]).toEqual([shown, first]);
        const below = command?.commands.find((each) => words[0]?.split("|").includes(each.name()));
        const known = [...(command?.options ?? []), ...(below?.options ?? [])].map(({ long }) => long);
        const options = words.filter((word) => word.startsWith("--"));
        expect([shown, options.filter((option) => !known.includes(option))]).toEqual([shown, []]);
      }
      found += named.length;
    });
  test("are found by the search", () => expect(found).toBeGreaterThan(20));
});

describe("links", () => {
  for (const file of DOCUMENTS)
    test(file, async () => {
      const text = await Bun.file(join(ROOT, file)).text();
      const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g)].map(([, path = ""]) => path);
      const missing = links.filter((path) => path !== "" && !existsSync(join(ROOT, file, "..", path)));
      expect(missing).toEqual([]);
    });
});
