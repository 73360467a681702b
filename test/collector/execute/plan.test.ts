import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as catalogue from "../../../src/collector/execute/catalogue.ts";
import {
  type Arguments,
  argumentProblem,
  fill,
  planCommand,
} from "../../../src/collector/execute/catalogue.ts";
import type { ConfiguredCommand } from "../../../src/config/config.ts";
import { ARGUMENTS, placeholdersOf } from "../../../src/config/forms.ts";
import { ApiError } from "../../../src/domain/errors.ts";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import type { CheckoutReading } from "../../../src/domain/reading.ts";
import type { ManagerName } from "../../../src/domain/words.ts";
import { managerOf } from "../../../src/managers/registry.ts";
import { member } from "../../domain/make.ts";
import { checkout, feature, monitored, picture } from "../../http/make.ts";

const findTool = ([name = ""]: readonly string[]) => `/opt/tools/${name}`;

function asked(
  command: string,
  of: ServerPicture | null,
  args: Arguments = {},
  configured: readonly ConfiguredCommand[] = [],
) {
  const entry = catalogue.catalogueOf(configured, [managerOf("flexnet")]).get(command);
  if (entry === undefined) throw new Error(`no ${command}`);
  return planCommand(entry, { picture: of, args, timeoutMs: null }, findTool);
}

