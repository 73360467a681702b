import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Config } from "../../src/config/config.ts";
import { configFile, DEFAULT_CONFIG_FILE, interpretConfig, loadConfig } from "../../src/config/load.ts";
import { printProblem } from "../../src/config/problem.ts";
import { MANAGERS } from "../../src/managers/registry.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

const FILE = "/etc/licmond/licmond.toml";

function problemsOf(toml: string, environment: Record<string, string> = {}): string[] {
  const result = interpretConfig(toml, FILE, environment);
  if (result.ok) return [];
  return result.problems.map((problem) => printProblem(problem).replace(`${FILE}:`, ""));
}

const SERVER = 'manager = "rlm"\naddress = "5053@lic1.example"\n';

function configOf(toml: string, environment: Record<string, string> = {}): Config {
  const result = interpretConfig(toml, FILE, environment);
  if (!result.ok) throw new Error(problemsOf(toml, environment).join("\n"));
  return result.config;
}

const DAY = 86_400_000;

describe("defaults", () => {
  // test/cli/init.test.ts compares the defaults with the config that `init` writes.
  test("an empty file is valid", () => {
    const config = {
      servers: [],
      remoteWrite: null,
      http: { host: "127.0.0.1", isHostSet: false, port: 8080, tls: null },
    };
    expect(interpretConfig("", null, {})).toMatchObject({ ok: true, warnings: [], config });
  });

  test("[collector] and the host set defaults of servers", () => {
    const { servers } = configOf(
      `[collector]\ninterval = "2m"\ntimeout = "9s"\n[[servers]]\nid = "a"\n${SERVER}
       [[servers]]\nid = "b"\ninterval = "30s"\ntool = "/opt/rlm/rlmutil"\ntimezone = "UTC"\nenabled = false\n${SERVER}`,
    );
    const [first, own] = [
      {
        ...{ id: "a", name: "a", tool: null, enabled: true, labels: {}, logFile: null },
        ...{ secretFile: null, caFile: null, encoding: null },
      },
      { id: "b", tool: ["/opt/rlm/rlmutil"], intervalMs: 30_000, timezone: "UTC", enabled: false },
    ];
    expect(servers).toMatchObject([{ ...first, intervalMs: 120_000, timeoutMs: 9_000 }, own]);
  });

  test("[server_defaults] sets defaults; a server's own log replaces the common one", () => {
    const { servers } = configOf(
      `[server_defaults]\nmanager = "flexnet"\ninterval = "2m"\nlabels = { site = "muc", floor = "1" }\nlog_command = ["tail"]
       [[servers]]\nid = "a"\naddress = "27000@lic1"\nlabels = { floor = "2" }
       [[servers]]\nid = "b"\ninterval = "30s"\nlog_file = "/var/log/b.log"\n${SERVER}`,
    );
    expect(servers).toMatchObject([
      { manager: "flexnet", intervalMs: 120_000, labels: { site: "muc", floor: "2" }, logCommand: ["tail"] },
      { manager: "rlm", intervalMs: 30_000, logFile: "/var/log/b.log", logCommand: null },
    ]);
    const wrong = `[server_defaults]\ninterval = "1s"\naddress = "x"\n[[servers]]\nid = "a"\n${SERVER}\n[[servers]]\nid = "b"\n${SERVER}`;
    const result = interpretConfig(wrong, null, {});
    const told = result.ok ? [] : result.problems.map(({ line, path }) => `${line} ${path}`);
    expect(told).toEqual(["2 server_defaults.interval", "3 server_defaults.address"]);
  });

  test.each([
    [{ STATE_DIRECTORY: "/srv/state" }, "", "/srv/state"],
    [{ STATE_DIRECTORY: "/srv/one:/srv/two" }, "", "/srv/one"],
    [{ STATE_DIRECTORY: "/srv/state" }, '[storage]\ndirectory = "/srv/mine"', "/srv/mine"],
    [{ STATE_DIRECTORY: "/srv/state", LICMOND_STORAGE_DIRECTORY: "/srv/env" }, "", "/srv/env"],
  ])("storage under %j with %j is %s", (environment, toml, directory) => {
    expect(configOf(toml, environment).storage.directory).toBe(directory);
  });
});

