import { afterEach, expect, test } from "bun:test";
import { fairShare } from "../../../src/cli/ask/status.ts";
import type { FeaturePicture, ServerPicture } from "../../../src/domain/picture.ts";
import * as a from "../../domain/make.ts";
import { closeDoors, serve } from "../../http/doors.ts";
import { bench, checkout, feature, NOW, picture, REFUSED } from "../../http/make.ts";
import { type Ran, type RunOptions, run } from "../rig.ts";

afterEach(closeDoors);

/** Name that attacks terminals, spreadsheets and shells, with wide characters. */
const HOSTILE = '=cmd()\u001b[2J"$(x)"\n日本語日本語日本語日本語日本語日本語';

const full = { used: 4, available: 0, utilization: 100 };
const FEATURES: FeaturePicture[] = [
  feature("LogicSim_Core", {
    ...full,
    queued: 2,
    checkouts: [checkout("ada", { count: 3 }), checkout(HOSTILE, { startedAt: null, host: HOSTILE })],
    reservations: [{ type: "group", name: "night", count: 1, pool: null }],
    queue: [{ ...a.checkout({ user: "bob", host: "ws02", count: 2 }), firstSeenAt: NOW - 65_000 }],
  }),
  feature(HOSTILE, { total: 100_000, used: 7, available: 99_993, utilization: 0.01 }),
  feature("viewer", { total: null, used: 3, available: null, utilization: null, unlimited: true }),
  feature("HyperWorks", {
    total: 1_000_003,
    used: 25_000,
    available: 975_003,
    utilization: 2.5,
    unit: "tokens",
    checkouts: [checkout("eve", { user: null, count: 25_000 })],
    assigned: [{ user: "zoe", host: null, since: NOW - 400 * 86_400_000 }],
  }),
  feature("broken", { state: "failed", total: null, used: null, available: null, collectedAt: null }),
];
const SERVERS: ServerPicture[] = [
  picture("eda", { features: FEATURES }),
  picture("cae", {
    status: "down",
    state: "stale",
    error: REFUSED,
    features: [feature("solver", { state: "stale" })],
  }),
];

async function ask(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const at = bench();
  at.show(...SERVERS);
  const env = {
    LICMOND_URL: `http://127.0.0.1:${serve(at).port}`,
    LICMOND_API_KEY: at.keys.viewer,
    TZ: "UTC",
  };
  return run(args, { now: NOW, ...options, env: { ...env, ...options.env } });
}

