import { expect, test } from "bun:test";
import manifest from "../../package.json";
import { run } from "./harness.ts";

test("version --licenses prints the licenses of everything inside", async () => {
  const { exitCode, stdout, stderr } = await run(["version", "--licenses"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect(stdout).toContain(`\n${name} ${version} (`);
  expect(stdout).toContain(`Bun ${Bun.version} and what it links`);
  for (const text of [
    "JavaScriptCore",
    "GNU LIBRARY GENERAL PUBLIC LICENSE",
    "dompurify",
    "The licmond authors",
  ])
    expect(stdout).toContain(text);
});