/** Sections with `|` for line ends, and their values. */
const SECTIONS: readonly (readonly [string, object])[] = [
  [
    `[http]|tls_cert = "/etc/cert.pem"|tls_key = "/etc/key.pem"|cors_origins = ["https://wall.example", "http://localhost:3000"]|trusted_proxies = ["10.0.0.0/8", "::1"]`,
    { http: { tls: { cert: "/etc/cert.pem", key: "/etc/key.pem" }, trustedProxies: ["10.0.0.0/8", "::1"] } },
  ],
  ['[log]|level = "debug"|format = "json"', { log: { level: "debug", format: "json" } }],
  [
    `[[servers]]|id = "eda"|name = "EDA tools"|manager = "flexnet"|address = "27000@lic1,27000@lic2,27000@lic3"|tool = ["/usr/bin/nice", "/opt/flexnet/lmutil"]|timezone = "Europe/Berlin"|labels = { site = "muc" }|log_file = "/var/log/flexnet/snps.log"|[[maintenance]]|servers = ["eda", "x*"]|start = 2026-01-31T22:00:00Z|duration = "4h"|every = "week"`,
    {
      servers: [{ id: "eda", tool: ["/usr/bin/nice", "/opt/flexnet/lmutil"], labels: { site: "muc" } }],
      maintenance: [
        { servers: ["eda", "x*"], startAt: Date.UTC(2026, 0, 31, 22), durationMs: DAY / 6, every: "week" },
      ],
    },
  ],
  [
    `[server_defaults]|ca_file = "/etc/ca.pem"|encoding = "euc-kr"|[[servers]]|id = "eda"|manager = "flexnet"|address = "@lic1"|secret_file = "credential:eda"`,
    {
      servers: [
        { secretFile: "/run/credentials/licmond.service/eda", caFile: "/etc/ca.pem", encoding: "euc-kr" },
      ],
    },
  ],
  ['[retention]|log_size = "1GiB"|audit = "2y"', { retention: { logBytes: 2 ** 30, auditMs: 730 * DAY } }],
  [
    `[alerts]|usage_warning = 70.5|held_hours = 12|critical_needs_demand = true|[[alerts.overrides]]|server = "eda"|feature = "VCS*"|usage_critical = 99|for = "0s"`,
    {
      alerts: {
        usageWarning: 70.5,
        usageCritical: 100,
        criticalNeedsDemand: true,
        forMs: 900_000,
        overrides: [
          { server: "eda", daemon: null, feature: "VCS*", settings: { usageCritical: 99, forMs: 0 } },
        ],
      },
    },
  ],
  [
    `[http]|public_url = "https://lic.example/tools/"|[[notifications]]|type = "webhook"|url_file = "/run/hook"|name = "on call"|rules = ["server_*"]|servers = ["eda*"]|features = ["Sim?"]|labels = { location = "muc" }|anonymize = true|group = "0s"|[[notifications]]|type = "command"|argv = ["x"]|[[servers]]|id = "a"|manager = "rlm"|address = "5053@lic1"|labels = { location = "muc" }`,
    {
      notifications: [
        {
          name: "on call",
          url: null,
          urlFile: "/run/hook",
          rules: ["server_*"],
          servers: ["eda*"],
          features: ["Sim?"],
          labels: { location: "muc" },
          anonymize: true,
          groupMs: 0,
        },
        { name: null, servers: null, features: null, labels: null, anonymize: false, groupMs: 30_000 },
      ],
    },
  ],
  [
    `[[notifications]]|type = "webhook"|severity = "critical"|rules = ["server_down", "queue", "usage", "seats"]|url = "https://hooks.example/x"|secret_file = "/run/hook"|template = "slack"|[[notifications]]|type = "email"|smtp = "smtp://mail.example:587"|from = "licmond <licmond@company.example>"|to = "admin@company.example"|[[notifications]]|type = "command"|argv = ["/usr/local/bin/page", "-v"]`,
    {
      notifications: [
        {
          type: "webhook",
          severity: "critical",
          rules: ["server_down", "queue", "usage", "seats"],
          template: "slack",
        },
        { type: "email", severity: "warning", rules: null, to: ["admin@company.example"] },
        { type: "command", argv: ["/usr/local/bin/page", "-v"] },
      ],
    },
  ],
  ["[limits]|daily_quota = 100000", { limits: { dailyQuota: 100_000, monthlyQuota: null } }],
  [
    `[execute]|enabled = true|[[execute.commands]]|name = "lmdiag"|argv = ["/opt/flexnet/lmutil", "lmdiag", "-n", "-c", "{address}"]`,
    { execute: { enabled: true, commands: [{ name: "lmdiag", role: "admin", timeoutMs: 30_000 }] } },
  ],
  [
    `[export.remote_write]|url = "https://p.example/write"|token_file = "/run/token"|username = "12345"|labels = { site = "muc" }`,
    { remoteWrite: { url: "https://p.example/write", intervalMs: 60_000, tokenFile: "/run/token" } },
  ],
  [
    `[fleet]|site = "muc"|url = "https://hub.example/x"|api_key_file = "/run/key"|rate = "2MB"|allow = []`,
    {
      fleet: {
        ...{ site: "muc", url: "https://hub.example/x", apiKeyFile: "/run/key", allow: [], notify: "site" },
        ...{ people: "names", bytesPerSecond: 2e6, outboxBytes: 256e6, logs: false, formerly: null },
      },
    },
  ],
  ["", { fleet: null }],
];