test.each<[string, RegExp[] | Partial<Ran>]>([
  [
    "features LOGIC",
    [/^feature +of +used +total +free +waiting +expires\n/, /Core +eda\/acmed +4 +4 +0 +2 +2026-03-31\n$/],
  ],
  ["features *_core", [/LogicSim_Core/]],
  ["features --server cae", [/solver +cae\/acmed +1 +4 +3 +2026-03-31 +stale 5 s\n/]],
  ["features broken", [/broken +eda\/acmed +\? +\? +2026-03-31 +failed\n/]],
  ["features viewer", [/viewer +eda\/acmed +3 +no limit/]],
  ["features hyper", [/HyperWorks +eda\/acmed +25000 +1000003 tokens +975003 /]],
  [
    "who HyperWorks",
    [
      /^HyperWorks \(eda\/acmed\): 25000 tokens of 1000003 in use, 975003 free, assigned to 1 person; read/,
      /\nuser +host +tokens +since +held\s*\n/,
      /\nnot known +ws01 +25000 +03-01 \d\d:00 +59 min\s*\nzoe +1 +2025-01-25 \d\d:\d\d +assigned\n$/,
    ],
  ],
  ["features nosuch_*", { err: "No matching features, or no license server has been read yet.\n" }],
  [
    "who logicsim_core",
    [
      /^LogicSim_Core \(eda\/acmed\): 4 of 4 in use, 0 free, 2 waiting; read 5 s ago\n/,
      /\nada +ws01 +3 +03-01 \d\d:00 +59 min\n/,
      /\ngroup night +1 +reserved\nbob +ws02 +2 +03-01 \d\d:58 +1 min +waits\n$/,
    ],
  ],
  [
    "expiring --days 31",
    [/^ +expires +days +feature +seats +of\n/, /2026-03-31 +30 +LogicSim_Core +4 +eda\/acmed/],
  ],
  ["expiring --days 3", { err: "Nothing expires within 3 days.\n" }],
  ["denials --since 3d", { err: "No denials in the last 3d.\n" }],
  ["completion words -- wh", { out: "who\n" }],
  ["completion words -- who logic", { out: "LogicSim_Core\n" }],
  ["completion words -- who --server e", { out: "eda\n" }],
  ["completion words -- features --server = c", { out: "cae\n" }],
  ["completion words -- who Logic\\Sim", { out: "LogicSim_Core\n" }],
  ['completion words -- who "logic', { out: "LogicSim_Core\n" }],
  ["completion words -- features --da", { out: "--daemon\n" }],
  ["completion words -- keys create --role v", { out: "viewer\n" }],
  ["completion words -- wait solver -- ./r", { out: "" }],
  ["completion words -- completion ", { out: "bash\nzsh\nfish\n" }],
  ["completion bash", [/complete .* -F _licmond licmond\n$/]],
  ["completion csh", { exitCode: 2, err: 'unknown shell "csh"; expected one of bash, zsh, fish\n' }],
  ["features logicsm_core", { exitCode: 1, err: 'The closest name is "LogicSim_Core".\n' }],
  ["who logic", [/^LogicSim_Core \(eda\/acmed\): 4 of 4 in use/]],
  ["who nosuch --server nosuch", { exitCode: 1, err: 'Unknown server "nosuch"' }],
  ["features --json --csv", { exitCode: 2, err: "'--json' cannot be used with" }],
  ["top", { exitCode: 1, err: "top needs a terminal" }],
  ["status --url http://127.0.0.1:9", { exitCode: 4, err: "connection refused" }],
  ["denials --since yesterday", { exitCode: 2, err: "duration back from now" }],
])("%s", async (line, expected) => {
  const ran = await ask(line.split(" "));
  const { exitCode = 0, err = "", out } = Array.isArray(expected) ? {} : { out: "", ...expected };
  expect(ran.exitCode).toBe(exitCode);
  if (err === "") expect(ran.err).toBe("");
  else expect(ran.err).toContain(err);
  if (out !== undefined) expect(ran.out).toBe(out);
  if (Array.isArray(expected)) for (const pattern of expected) expect(ran.out).toMatch(pattern);
});

test("--json and --csv print the API's answers, also for a pattern", async () => {
  const at = bench();
  at.show(...SERVERS);
  const csv = await (await at.get("/api/licenses/features?format=csv")).text();
  expect((await ask(["features", "--csv"])).out).toBe(csv);
  expect((await ask(["features", "*", "--csv"])).out).toBe(csv);
  const json = await at.json("/api/licenses/features");
  expect(JSON.parse((await ask(["features", "--json"])).out)).toEqual(json);
  expect(JSON.parse((await ask(["features", "*", "--json"])).out)).toEqual(json);
  const users = await (await at.get("/api/licenses/users?feature=LogicSim_Core&format=csv")).text();
  expect((await ask(["who", "LOGICSIM_core", "--csv"])).out).toBe(users);
});

