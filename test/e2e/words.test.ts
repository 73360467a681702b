import { expect, test } from "bun:test";
import { BINARY, run, until } from "./harness.ts";
import { flexnetSays } from "./lmstat.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

/** Commands that query a running daemon, with and without a terminal. */

const seats = (used: number, total = 4) => ({ features: { solver: { total, used }, Mesher: { total: 2 } } });
const FULL = seats(4);

const envOf = ({ daemon: { url }, key }: Watching) => ({
  LICMOND_URL: url,
  LICMOND_API_KEY: key,
  TERM: "xterm",
});

const LEAVE = "\u001b[?1049l";

const flagsOf = (one: Bun.Terminal) => [one.inputFlags, one.outputFlags, one.localFlags, one.controlFlags];

/** Runs a command in a terminal. */
function inTerminal(args: readonly string[], watching: Watching, cols = 80, rows = 12) {
  let text = "";
  const decoder = new TextDecoder();
  const env = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", ...envOf(watching) };
  const data = (_: unknown, bytes: Uint8Array) => {
    text += decoder.decode(bytes, { stream: true });
  };
  const child = Bun.spawn([BINARY, ...args], { cwd: "/", env, terminal: { cols, rows, data } });
  const { terminal } = child;
  if (terminal === undefined) throw new Error("there are no terminals here");
  return {
    child,
    terminal,
    text: () => text,
    shows: (what: string) => until(`it shows ${what}`, () => text.includes(what) || undefined),
    /** Output may arrive after the exit. */
    ends: () => until("it leaves the screen", () => text.endsWith(LEAVE) || undefined),
    isAsItWas() {
      const fresh = new Bun.Terminal({});
      expect(flagsOf(terminal)).toEqual(flagsOf(fresh));
      fresh.close();
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await child.exited;
      terminal.close();
    },
  };
}

test("wait: its exit codes, and those of its command", async () => {
  await using site = await createWatchedSite();
  await site.lmutil.says(flexnetSays(seats(2)));
  await using watching = await site.watch();
  const free = "solver (eda/acmed): 2 free\n";
  const late = "Waiting for 3 seats of solver: 2 of 4 in use on eda\nsolver was not free within 1 s.\n";
  const cases: readonly (readonly [string[], number, string, string])[] = [
    [["SOLVER"], 0, "", free],
    [["solver", "--count", "2", "--", "sh", "-c", "echo $0; exit 7", "a b"], 7, "a b\n", free],
    [["solver", "--", "sh", "-c", "kill -TERM $$"], 143, "", free],
    [["solver", "--", "/nosuch"], 127, "", "cannot run /nosuch"],
    [["solvr"], 1, "", '"solver"'],
    [["solver", "--count", "5"], 2, "", "solver has only 4 seats"],
    [["solver", "--count", "3", "--timeout", "1s", "--", "echo", "never"], 3, "", late],
  ];
  for (const [args, exitCode, stdout, words] of cases) {
    const ended = await run(["wait", ...args], { env: envOf(watching) });
    expect([args, ended.exitCode, ended.stdout]).toEqual([args, exitCode, stdout]);
    expect(ended.stderr).toContain(words);
  }
});

test("wait: a returned seat, Ctrl-C, and a restart of licmond", async () => {
  await using site = await createWatchedSite();
  await site.lmutil.says(flexnetSays(FULL));
  await using watching = await site.watch();
  {
    await using waiting = inTerminal(["wait", "solver"], watching);
    await waiting.shows("4 of 4 in use on eda");
    waiting.terminal.write("\u0003");
    expect(await waiting.child.exited).toBe(130);
    waiting.isAsItWas();
  }
  const args = ["wait", "solver", "--count", "2", "--", "sh", "-c", "tty -s && exit 9"];
  await using waiting = inTerminal(args, watching);
  await waiting.shows("4 of 4 in use on eda");
  await watching.poll(seats(3));
  await waiting.shows("3 of 4 in use on eda");
  await watching.daemon.stop();
  await waiting.shows("cannot connect to");
  await site.lmutil.says(flexnetSays(seats(1)));
  await using again = await site.watch();
  expect(again.daemon.url).toBe(watching.daemon.url);
  expect(await waiting.child.exited).toBe(9);
  expect(waiting.text()).toContain("solver (eda/acmed): 3 free");
});

test("top: updates, keys, resizing, and a restored terminal", async () => {
  await using site = await createWatchedSite();
  await site.lmutil.says(flexnetSays(FULL));
  await using watching = await site.watch();
  const viewer = { ...watching, key: await site.key("viewer") };
  {
    await using top = inTerminal(["top"], viewer);
    await top.shows("licmond  live  servers: 1 up");
    await watching.poll(seats(3));
    await top.shows("1        "); // free
    top.terminal.write("/mesh\r");
    await top.shows('1 feature: all, named "mesh", by use');
    top.terminal.resize(60, 8);
    await top.shows("\u001b[8;1H");
    top.terminal.write("q");
    expect(await top.child.exited).toBe(0);
    await top.ends();
    top.isAsItWas();
  }
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const) {
    await using top = inTerminal(["top"], viewer);
    await top.shows("solver");
    top.child.kill(signal);
    expect(await top.child.exited).toBe(code);
    await top.ends();
    top.isAsItWas();
  }
  await using top = inTerminal(["top"], viewer);
  await top.shows("solver");
  await site.run(["keys", "revoke", "test-2"]);
  expect(await top.child.exited).toBe(1);
  await until("it says why", () => /\u001b\[\?1049llicmond: .*revoked/.test(top.text()) || undefined);
  top.isAsItWas();
});