function refusal(work: () => unknown): ApiError {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

function site(
  manager: ManagerName,
  checkouts: readonly CheckoutReading[],
  more: Partial<ServerPicture> = {},
) {
  return picture("eda", {
    server: monitored("eda", { manager, address: "27000@lic1", timezone: "Europe/Berlin" }),
    daemons: [{ name: "acmed", status: "up", version: null, error: null, totals: null, port: 49_200 }],
    features: [feature("solver", { checkouts }), feature("mesher", { checkouts: [] })],
    ...more,
  });
}

const ADA = checkout("ada", { host: "WS01", display: "/dev/pts/1", handle: "101" });
const BOB = checkout("bob", { host: "ws02", display: "/dev/pts/1", handle: "102" });

test("built-in commands are those of the site's managers", () => {
  const { status, reread } = managerOf("flexnet").commands;
  const names = (...of: Parameters<typeof catalogue.catalogueOf>[1]) => [
    ...catalogue.catalogueOf([], of).keys(),
  ];
  expect(names()).toEqual([]);
  expect(names({ commands: {} }, { commands: { ...(status && { status }) } })).toEqual(["status"]);
  expect(names({ commands: { ...(reread && { reread }), ...(status && { status }) } })).toEqual([
    "status",
    "reread",
  ]);
});

describe("built-in commands", () => {
  const ada = { feature: "solver", user: "ada", host: "ws01" };
  const bob = { feature: "solver", user: "bob", host: "WS02" };

  test.each<[ManagerName, string, Arguments, string]>([
    ["flexnet", "status", {}, "lmutil lmstat -a -c 27000@lic1"],
    ["flexnet", "diagnose", {}, "lmutil lmdiag -n -c 27000@lic1"],
    ["flexnet", "reread", {}, "lmutil lmreread -c 27000@lic1"],
    ["flexnet", "remove", { handle: "101" }, "lmutil lmremove -c 27000@lic1 -h solver lic1 27000 101"],
    ["flexnet", "remove", ada, "lmutil lmremove -c 27000@lic1 solver ada WS01 /dev/pts/1"],
    ["rlm", "status", {}, "rlmutil rlmstat -a -c 27000@lic1"],
    ["rlm", "diagnose", {}, "rlmutil rlmdebug -c 27000@lic1"],
    ["rlm", "reread", {}, "rlmutil rlmreread -c 27000@lic1"],
    ["rlm", "remove", { handle: "102" }, "rlmremove -q lic1 49200 acmed 102"],
    ["rlm", "remove", bob, "rlmremove -q lic1 49200 acmed 102"],
    ["lmx", "status", {}, "lmxendutil -licstat -host lic1 -port 27000"],
  ])("%s %s %j", (manager, command, args, words) => {
    const plan = asked(command, site(manager, [ADA, BOB]), args);
    expect(plan.argv).toEqual(`/opt/tools/${words}`.split(" "));
    expect(plan.env).toEqual({ TZ: "Europe/Berlin" });
  });

  test("a tool for a single member gets the first that is up", () => {
    const server = monitored("eda", { manager: "lmx", address: "6200@a,6201@b,6202@c" });
    const members = ["a", "b", "c"].map((host) =>
      member({ host, port: 6200, status: host === "a" ? "down" : "up" }),
    );
    const argv = (more: Partial<ServerPicture>) =>
      asked("status", site("lmx", [], { server, ...more })).argv.slice(1);
    expect(argv({ members })).toEqual(["-licstat", "-host", "b", "-port", "6201"]);
    expect(argv({ members: [] })).toEqual(["-licstat", "-host", "a", "-port", "6200"]);
    const rms = monitored("eda", { manager: "rms", address: "lic1" });
    expect(asked("status", site("rms", [], { server: rms })).argv).toEqual(["/opt/tools/lsmon", "lic1"]);
  });

  test.each<[ManagerName, readonly string[], string, readonly string[]]>([
    ["flexnet", ["/opt/a/lmutil"], "lmreread", ["/opt/a/lmutil", "lmreread"]],
    ["flexnet", ["/opt/a/lmstat"], "lmreread", ["/opt/a/lmreread"]],
    ["flexnet", ["/opt/a/lmstat"], "lmstat", ["/opt/a/lmstat"]],
    ["flexnet", ["C:\\lm\\LMSTAT.EXE"], "lmremove", ["C:\\lm\\lmremove.EXE"]],
    ["flexnet", ["licmond", "simulate", "flexnet"], "lmdiag", ["licmond", "simulate", "flexnet", "lmdiag"]],
    ["rlm", ["/opt/a/rlmutil"], "rlmreread", ["/opt/a/rlmutil", "rlmreread"]],
    ["rlm", ["/opt/a/rlmutil"], "rlmremove", ["/opt/a/rlmremove"]],
    ["rlm", ["rlmstat"], "rlmdebug", ["rlmdebug"]],
    ["rlm", ["ssh", "lic", "rlmutil"], "rlmremove", ["ssh", "lic", "rlmremove"]],
  ])("%s: %j runs %s as %j", (manager, tool, name, argv) => {
    expect(managerOf(manager).utility(tool, name)).toEqual(argv);
  });
});

describe("remove selects a single checkout", () => {
  const twin = { ...ADA, handle: "103" };
  const same = { ...BOB, user: "eve", handle: "101" };
  const handleForm = ["-c", "27000@lic1", "-h", "solver", "lic1", "27000"];
  const ada = { feature: "solver", user: "ada", host: "ws01" };
  const flexnet = (...checkouts: readonly CheckoutReading[]) => site("flexnet", checkouts);
  const stale = site("flexnet", [], { features: [feature("solver", { state: "stale", checkouts: [ADA] })] });

  const handle = { handle: "101" };
  const portless = site("rlm", [ADA], { daemons: [] });
  const option = flexnet({ ...ADA, user: "-all" });
  const lines = flexnet({ ...ADA, host: "a\nb" });

  test.each<[string, ServerPicture, Arguments, ApiError["code"], RegExp]>([
    ["an unknown handle", flexnet(ADA), { handle: "999" }, "NOT_FOUND", /users\?server=eda/],
    ["a handle of another feature", flexnet(ADA), { feature: "mesher", ...handle }, "NOT_FOUND", /./],
    ["a user in another case", flexnet(ADA), { ...ada, user: "ADA" }, "NOT_FOUND", /./],
    ["nothing", flexnet(ADA), {}, "MISSING_FIELD", /args\.feature/],
    ["no host", flexnet(ADA), { feature: "solver", user: "ada" }, "MISSING_FIELD", /args\.host/],
    ["two seats of one user", flexnet(ADA, twin), ada, "INVALID_FIELD", /2 checkouts/],
    ["two seats with one handle", flexnet(ADA, same), handle, "INVALID_FIELD", /2 checkouts/],
    ["a seat that was not seen last time", stale, handle, "CONFLICT", /Rescan/],
    ["no port", portless, handle, "INVALID_FIELD", /cannot distinguish/],
    ["an option", option, handle, "INVALID_FIELD", /user starts with -/],
    ["a line end", lines, handle, "INVALID_FIELD", /host contains control/],
  ])("%s", (_, of, args, code, says) => {
    const error = refusal(() => asked("remove", of, args));
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(says)]);
  });

  test("ambiguous arguments list the matches, at most ten", () => {
    const seat = "feature solver, daemon acmed, user ada, host WS01, display /dev/pts/1, handle";
    const two = refusal(() => asked("remove", flexnet(ADA, twin), ada));
    expect(two.details).toBe(`${seat} 101; ${seat} 103`);
    const many = Array.from({ length: 30 }, (_, index) => ({ ...ADA, handle: String(index) }));
    expect(refusal(() => asked("remove", flexnet(...many), ada)).details).toEndWith("; and 20 more");
  });

  test("uses the handle if names are ambiguous or incomplete, and names if the handle is", () => {
    const argvOf = (of: ServerPicture, args: Arguments) => asked("remove", of, args).argv.slice(2);
    expect(argvOf(flexnet(ADA, twin), { handle: "103" })).toEqual([...handleForm, "103"]);
    expect(argvOf(flexnet({ ...ADA, display: null }), ada)).toEqual([...handleForm, "101"]);
    const byNames = ["-c", "27000@lic1", "solver", "ada", "WS01", "/dev/pts/1"];
    expect(argvOf(flexnet(ADA, same), ada)).toEqual(byNames);
  });

  test("uses the master of a triad", () => {
    const members = [1, 2, 3].map((n) =>
      member({ host: `lic${n}`, status: n === 1 ? "down" : "up", master: n === 3 }),
    );
    expect(asked("remove", site("flexnet", [ADA], { members }), { handle: "101" }).argv).toContain("lic3");
  });
});