test("outages: every outage, availability and coverage", async () => {
  const times = { startedAt: "2026-02-28T23:10:00.000Z", endedAt: null, durationSeconds: 46_200 };
  const answer = {
    outages: [
      { server: "new", status: "down", reason: "", ...times, endedAt: "2026-02-28T23:20:00.000Z" },
      { server: "cae", status: "down", reason: "Nobody\u001b[2J answers.", ...times },
    ],
    total: 7,
    servers: [
      { server: "cae", availability: 83.33, coverage: 0.98765 },
      { server: "new", availability: null, coverage: 0 },
    ],
  };
  const asked: string[] = [];
  await using api = Bun.serve({
    port: 0,
    fetch({ url }) {
      asked.push(new URL(url).search);
      return Response.json(answer);
    },
  });
  const env = { LICMOND_URL: api.url.href };
  const { out, err } = await run(["outages", "--since", "30d", "--limit", "1"], { env });
  expect(asked).toEqual(["?start=-30d&limit=10000"]);
  expect(out).not.toMatch(/^new +down/m);
  expect(out).toMatch(/^cae +down +0\d-\d\d \d\d:10 +ongoing +12 h 50 min +Nobody\\u001b\[2J answers\.$/m);
  expect(out).toMatch(/^cae +83.33 % +98.77 %\nnew +\? +0 %$/m);
  expect(err).toBe("Showing 1 of 7; raise --limit (up to 10000) to see more.\n");
});

test("status: alerts about seats are below Full, other alerts and unreadable logs below Wrong", async () => {
  const at = bench();
  at.show(...SERVERS);
  const alert = { rule: "seats", severity: "warning", server: "eda", daemon: "acmed", acknowledged: false };
  const times = { startedAt: "2026-02-28T23:10:00.000Z", state: "firing" };
  const stale = { ...alert, rule: "stale", daemon: null, feature: null, message: "cae is stale" };
  const alerts = [
    { ...stale, ...times, server: "cae" },
    { ...alert, ...times, feature: "LogicSim_Core", message: "All 4 seats of LogicSim_Core are in use" },
    { ...alert, ...times, feature: "near", message: "92 % of the seats of near are in use (23 of 25)" },
  ];
  const off = { server: "cae", state: "off", message: "not set" };
  const logging = [off, { server: "eda", state: "unreadable", message: "log_command (ssh) ended" }];
  await using api = Bun.serve({
    port: 0,
    fetch: ({ url }) => {
      const { pathname, search } = new URL(url);
      if (pathname.endsWith("/denials")) return Response.json({ logging });
      return pathname.endsWith("/alerts") ? Response.json({ alerts }) : at.get(pathname + search);
    },
  });
  const { out } = await run(["status"], { now: NOW, env: { LICMOND_URL: api.url.href } });
  expect(out).toMatch(
    /Wrong 3 .*\n.*cae.* 12 h.*\neda +denials are not visible: log_command \(ssh\) ended\n.*near +92 % of the seats of near are in use \(23 of 25\) +12 h/,
  );
  expect(out).toMatch(/Full 1 .*\n.*eda +LogicSim_Core +4 of 4 in use, 2 waiting +/);
  expect(out).not.toContain("All 4 seats");
});

test("who suggests the closest names, even if a server was never read", async () => {
  const at = bench();
  at.show(...SERVERS, picture("new", { state: "failed", collectedAt: null, features: [] }));
  const env = { LICMOND_URL: `http://127.0.0.1:${serve(at).port}`, LICMOND_API_KEY: at.keys.viewer };
  const { err } = await run(["who", "solvr"], { now: NOW, env });
  expect(err).toStartWith('licmond: Unknown feature "solvr". The closest name is "solver"');
  const hostile = (await run(["who", HOSTILE.replace("cmd", "cmx")], { now: NOW, env })).err;
  expect(hostile).toContain('"=cmd()\\u001b[2J');
});

test("denials: outcome and reason share a column, and names are not cut at 80 columns", async () => {
  const denial = { server: "eda", count: 16, attempts: 3, outcome: "denied", feature: "Timing_Signoff" };
  const who = { user: "regress", host: "cn1", reason: "Licensed number of users already reached." };
  const denials = [
    { ...denial, ...who, timestamp: "2026-02-28T23:10:00.000Z" },
    { ...denial, feature: null, user: null, host: null, reason: null, timestamp: "2025-12-31T23:50:00.000Z" },
  ];
  const off = { state: "off", message: "no log" };
  const logging = [
    { server: "eda", ...off },
    { server: "on", state: "on" },
    { server: "cae", ...off },
  ];
  await using api = Bun.serve({ port: 0, fetch: () => Response.json({ denials, total: 2, logging }) });
  const terminal = { out: true, err: true, columns: 80, rows: 24 };
  const env = { LICMOND_URL: api.url.href, NO_COLOR: "1" };
  const ran = await run(["denials"], { now: NOW, terminal, env });
  expect(ran.err).toBe("Denials of eda, cae are not visible: no log\n");
  expect(ran.out).toBe(
    `            when feature        user        server seats times outcome
     02-28 23:10 Timing_Signoff regress@cn1 eda       16     3 denied: Licensed…
2025-12-31 23:50                            eda       16     3 denied
`,
  );
});

const WORDS = [["features"], ["who", "LogicSim_Core"], ["who", HOSTILE], ["expiring"], ["status"]];
const SIZES = [40, 80, 200].flatMap((columns) => WORDS.map((word) => [columns, word] as const));
test.each(SIZES)(
  "on a terminal of %d columns %j fits, escapes control characters, and cuts no number",
  async (columns, word) => {
    const terminal = { out: true, err: true, columns, rows: 24 };
    const { out } = await ask(word, { terminal });
    const plain = Bun.stripANSI(out);
    const table = plain.slice(plain.search(/^ *(feature|user|expires|Wrong)/m)).trimEnd();
    // Numbers and dates are never cut, so the table of a large site needs more than 40 columns.
    const widest = Math.max(...table.split("\n").map((line) => Bun.stringWidth(line)));
    expect(widest).toBeLessThanOrEqual(Math.max(columns, word[0] === "features" ? 60 : 50));
    expect(out.replaceAll(/\u001b\[[0-9;]*m/g, "")).not.toMatch(/[^\P{Cc}\n]/u);
    if (word[0] === "features") expect(plain).toMatch(/ 100000 +99993 /);
    expect((await ask(word, { terminal, env: { NO_COLOR: "1" } })).out).toBe(plain);
  },
);

test("status: problems, full features and expiries, on one screen", async () => {
  const { out, err } = await ask(["status"], { terminal: { out: true, err: true, columns: 80, rows: 24 } });
  expect(err).toBe("");
  const lines = Bun.stripANSI(out).split("\n");
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.slice(0, 2)).toEqual([
    "Servers: 1 up, 1 down. 12 of 100008 seats in use by 2 users, 2 waiting.",
    "Data is 5 s old; 1 of 6 features stale.",
  ]);
  expect(lines.join("\n")).toMatch(/Wrong 1\n.*cae.* down: Nobody answers at 27000@lic1\./);
  expect(lines.join("\n")).toMatch(/Full 1\n.*eda.* LogicSim_Core +4 of 4 in use, 2 waiting/);
  expect(lines.join("\n")).toMatch(/Expiring 2\n.*2026-03-31, in 30 d: solver\n/);
  const json = JSON.parse((await ask(["status", "--json"])).out);
  expect(Object.keys(json)).toEqual(["summary", "servers", "alerts", "features", "expirations", "logging"]);
  expect((await ask(["status", "--csv"])).out).toMatch(
    /^part,severity,server,feature,message,since\r\nWrong,critical,cae,/,
  );
});

test.each([
  [10, [3, 3, 3], 10],
  [10, [20, 1, 20], 4],
  [2, [5, 5, 5], 0],
  [-1, [5], 0],
])("%d lines for parts of %j lines: at most %d each", (lines, wanted, most) => {
  expect(fairShare(lines, wanted)).toBe(most);
});
