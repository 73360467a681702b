import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCommand } from "../../../src/alerts/notify/command.ts";
import { createCommandRunner } from "../../../src/collector/run-command.ts";
import { about, message, never, note, ONE } from "./notes.ts";

const folder = mkdtempSync(join(tmpdir(), "licmond-command-"));
const runner = createCommandRunner({ path: "/usr/bin:/bin", home: "/" });
afterAll(async () => {
  await runner.stop();
  rmSync(folder, { recursive: true, force: true });
});

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("the data goes in by stdin, the arguments stay as configured, and no shell reads either", async () => {
  const out = join(folder, "out");
  const path = script("tell", `printf '%s|' "$@" > '${out}'; cat >> '${out}'`);
  const name = `$(touch ${folder}/owned) \`touch ${folder}/owned\`; "quoted" \r\n`;
  const sent = message([about(1, { feature: name })]);
  await createCommand([path, "--to", "{feature} $HOME"], runner.run)(sent, never);
  const text = await Bun.file(out).text();
  const end = text.lastIndexOf("|{") + 1;
  expect(text.slice(0, end)).toBe("--to|{feature} $HOME|");
  expect(JSON.parse(text.slice(end))).toMatchObject({ type: "alerts", alerts: [{ feature: name }] });
  expect(existsSync(join(folder, "owned"))).toBe(false);
});

test("accepts a program that reads nothing, even of a long message", async () => {
  const many = message(Array.from({ length: 1000 }, (_, index) => note(index)));
  await createCommand([script("deaf", "exec true")], runner.run)(many, never);
});

test.each<[string, string, RegExp]>([
  ["failing", "echo no pager >&2; exit 3", /^The command failed with exit code 3: no pager$/],
  ["killed", "kill -9 $$", /^The command was ended by SIGKILL$/],
])("%s", async (name, text, words) => {
  const command = createCommand([script(name, text)], runner.run);
  await expect(command(ONE, never)).rejects.toThrow(words);
});

test("one that is not there", async () => {
  const command = createCommand([join(folder, "none")], runner.run);
  await expect(command(ONE, never)).rejects.toThrow("does not exist");
});