describe("configured commands", () => {
  const command = (argv: readonly string[]): readonly ConfiguredCommand[] => [
    { name: "own", argv, role: "operator", timeoutMs: 5000 },
  ];

  test("fill in their templates", () => {
    const own = command(["/opt/x", "--server={server}", "{address}", "{feature}", "{not a placeholder}"]);
    const plan = asked("own", site("flexnet", []), { feature: "a b" }, own);
    expect(plan).toEqual({
      command: "own",
      argv: ["/opt/x", "--server=eda", "27000@lic1", "a b", "{not a placeholder}"],
      env: {},
      encoding: null,
      timeoutMs: 5000,
    });
  });

  test.each<[ServerPicture | null, Arguments, string, string]>([
    [null, { user: "ada" }, "MISSING_FIELD", '"server"'],
    [site("flexnet", []), {}, "MISSING_FIELD", "args.user"],
    [site("flexnet", []), { user: "ada", host: "x" }, "INVALID_FIELD", "accepts user"],
  ])("require the placeholders of their template, and accept nothing else", (of, args, code, says) => {
    const own = command(["/opt/x", "{server}", "{user}"]);
    const message = expect.stringContaining(says);
    expect(refusal(() => asked("own", of, args, own))).toMatchObject({ code, message });
    expect(asked("own", null, {}, command(["/opt/x"])).argv).toEqual(["/opt/x"]);
  });

  test("shown secrets are masked", () => {
    const argv = "/x -z hunter2 --password=hunter2 --api-key hunter2 lmk_abc_def -z -a {x}";
    const shown = "/x -z *** --password=*** --api-key *** lmk_*** -z -a {x}";
    expect(catalogue.maskArgv(argv.split(" "))).toEqual(shown.split(" "));
  });
});