test.each(SECTIONS)("reads %s", (toml, config) =>
  expect(configOf(toml.replaceAll("|", "\n"))).toMatchObject(config),
);

const S = SERVER.replaceAll("\n", "|");

/** Configs with `|` for line ends, and the problem below each. */
const MISTAKES = `
[fleet]|site = "Muc"|url = "https://h.example"|api_key_file = "/k"
2: fleet.site must be a name of 1 to 64 characters a-z 0-9 . _ - starting with a letter or digit, e.g. "muc", not "Muc"
[fleet]|site = "muc"|url = "https://h.example"
1: fleet.api_key_file is required: an absolute path, or credential:NAME for a credential of the unit (LoadCredential=NAME:/path)
[fleet]|site = "muc"|url = "https://me:it@h.example"|api_key_file = "/k"
3: fleet.url must be an http:// or https:// URL without credentials (use api_key_file)
[fleet]|site = "muc"|url = "https://h.example"|api_key_file = "/k"|cert_file = "/c"
1: fleet.cert_key_file is required with cert_file
[fleet]|site = "muc"|url = "https://h.example"|api_key_file = "/k"|people = "counts"|logs = true
6: fleet.logs conflicts with people = "counts": log lines may contain user names
[fleet]|site = "muc"|url = "https://h.example"|api_key_file = "/k"|people_key_file = "/p"
5: fleet.people_key_file applies only to people = "pseudonyms", not "names"
[fleet]|site = "muc"|url = "https://h.example"|api_key_file = "/k"|formerly = "muc"
5: fleet.formerly must be the previous name of the site, not the current one
[export.remote_write]|url = "https://me:it@p.example/write"
2: export.remote_write.url must be an http:// or https:// URL without credentials (use username and token_file)
[export.remote_write]|url = "https://p.example/write"|username = "12345"
1: export.remote_write.token_file is required with username
[export.remote_write]|url = "https://p.example/write"|labels = { __name__ = "x" }
3: export.remote_write.labels.__name__ is an invalid name: must be letters, digits and _, not starting with a digit
[http]|port = 99999
2: http.port must be a whole number from 0 to 65535, not 99999
[http]|port = "8080"
2: http.port must be a whole number from 0 to 65535, not "8080"
http = 5
1: http must be a table, not 5
[http]|host = "http://x"
2: http.host must be an address or host name without scheme and port, e.g. "0.0.0.0", "::" or "127.0.0.1", not "http://x"
[http]|tls_cert = "/a"
1: http.tls_key is required with tls_cert
[storage]|directory = "data"
2: storage.directory must be an absolute path, not "data"
[log]|level = "warning"
2: log.level must be one of debug, info, warn, error (did you mean "warn"?), not "warning"
[collector]|interval = "4s"
2: collector.interval must be a duration from 5s to 24h: a whole number and one of the units s m h d y, e.g. "60s", not "4s"
[[servers]]|id = "a"|encoding = "utf-7"|${S}
3: servers[0].encoding must be a text encoding, e.g. "euc-kr", "gbk", "shift_jis", "windows-1252" or "utf-16le", not "utf-7" (server "a")
[[servers]]|id = "a"|secret_file = "hunter2"|${S}
3: servers[0].secret_file must be an absolute path, or credential:NAME for a credential of the unit (LoadCredential=NAME:/path) (server "a")
[colector]|
1: colector: unknown key "colector"; did you mean "collector"? (known keys: http, storage, log, collector, managers, server_defaults, servers, retention, alerts, maintenance, notifications, products, reports, page, limits, execute, hub, export, fleet)
[servers]|id = "a"|${S}
1: servers must be a list of tables: write [[servers]]
[[servers]]|${S}
1: servers[0].id is required: an id of 1 to 64 characters a-z 0-9 . _ - starting with a letter or digit, e.g. "eda"
[[servers]]|id = "a"|manager = "nosuch"|address = "x"
3: servers[0].manager must be one of ${MANAGERS.join(", ")}, not "nosuch" (server "a")
[[servers]]|id = "a"|${S}[[servers]]|id = "a"|${S}
6: servers[1].id must be unique: "a" is also the id of servers[0], line 2
[[servers]]|id = "a"|${S}timezone = "Mars"
5: servers[0].timezone must be an IANA time zone, e.g. "Europe/Berlin" or "UTC", not "Mars" (server "a")
[[servers]]|id = "a"|${S}tool = 5
5: servers[0].tool must be a string or a list, not 5 (server "a")
[[servers]]|id = "a"|${S}tool = "bin/rlmutil"
5: servers[0].tool must be an absolute path, or a name to look up in $PATH, not "bin/rlmutil" (server "a")
[[servers]]|id = "a"|${S}tool = ["./rlmutil", "-z"]
5: servers[0].tool[0] must be an absolute path, or a name to look up in $PATH, not "./rlmutil" (server "a")
[[servers]]|id = "a"|${S}log_command = ["./tail", "s3cret"]
5: servers[0].log_command[0] must be an absolute path, or a name to look up in $PATH, not "./tail" (server "a")
[[servers]]|id = "a"|${S}log_command = "ssh lic1 tail"
5: servers[0].log_command must be a list of strings (server "a")
[[servers]]|id = "a"|${S}log_file = "/x"|log_command = ["tail"]
6: servers[0].log_command conflicts with log_file: a server has only one log (server "a")
[retention]|log_size = "1kB"
2: retention.log_size must be a size of 1 MB or more: a whole number with kB, MB, GB, TB, KiB, MiB, GiB or TiB, e.g. "256MB", not "1kB"
[alerts]|expiry_days = [1, 1]
2: alerts.expiry_days must be a list without duplicates
[alerts]|usage_warning = 96|usage_critical = 95
2: alerts.usage_warning must satisfy usage_warning (96) <= usage_critical (95)
[alerts]|usage_critical = 80
2: alerts.usage_critical must satisfy usage_warning (90) <= usage_critical (80)
[[notifications]]|type = "command"|argv = ["x"]|rules = ["seat"]
4: notifications[0].rules[0] must be one of server_down, server_degraded, daemon_down, seats, expiry, denials, held_too_long, stale, unparsed, totals_changed, disk, clock, outbox, site_silent, site_behind, site_clock, site_version, site_refused, site_clone, or a pattern with * and ?, not "seat"
[[maintenance]]|servers = ["b"]|start = 2026-01-01T00:00:00Z|duration = "1h"
2: maintenance[0].servers[0] must match a server id (* matches any characters); found no server "b"
[[maintenance]]|servers = ["*"]|duration = "1h"|start = 2027-02-30T22:00:00Z
4: maintenance[0].start must be a valid date, not 2027-02-30
[[maintenance]]|servers = ["*"]|duration = "1h"|start = "2027-02-30T22:00:00Z"
4: maintenance[0].start must be a date with a time, e.g. 2026-01-31T22:00:00 or "2026-01-31T22:00:00Z", not "2027-02-30T22:00:00Z"
[[notifications]]|type = "command"|argv = ["x"]|servers = ["b*", "b"]
4: notifications[0].servers[1] must match a server id (* matches any characters); found no server "b"
[[notifications]]|type = "command"|argv = ["x"]|labels = { site = "mcu" }
4: notifications[0].labels.site must be a label of a server; found none with "mcu"
[[notifications]]|type = "sms"
2: notifications[0].type must be one of webhook, email, command, not "sms"
[[notifications]]|type = "webhook"
1: notifications[0].url or url_file is required for type webhook
[[notifications]]|type = "command"|argv = ["x"]|url = "https://a.example"
4: notifications[0].url does not apply to type command, which accepts argv
[[notifications]]|type = "webhook"|url = "https://a.example"|url_file = "/run/x"
4: notifications[0].url_file conflicts with url; set only one
[[notifications]]|type = "command"|argv = ["x"]|labels = { "a b" = "c" }
4: notifications[0].labels."a b" is an invalid name: must be letters, digits and _, not starting with a digit
[[notifications]]|type = "command"|argv = ["x"]|group = "1h"
4: notifications[0].group must be a duration from 0s to 10m: a whole number and one of the units s m h d y, e.g. "30s", not "1h"
[http]|public_url = "lic.example"
2: http.public_url must be an http:// or https:// URL, not "lic.example"
[[execute.commands]]|name = "remove"|argv = ["/bin/true"]
2: execute.commands[0].name must be unique: "remove" is also the name of a built-in command
[[products]]|name = "CAD"|features = ["eda/CAD"]
3: products[0].features[0] must be server/daemon/feature (* matches any characters, ? matches one), e.g. "eda/snpslmd/VCS*", not "eda/CAD"
[[products]]|name = "CAD"|features = ["*/*/CAD*"]|cost_per_seat_year = 9.5
1: products[0].currency is required with cost_per_seat_year
[[products]]|name = "A"|features = ["*/*/A"]|[[products]]|name = "A"|features = ["*/*/B"]
5: products[1].name must be unique: "A" is also the name of products[0], line 2
[[notifications]]|name = "boss"|type = "email"|smtp = "x"|from = "a@b.example"|to = "c@d.example"|[[reports]]|every = "week"|target = "boss"|at = "07:00"
10: reports[0].at must be a weekday and a local time, e.g. "Mon 07:00", not "07:00"
[[reports]]|every = "week"|target = "boss"
3: reports[0].target must be the name of a notification of type email (none found), not "boss"
[limits]|daily_quota = 0
2: limits.daily_quota must be a whole number of 1 or more, not 0
[http]|port = 1|port = 2
3: invalid TOML: trying to redefine an already defined table or value (column 1)
[http]|host = "127.0.0.1|port = 1
2: invalid TOML: unterminated string (column 18)
[[servers]]|id = "a"|type = "flexnet"|manager = "flexnet"|address = "@lic1"
3: servers[0].type: unknown key "type"; did you mean "manager"? (known keys: id, name, manager, address, tool, timezone, interval, timeout, enabled, labels, secret_file, ca_file, encoding, log_file, log_command) (server "a")
[[servers]]|id = "a"|manager = "flexlm"|address = "@lic1"
3: servers[0].manager must be one of ${MANAGERS.join(", ")} (did you mean "flexnet"?), not "flexlm" (server "a")
[[servers]]|id = "a"|manager = "flexnet"|address = 'C:\\licenses\\x.lic'
4: servers[0].address is a Windows path, but this host does not run Windows: "C:\\licenses\\x.lic" (server "a")
[[notifications]]|type = "webhook"|url = "hooks.example/abc"
3: notifications[0].url must be an http:// or https:// URL
`
  .trim()
  .split("\n");

