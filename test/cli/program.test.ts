import { describe, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { join } from "node:path";
import { version } from "../../package.json";
import { listenToSignals } from "../../src/cli/io.ts";
import { createProgram } from "../../src/cli/program.ts";
import { createProgress } from "../../src/cli/terminal.ts";
import { MANAGERS } from "../../src/managers/registry.ts";
import { run, world } from "./rig.ts";

test("--help fits 80 columns", async () => {
  const { out } = await run(["--help"]);
  expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  const described = out.slice(out.indexOf("Commands:"), out.indexOf("  help ")).split(/\n {2}(?! )/);
  expect(described.slice(1).filter((each) => !each.trim().endsWith("."))).toEqual([]);
});

test.each(["--config x.toml --help", "help keys", "help keys create", "--help check"])(
  "%j prints help",
  async (line) => {
    const { exitCode, err, out } = await run(line.split(" "));
    expect([exitCode, err, out]).toEqual([0, "", expect.stringContaining("Usage: licmond")]);
  },
);

const program = await createProgram(world().io);
const commands = program.commands.flatMap((each) => [each, ...each.commands]);
const named = commands.map((command) => {
  const above = command.parent === program ? [] : [command.parent?.name() ?? ""];
  return [above, command.name(), command.commands.length > 0] as const;
});
test.each(named)("%j %s: the help has an example", async (above, name, isGroup) => {
  const { exitCode, out, err } = await run([...above, name, "--help"]);
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  expect(out).toContain(`Usage: ${["licmond", ...above, name].join(" ")} `);
  if (!isGroup) expect(out).toContain("Example");
  expect(out).toContain("--config <file>");
  const prose = out.split("\n").filter((line) => /^(?!Usage)\S/.test(line));
  expect(prose.filter((line) => line.length > 80)).toEqual([]);
  expect(out.split("\n\n")[1]).toMatch(/^[A-Z][\s\S]*\.$/);
});

test.each([
  ["", "Usage: licmond"],
  ["keys", "Usage: licmond keys"],
  ["srve", "Did you mean serve?"],
  ["nosuch --help", "unknown command 'nosuch'"],
  ["--help nosuch", "unknown command 'nosuch'"],
  ["keys nosuch -h", "unknown command 'nosuch'"],
  ["serve --prot", "unknown option '--prot'"],
  ["keys create", "required option '--name <name>'"],
  ["keys create --name x --role emperor", "Allowed choices are calendar, site, viewer, operator, admin"],
  ["keys create --name x --role viewer --expires soon", "e.g. 90d"],
  ["keys create --name x --role admin --anonymize", "anonymize is only allowed with the role viewer"],
  ["keys create --role admin --name ", "1 to 100 characters"],
  ["keys create --name x --role viewer --daily-quota 0", "1 or more"],
  ["parse --manager nosuch", `expected one of ${MANAGERS.join(", ")}`],
  ["parse --manager rlm --timezone Mars", "IANA time zone"],
  ["probe x --raw --json", "cannot be used with option"],
  ["probe nosuch 27000@x", MANAGERS.join(", ")],
  ["version now", "too many arguments"],
])("%j is a usage error", async (line, words) => {
  const { exitCode, out, err } = await run(line === "" ? [] : line.split(" "));
  expect({ exitCode, out }).toEqual({ exitCode: 2, out: "" });
  expect(err).toContain(words);
});

describe("the real program", () => {
  const main = `"${process.execPath}" "${join(import.meta.dir, "../../src/main.ts")}"`;
  const shell = async (line: string) => {
    const child = Bun.spawn(["sh", "-c", line], { stdout: "pipe", stderr: "pipe" });
    return Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  };

  test("--version, from source", async () => {
    expect(await shell(`${main} --version`)).toEqual([`licmond ${version} (dev)\n`, "", 0]);
  });

  test("a slow reader gets everything", async () => {
    const [text] = await shell(`${main} openapi | (sleep 0.5; cat)`);
    expect(text.length).toBeGreaterThan(100_000);
    expect(JSON.parse(text)).toMatchObject({ openapi: "3.0.3", info: { title: "licmond", version } });
    expect(text).toBe((await run(["openapi"], { version })).out);
  });

  test("a reader that exits early causes no error", async () => {
    expect(await shell(`${main} openapi | head -1`)).toEqual(["{\n", "", 0]);
  });
});

test.each([
  [
    "on a terminal: paints the first step at once, and delays the next ones",
    true,
    `\rCopying  ${"█".repeat(15)}${"░".repeat(15)} 50 %\r\u001b[Kdone\n`,
  ],
  ["elsewhere: prints a line at the start and at the end", false, "Copying …\ndone\n"],
])("a progress bar %s", (_, terminal, text) => {
  const painted: string[] = [];
  const err = (more: string) => void painted.push(more);
  const bar = createProgress("Copying", { err, terminal: { out: terminal, err: terminal } });
  bar.at(0.5);
  bar.at(0.6);
  bar.end("done");
  expect(painted.join("")).toBe(text);
});

test("the first signal stops, the second exits, SIGHUP reloads, and quitting removes the listeners", () => {
  const source = new EventEmitter();
  const seen: string[] = [];
  const quit = listenToSignals(
    {
      stop: (signal) => void seen.push(`stop ${signal}`),
      exitNow: (signal) => void seen.push(`exit ${signal}`),
      reload: () => void seen.push("reload"),
    },
    source,
  );
  for (const signal of ["SIGHUP", "SIGTERM", "SIGINT", "SIGHUP"]) source.emit(signal, signal);
  expect(seen).toEqual(["reload", "stop SIGTERM", "exit SIGINT", "reload"]);
  quit();
  expect(["SIGTERM", "SIGINT", "SIGHUP"].map((signal) => source.listenerCount(signal))).toEqual([0, 0, 0]);
});