describe("no argument changes the command", () => {
  const pieces =
    "{address}|{user}|{handle}|{host}|-x|--all|a b|'|\"|$(id)|`id`|;|&&|\n|\0|\t|%s|*|\\|../..|/etc/passwd|@file|\u202e";
  const piece = fc.oneof(
    fc.constantFrom("", "|", ...pieces.split("|")),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.string({ unit: "grapheme", maxLength: 8 }),
  );
  const wild = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(""));
  const hostile = fc.oneof(
    wild,
    fc.constantFrom("ada", "a b", "/dev/pts/1", "{user}", "$(id)", "a;b", "x -y"),
  );
  const element = fc
    .array(
      fc.oneof(
        fc.constantFrom(...ARGUMENTS.map((name) => `{${name}}`), "{server}", "{address}"),
        fc.constantFrom("--name=", "-c", "x", ",", "{", "}"),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => parts.join(""));
  const known = new Set<string>([...ARGUMENTS, "server", "address"]);
  // Pieces may form `{x}`, which the config rejects.
  const template = fc
    .array(element, { minLength: 1, maxLength: 6 })
    .filter((rest) => placeholdersOf(rest).every((name) => known.has(name)))
    .map((rest) => ["/opt/tool", ...rest]);

  test("in a template, each value stays in its element and never becomes an option", () => {
    fc.assert(
      fc.property(template, fc.array(hostile, { minLength: 5, maxLength: 5 }), (argv, given) => {
        const own = [{ name: "own", argv, role: "admin" as const, timeoutMs: 5000 }];
        const open = placeholdersOf(argv);
        const args: Arguments = Object.fromEntries(
          ARGUMENTS.flatMap((name, index) => (open.includes(name) ? [[name, given[index] ?? ""]] : [])),
        );
        const values = new Map(Object.entries({ ...args, server: "eda", address: "27000@lic1" }));
        let made: readonly string[];
        try {
          made = asked("own", site("flexnet", []), args, own).argv;
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          expect(error.code).toBe("INVALID_FIELD");
          expect(Object.values(args).some((value) => argumentProblem(value) !== null)).toBe(true);
          return;
        }
        expect(made).toHaveLength(argv.length);
        for (const [index, element] of argv.entries()) {
          const got = made[index] ?? "";
          // Computed in another way than in the code.
          const expected = element.split(/(\{[a-z]+\})/).map((part) => values.get(part.slice(1, -1)) ?? part);
          expect(got).toBe(expected.join(""));
          expect(got.startsWith("-")).toBe(element.startsWith("-"));
          expect(got).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("in remove, nor does a value from a license server", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ManagerName>("flexnet", "rlm"),
        fc.array(hostile, { minLength: 6, maxLength: 6 }),
        fc.boolean(),
        (manager, [user = "", host = "", display = "", handle = "", name = "", daemon = ""], byHandle) => {
          const shown = feature(name, { daemon, checkouts: [{ ...ADA, user, host, display, handle }] });
          const daemons = [
            { name: daemon, status: "up" as const, version: null, error: null, totals: null, port: 49_200 },
          ];
          const of = site(manager, [], { features: [shown], daemons });
          const args = byHandle ? { handle } : { feature: name, user, host };
          const said = [user, host, display, handle, name, daemon];
          let argv: readonly string[];
          try {
            argv = asked("remove", of, args).argv;
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            expect(said.some((value) => argumentProblem(value) !== null)).toBe(true);
            return;
          }
          const own = new Set(["-c", "-h", "-q"]);
          expect([6, 8, 9]).toContain(argv.length);
          for (const element of argv.slice(1)) {
            if (element.startsWith("-")) expect(own).toContain(element);
          }
          const handed = argv.slice(manager === "rlm" ? 2 : 4);
          for (const value of handed.filter((element) => !own.has(element))) {
            expect([...said, "lic1", "27000", "49200"]).toContain(value);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("placeholders in values are ignored", () => {
    const values = new Map(Object.entries({ user: "{host}", host: "$&" }));
    expect(fill(["{user}{host}"], values)).toEqual(["{host}$&"]);
    expect(fill(["{user}"], new Map())).toBeNull();
  });
});