describe("messages", () => {
  const pairs = MISTAKES.flatMap((toml, at) =>
    at % 2 === 0 ? [[toml, MISTAKES[at + 1] ?? ""] as const] : [],
  );
  test.each(pairs)("%j", (config, problem) => {
    const toml = config.replaceAll("|", "\n");
    const [first, ...others] = problemsOf(toml);
    expect(first).toBe(problem);
    expect(others.filter((other) => !other.includes("is missing"))).toEqual([]);
  });

  test("an address that the manager rejects", () => {
    const [problem = ""] = problemsOf(
      '[[servers]]\nid = "a"\nmanager = "flexnet"\naddress = "27000@a b; rm -rf /"\n',
    );
    expect(problem).toStartWith("4: servers[0].address ");
  });

  test("all problems are reported in the order of the file", () => {
    const toml = `[collector]\ninterval = "1s"\ntimout = "30s"\n[[servers]]\nid = "UPPER"\n${SERVER}[[servers]]\nid = "b"\nmanager = "x"`;
    const keys = problemsOf(toml).map((problem) => problem.split(" ")[1]);
    const first = "collector.interval collector.timout: servers[0].id";
    expect(keys.join(" ")).toBe(`${first} servers[1].address servers[1].manager`);
  });
});

describe("secrets", () => {
  test.each([
    '[[notifications]]\ntype = "webhook"\nurl = "HUSH"',
    '[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "HUSH"',
    '[[notifications]]\ntype = "email"\nsmtp = "smtp://me:HUSH@mail.example"\nfrom = "a@b.example"\nto = "a@b.example"',
    '[[notifications]]\ntype = "command"\nargv = [["HUSH"]]',
    '[fleet]\nsite = "muc"\nurl = "ftp://HUSH"\napi_key_file = "HUSH"',
    '[fleet]\nsite = "muc"\nurl = "https://me:HUSH@hub.example"\napi_key_file = "/k"',
    '[export.remote_write]\nurl = "ftp://HUSH"\ntoken_file = "HUSH"',
    '[export.remote_write]\nurl = "https://me:HUSH@prometheus.example/write"\nusername = "HUSH"',
    '[execute]\npassword = "HUSH"',
    '[http]\nport = "lmk_abcdefghijkl_HUSH"',
    '[http]\nhost = "https://me:HUSH@a.example"',
    'token = """\nHUSH',
    '[[servers]]\nid = "a"\nlabels = "HUSH',
  ])("are not quoted: %j", (toml) => {
    const problems = problemsOf(toml);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join("\n")).not.toContain("HUSH");
  });
});

