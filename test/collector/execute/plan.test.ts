import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ARGUMENTS,
  type Arguments,
  argumentProblem,
  catalogueOf,
  fill,
  maskArgv,
  placeholdersOf,
} from "../../../src/collector/execute/catalogue.ts";

import { planCommand } from "../../../src/collector/execute/plan.ts";

import type { ConfiguredCommand } from "../../../src/config/config.ts";
import { ApiError } from "../../../src/domain/errors.ts";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import type { CheckoutReading } from "../../../src/domain/reading.ts";
import type { ManagerName } from "../../../src/domain/words.ts";
import { managerOf } from "../../../src/managers/registry.ts";
import { checkout, feature, monitored, picture } from "../../http/make.ts";

const deps = { managerOf, findTool: ([name = ""]: readonly string[]) => `/opt/tools/${name}` };

function asked(
  command: string,
  of: ServerPicture | null,
  args: Arguments = {},
  configured: readonly ConfiguredCommand[] = [],
) {
  const entry = catalogueOf(configured).get(command);
  if (entry === undefined) throw new Error(`no ${command}`);
  return planCommand(entry, { picture: of, args, timeoutMs: null }, deps);
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

describe("built-in commands", () => {
  test.each<[ManagerName, string, Arguments, readonly string[]]>([
    ["flexnet", "status", {}, ["/opt/tools/lmutil", "lmstat", "-a", "-c", "27000@lic1"]],
    ["flexnet", "diagnose", {}, ["/opt/tools/lmutil", "lmdiag", "-n", "-c", "27000@lic1"]],
    ["flexnet", "reread", {}, ["/opt/tools/lmutil", "lmreread", "-c", "27000@lic1"]],
    [
      "flexnet",
      "remove",
      { handle: "101" },
      ["/opt/tools/lmutil", "lmremove", "-c", "27000@lic1", "-h", "solver", "lic1", "27000", "101"],
    ],
    [
      "flexnet",
      "remove",
      { feature: "solver", user: "ada", host: "ws01" },
      ["/opt/tools/lmutil", "lmremove", "-c", "27000@lic1", "solver", "ada", "WS01", "/dev/pts/1"],
    ],
    ["rlm", "status", {}, ["/opt/tools/rlmutil", "rlmstat", "-a", "-c", "27000@lic1"]],
    ["rlm", "diagnose", {}, ["/opt/tools/rlmutil", "rlmdebug", "-c", "27000@lic1"]],
    ["rlm", "reread", {}, ["/opt/tools/rlmutil", "rlmreread", "-c", "27000@lic1"]],
    ["rlm", "remove", { handle: "102" }, ["/opt/tools/rlmremove", "-q", "lic1", "49200", "acmed", "102"]],
    [
      "rlm",
      "remove",
      { feature: "solver", user: "bob", host: "WS02" },
      ["/opt/tools/rlmremove", "-q", "lic1", "49200", "acmed", "102"],
    ],
  ])("%s %s %j", (manager, command, args, argv) => {
    const plan = asked(command, site(manager, [ADA, BOB]), args);
    expect(plan.argv).toEqual(argv);
    expect(plan.env).toEqual({ TZ: "Europe/Berlin" });
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

describe("remove names one checkout and no other", () => {
  const twin = { ...ADA, handle: "103" };
  const same = { ...BOB, user: "eve", handle: "101" };
  const handleForm = ["-c", "27000@lic1", "-h", "solver", "lic1", "27000"];

  test.each<[string, ServerPicture, Arguments, string, RegExp]>([
    ["nobody's handle", site("flexnet", [ADA]), { handle: "999" }, "NOT_FOUND", /users\?server=eda/],
    [
      "a handle of another feature",
      site("flexnet", [ADA]),
      { feature: "mesher", handle: "101" },
      "NOT_FOUND",
      /./,
    ],
    [
      "a user by another case",
      site("flexnet", [ADA]),
      { feature: "solver", user: "ADA", host: "ws01" },
      "NOT_FOUND",
      /./,
    ],
    ["nothing", site("flexnet", [ADA]), {}, "MISSING_FIELD", /args\.feature/],
    ["no host", site("flexnet", [ADA]), { feature: "solver", user: "ada" }, "MISSING_FIELD", /args\.host/],
    [
      "two seats of one user",
      site("flexnet", [ADA, twin]),
      { feature: "solver", user: "ada", host: "ws01" },
      "INVALID_FIELD",
      /2 checkouts/,
    ],
    [
      "two seats with one handle",
      site("flexnet", [ADA, same]),
      { handle: "101" },
      "INVALID_FIELD",
      /2 checkouts/,
    ],
    [
      "a seat that was not seen last time",
      site("flexnet", [], { features: [feature("solver", { state: "stale", checkouts: [ADA] })] }),
      { handle: "101" },
      "CONFLICT",
      /Rescan/,
    ],
    [
      "a seat whose port is not known, to rlm",
      site("rlm", [ADA], {
        daemons: [{ name: "acmed", status: "up", version: null, error: null, totals: null }],
      }),
      { handle: "101" },
      "INVALID_FIELD",
      /too little is known/,
    ],
    [
      "a user who is an option",
      site("flexnet", [{ ...ADA, user: "-all" }]),
      { handle: "101" },
      "INVALID_FIELD",
      /user begins with a -/,
    ],
    [
      "a host that is a line",
      site("flexnet", [{ ...ADA, host: "a\nb" }]),
      { handle: "101" },
      "INVALID_FIELD",
      /host has control/,
    ],
  ])("%s", (_, of, args, code, says) => {
    const error = refusal(() => asked("remove", of, args));
    expect([error.code, error.message]).toEqual([code as ApiError["code"], expect.stringMatching(says)]);
  });

  test("several are listed", () => {
    const error = refusal(() =>
      asked("remove", site("flexnet", [ADA, twin]), { feature: "solver", user: "ada", host: "ws01" }),
    );
    expect(error.details).toBe(
      "feature solver, daemon acmed, user ada, host WS01, display /dev/pts/1, handle 101; " +
        "feature solver, daemon acmed, user ada, host WS01, display /dev/pts/1, handle 103",
    );
  });

  test("a long list is cut", () => {
    const many = Array.from({ length: 30 }, (_, index) => ({ ...ADA, handle: String(index) }));
    const error = refusal(() =>
      asked("remove", site("flexnet", many), { feature: "solver", user: "ada", host: "ws01" }),
    );
    expect(error.details).toEndWith("; and 20 more");
  });

  test("by handle where the names mean others too, by names where the handle does", () => {
    const { argv } = asked("remove", site("flexnet", [ADA, twin]), { handle: "103" });
    expect(argv.slice(2)).toEqual([...handleForm, "103"]);
    const shared = asked("remove", site("flexnet", [ADA, same]), {
      feature: "solver",
      user: "ada",
      host: "WS01",
    });
    expect(shared.argv.slice(2)).toEqual(["-c", "27000@lic1", "solver", "ada", "WS01", "/dev/pts/1"]);
  });

  test("by handle where a display is missing", () => {
    const { argv } = asked("remove", site("flexnet", [{ ...ADA, display: null }]), {
      feature: "solver",
      user: "ada",
      host: "ws01",
    });
    expect(argv.slice(2)).toEqual([...handleForm, "101"]);
  });

  test("of a triad the master is named", () => {
    const members = (["lic1", "lic2", "lic3"] as const).map((host) => ({
      ...{ host, port: 27_000, version: null, error: null },
      status: host === "lic1" ? ("down" as const) : ("up" as const),
      master: host === "lic3",
    }));
    expect(asked("remove", site("flexnet", [ADA], { members }), { handle: "101" }).argv).toContain("lic3");
  });
});

describe("configured commands", () => {
  const command = (argv: readonly string[]): readonly ConfiguredCommand[] => [
    { name: "own", argv, role: "operator", timeoutMs: 5000 },
  ];

  test("are filled in", () => {
    const own = command(["/opt/x", "--server={server}", "{address}", "{feature}", "{not a placeholder}"]);
    const plan = asked("own", site("flexnet", []), { feature: "a b" }, own);
    expect(plan).toEqual({
      command: "own",
      argv: ["/opt/x", "--server=eda", "27000@lic1", "a b", "{not a placeholder}"],
      env: {},
      timeoutMs: 5000,
    });
  });

  test("need what their template leaves open, and take nothing else", () => {
    const own = command(["/opt/x", "{server}", "{user}"]);
    expect(refusal(() => asked("own", null, { user: "ada" }, own))).toMatchObject({
      code: "MISSING_FIELD",
      message: expect.stringContaining('"server"'),
    });
    expect(refusal(() => asked("own", site("flexnet", []), {}, own))).toMatchObject({
      code: "MISSING_FIELD",
      message: expect.stringContaining("args.user"),
    });
    expect(refusal(() => asked("own", site("flexnet", []), { user: "ada", host: "x" }, own))).toMatchObject({
      code: "INVALID_FIELD",
      message: expect.stringContaining("takes user"),
    });
    expect(asked("own", null, {}, command(["/opt/x"])).argv).toEqual(["/opt/x"]);
  });

  test("secrets are masked where they are shown", () => {
    expect(
      maskArgv([
        "/x",
        "-z",
        "hunter2",
        "--password=hunter2",
        "--api-key",
        "hunter2",
        "lmk_abc_def",
        "-z",
        "-a",
        "{x}",
      ]),
    ).toEqual(["/x", "-z", "***", "--password=***", "--api-key", "***", "lmk_***", "-z", "-a", "{x}"]);
  });
});

describe("no argument changes what is run", () => {
  const piece = fc.oneof(
    fc.constant(""),
    fc.constantFrom(
      "{address}",
      "{user}",
      "{handle}",
      "{host}",
      "-x",
      "--all",
      "a b",
      "'",
      '"',
      "$(id)",
      "`id`",
    ),
    fc.constantFrom(
      ";",
      "&&",
      "|",
      "\n",
      "\0",
      "\t",
      "%s",
      "*",
      "\\",
      "../..",
      "/etc/passwd",
      "@file",
      "\u202e",
    ),
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
  // Pieces may meet to `{x}`, which the config refuses.
  const template = fc
    .array(element, { minLength: 1, maxLength: 6 })
    .filter((rest) => placeholdersOf(rest).every((name) => known.has(name)))
    .map((rest) => ["/opt/tool", ...rest]);

  test("of a template: each value stays in its element and makes no option of it", () => {
    fc.assert(
      fc.property(template, fc.array(hostile, { minLength: 5, maxLength: 5 }), (argv, given) => {
        const own = [{ name: "own", argv, role: "admin" as const, timeoutMs: 5000 }];
        const open = placeholdersOf(argv);
        // Loose braces may make a placeholder that nobody fills: such a template is refused with the config.
        const known: readonly string[] = [...ARGUMENTS, "server", "address"];
        fc.pre(open.every((name) => known.includes(name)));
        const args: Arguments = Object.fromEntries(
          ARGUMENTS.flatMap((name, index) => (open.includes(name) ? [[name, given[index] ?? ""]] : [])),
        );
        const values = new Map<string, string>([
          ...Object.entries(args),
          ["server", "eda"],
          ["address", "27000@lic1"],
        ]);
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
          // By another way than the code's: literal parts and values, one after the other.
          const expected = element.split(/(\{[a-z]+\})/).map((part) => values.get(part.slice(1, -1)) ?? part);
          expect(got).toBe(expected.join(""));
          expect(got.startsWith("-")).toBe(element.startsWith("-"));
          expect(got).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("of remove, nor what a license server says", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ManagerName>("flexnet", "rlm"),
        fc.record({
          user: hostile,
          host: hostile,
          display: hostile,
          handle: hostile,
          name: hostile,
          daemon: hostile,
        }),
        fc.boolean(),
        (manager, { user, host, display, handle, name, daemon }, byHandle) => {
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

  test("a value is not read again", () => {
    expect(
      fill(
        ["{user}{host}"],
        new Map([
          ["user", "{host}"],
          ["host", "$&"],
        ]),
      ),
    ).toEqual(["{host}$&"]);
    expect(fill(["{user}"], new Map())).toBeNull();
  });
});
