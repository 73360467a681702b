import { describe, expect, test } from "bun:test";
import {
  credentialFinder,
  credentialName,
  credentialOfPath,
  pathOfFile,
} from "../../src/config/credentials.ts";
import { interpretConfig } from "../../src/config/load.ts";
import { printProblem } from "../../src/config/problem.ts";

const INSIDE = { CREDENTIALS_DIRECTORY: "/run/credentials/other.service" };

test.each([
  ["credential:webhook", "webhook"],
  ["credential:tls-key.pem_1", "tls-key.pem_1"],
  ["credential:", ""],
  ["credential:../../etc/shadow", ""],
  ["credential:.hidden", ""],
  ["credential:a b", ""],
  ["/etc/secret", null],
  ["Credential:x", null],
])("%s names %j", (text, name) => expect(credentialName(text)).toBe(name));

test.each([
  ["credential:hook", {}, "/run/credentials/licmond.service/hook", "hook"],
  ["credential:hook", INSIDE, "/run/credentials/other.service/hook", "hook"],
  ["/etc/hook", INSIDE, "/etc/hook", null],
])("%s with %j is %s", (text, environment, path, name) => {
  expect(pathOfFile(text, environment)).toBe(path);
  expect(credentialOfPath(path, environment)).toBe(name);
});

describe("a credential", () => {
  const isMissing = (path: string) => path !== "/run/credentials/other.service/hook";
  test.each([
    ["exists", INSIDE, "hook", true],
    ["is missing", INSIDE, "mail", false],
    ["is missing in a unit without credentials", { SYSTEMD_EXEC_PID: "7" }, "hook", false],
    ["may exist in a session that a unit started", { SYSTEMD_EXEC_PID: "3" }, "hook", true],
    ["may exist outside of a unit", {}, "hook", true],
  ])("%s", (_what, environment, name, found) => {
    expect(credentialFinder(environment, 7, isMissing)(name)).toBe(found);
  });
});

const TOML = `[http]
tls_cert = "/etc/cert.pem"
tls_key = "credential:tls-key"
[[notifications]]
type = "webhook"
url = "https://a.example"
secret_file = "credential:hook"
[[notifications]]
type = "webhook"
url_file = "credential:hook-url"
[export.remote_write]
url = "https://b.example"
token_file = "credential:prometheus"`;

test("files with secrets and certificates can be credentials", () => {
  const result = interpretConfig(TOML, null, INSIDE);
  expect(result.ok && result.config).toMatchObject({
    http: { tls: { cert: "/etc/cert.pem", key: "/run/credentials/other.service/tls-key" } },
    notifications: [
      { secretFile: "/run/credentials/other.service/hook" },
      { url: null, urlFile: "/run/credentials/other.service/hook-url" },
    ],
    remoteWrite: { tokenFile: "/run/credentials/other.service/prometheus" },
  });
});

test("missing credentials are reported with line and fix, without their names", () => {
  const result = interpretConfig(TOML, "/c.toml", INSIDE, (name) => name === "prometheus");
  const fix =
    "names a credential that the unit does not provide: add LoadCredential=NAME:/path under [Service] in a drop-in (systemctl edit licmond) and restart";
  expect(result.ok ? [] : result.problems.map(printProblem)).toEqual([
    `/c.toml:3: http.tls_key ${fix}`,
    `/c.toml:7: notifications[0].secret_file ${fix}`,
    `/c.toml:10: notifications[1].url_file ${fix}`,
  ]);
});

test("other texts are reported without the value", () => {
  const result = interpretConfig(
    '[[notifications]]\ntype = "webhook"\nurl = "https://a.example"\nsecret_file = "credential:HUSH/HUSH"',
    null,
    {},
  );
  expect(result.ok ? [] : result.problems.map(printProblem)).toEqual([
    "4: notifications[0].secret_file must be an absolute path, or credential:NAME for a credential of the unit (LoadCredential=NAME:/path)",
  ]);
});