describe("the environment", () => {
  test("overrides scalars of every type", () => {
    const environment = {
      LICMOND_HTTP_PORT: "9000",
      LICMOND_EXECUTE_ENABLED: "true",
      LICMOND_ALERTS_USAGE_WARNING: "70.5",
      LICMOND_EXPORT_REMOTE_WRITE_URL: "https://prometheus.example/write",
      LICMOND_LOG_LEVEL: "",
      LICMOND_CONFIG: "/elsewhere.toml",
    };
    expect(interpretConfig('[http]\nport = 1\nhost = "::"', FILE, environment)).toMatchObject({
      ok: true,
      warnings: [],
      config: {
        http: { port: 9000, host: "::" },
        execute: { enabled: true },
        alerts: { usageWarning: 70.5 },
        log: { level: "info" },
        remoteWrite: { url: "https://prometheus.example/write" },
      },
    });
  });

  test("is named if its value is wrong", () => {
    expect(problemsOf("[http]\nport = 1", { LICMOND_HTTP_PORT: "x" })).toEqual([
      '$LICMOND_HTTP_PORT: http.port must be a whole number from 0 to 65535, not "x"',
    ]);
  });

  test("an unknown variable is a warning with a suggestion, without its value", () => {
    const result = interpretConfig("", null, { LICMOND_HTPP_PORT: "HUSH", LICMOND_UNHEARD_OF: "HUSH" });
    expect(result.warnings).toEqual([
      "ignoring unknown variable LICMOND_HTPP_PORT; did you mean LICMOND_HTTP_PORT?",
      "ignoring unknown variable LICMOND_UNHEARD_OF",
    ]);
  });

  test("does not replace a section that is not a table", () => {
    expect(problemsOf("http = 5", { LICMOND_HTTP_PORT: "9000" })).toEqual(["1: http must be a table, not 5"]);
  });
});

describe("any text", () => {
  const never = (text: string) => {
    const result = interpretConfig(text, FILE, {});
    return result.ok ? result.config.http.port >= 0 : result.problems.length > 0;
  };

  test("random bytes give a config or problems", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), never), { numRuns: 300 });
  });

  const wordsOf = (text: string) => fc.constantFrom(...text.split(" "));
  const word = wordsOf(
    "http servers port id manager address tool alerts overrides __proto__ constructor labels toString a.b",
  );
  const scalar = wordsOf(
    '1 -1 1.5 nan inf true "" "x" "flexnet" 2026-01-01 22:00:00 1979-05-27T07:32:00Z [] [1] [[]] [{}] {} {id=1} \'\'\'\n\'\'\' """\n[x]\n"""',
  );
  const line = fc.oneof(
    word.map((name) => `[${name}]`),
    word.map((name) => `[[${name}]]`),
    fc.tuple(word, scalar).map(([name, value]) => `${name} = ${value}`),
    fc.constantFrom("# [x]", "", "  "),
  );

  test("random mixes of the config's words give a config or problems", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => never(lines.join("\n"))),
      { numRuns: 1000 },
    );
  });

  test("__proto__ is an ordinary key", () => {
    expect(problemsOf("[__proto__]\nx = 1")[0]).toStartWith('1: __proto__: unknown key "__proto__"');
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });
});

async function load(content: string | Uint8Array) {
  const file = join(temporaryDirectory(), "licmond.toml");
  await Bun.write(file, content);
  return loadConfig(file, {});
}

test.each<[string | undefined, Record<string, string>, string, boolean]>([
  ["/a.toml", { LICMOND_CONFIG: "/b.toml" }, "/a.toml", true],
  [undefined, { LICMOND_CONFIG: "/b.toml" }, "/b.toml", true],
  [undefined, { LICMOND_CONFIG: "" }, DEFAULT_CONFIG_FILE, false],
  [undefined, {}, DEFAULT_CONFIG_FILE, false],
])("--config %p with %j is %s", (named, environment, file, isNamed) => {
  expect(configFile(named, environment)).toEqual({ file, named: isNamed });
});

test("a missing file, a directory and invalid UTF-8 are problems", async () => {
  const file = join(temporaryDirectory(), "nowhere.toml");
  const nowhere = { file, message: expect.stringContaining("no such file") };
  expect(loadConfig(file, {})).toMatchObject({ ok: false, file, problems: [nowhere] });
  const directory = [{ message: "is a directory, not a file" }];
  expect(loadConfig(temporaryDirectory(), {})).toMatchObject({ ok: false, problems: directory });
  const latin1 = [{ message: "is not valid UTF-8" }];
  expect(await load(new Uint8Array([0x61, 0xe4, 0x0a]))).toMatchObject({ ok: false, problems: latin1 });
});

test("a byte order mark is ignored", async () => {
  expect(await load("\uFEFF[http]\nport = 9999\n")).toMatchObject({
    ok: true,
    config: { http: { port: 9999 } },
  });
});
