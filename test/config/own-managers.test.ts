import { expect, test } from "bun:test";
import { interpretConfig } from "../../src/config/load.ts";
import { MANAGERS } from "../../src/managers/registry.ts";

const LINES = `[[managers]]
name = "own"
argv = ["own", "{host}"]
format = "lines"
match = { feature = '(?<name>.)' }
`;
const SERVER = '[[servers]]\nid = "a"\nmanager = "own"\naddress = "lic"\n';

function problemsOf(toml: string): string[] {
  const result = interpretConfig(toml, null, {});
  return result.ok ? [] : result.problems.map(({ line, path, message }) => `${line}: ${path} ${message}`);
}

test("a server can have a manager of the config", () => {
  expect(interpretConfig(LINES + SERVER, null, {})).toMatchObject({
    ok: true,
    config: { managers: [{ name: "own" }], servers: [{ manager: "own" }] },
  });
  expect(problemsOf(LINES + SERVER.replace("lic", "-x"))[0]).toStartWith(
    "9: servers[0].address the address looks like",
  );
});

test("an unknown manager of a server or of the defaults is reported once, with all known ones", () => {
  const names = [...MANAGERS, "own"].join(", ");
  expect(problemsOf(LINES + SERVER.replace("own", "ovn"))).toEqual([
    `8: servers[0].manager must be one of ${names} (did you mean "own"?), not "ovn"`,
  ]);
  expect(problemsOf('[server_defaults]\nmanager = "x"\n[[servers]]\nid = "a"\naddress = "lic"\n')).toEqual([
    `2: server_defaults.manager must be one of ${MANAGERS.join(", ")}, not "x"`,
  ]);
});

/**
 * Lines that are added to LINES or replace one of them. Below each are the line number and the start of the
 * problem.
 */
const CHANGES = `
name = "Own"
2: managers[0].name must be a name of 1 to 32 of the characters
name = "flexnet"
2: managers[0].name must be unique: "flexnet" is also the name of a built-in manager
format = "yaml"
4: managers[0].format must be one of licmond, xf-custom, json, lines, not "yaml"
match = { feature = '(' }
5: managers[0].match.feature is an invalid regular expression: missing )
match = { feature = ['(?<name>.)', '(?<name>\\h)'] }
5: managers[0].match.feature[1] is an invalid regular
match = { feature = '.' }
5: managers[0].match.feature lacks the group (?<name>…)
match = { feature = '(?<name>.)(?<seats>.)' }
5: managers[0].match.feature has an unknown group (?<seats>…); known ones are name, version,
match = { feature = '(?<name>.)', member = '.' }
5: managers[0].match.member lacks the group (?<host>…)
match = { ignore = '.' }
5: managers[0].match.feature is required: the expression for lines of features
match = { feature = '(?<name>.)', featur = '.' }
5: managers[0].match.featur unknown key "featur"; did you mean "feature"?
end = '['
6: managers[0].end is an invalid regular expression:
strip = 'x'
6: managers[0].strip does not apply to format lines, which accepts end, group,
dates = { expires = 'KK' }
6: managers[0].dates.expires contains unknown letters "KK"; known are yyyy
http = { url = "http://{host}/" }
6: managers[0].http conflicts with argv; set only one
login = { url = "http://x/", token = "t" }
1: managers[0].http is required with login
argv = ["{host}"]
3: managers[0].argv[0] must be a fixed program, not a placeholder
argv = ["bin/own"]
3: managers[0].argv[0] must be an absolute path, or a name to look up
argv = ["own", "-p", "{secret}"]
3: managers[0].argv[2] {secret} is only allowed in stdin, a query, a header or a body: others
argv = ["own", "{adress}"]
3: managers[0].argv[1] has an unknown placeholder {adress}; known ones are {address}, {host}, {port}
stdin = "{token}"
6: managers[0].stdin {token} is only allowed in http, after a login`;

/** Managers with | for line ends, and the start of the problem below each. */
const MANAGERS_WITH_MISTAKES = `
format = "licmond"
1: managers[0].argv or http is required
format = "json"|argv = ["x"]
1: managers[0].fields.name is required: the path of a feature's name
format = "json"|argv = ["x"]|fields = { name = "a..b" }
5: managers[0].fields.name must be paths such as a.b[].c, not "a..b"
format = "json"|argv = ["x"]|fields = { name = "a" }|users = "/b"
1: managers[0].user_fields is required with users
format = "json"|argv = ["x"]|fields = { name = "a" }|where = { "a[" = "x" }
6: managers[0].where must be paths such as
format = "xf-custom"|argv = ["x"]|unit = "tokens"
5: managers[0].unit does not apply to format xf-custom, which has no such keys
format = "licmond"|http = { url = "http://{host}/?t={secret}" }
4: managers[0].http.url {secret} is only allowed in stdin, a query
format = "licmond"|http = { url = "http://h/", headers = { A = "{token}" } }
4: managers[0].http.headers.A {token} is only allowed in http
format = "licmond"|http = { url = "http://h/" }|stdin = "x"
5: managers[0].stdin requires argv, not http
format = "licmond"|http = { url = "file:///etc/passwd" }
4: managers[0].http.url must be an http:// or https:// URL, not`;

const pairsIn = (table: string) => [...table.matchAll(/\n(.+)\n(.+)/g)].map(([, a = "", b = ""]) => [a, b]);
const changed = (change: string) => {
  const [key] = change.split(" ", 1);
  const replaced = LINES.replace(new RegExp(`^${key} = .*$`, "m"), () => change);
  return replaced === LINES ? `${LINES}${change}\n` : replaced;
};

test.each([
  ...pairsIn(CHANGES).map(([change = "", problem = ""]) => [changed(change), problem]),
  ...pairsIn(MANAGERS_WITH_MISTAKES).map(([keys = "", problem = ""]) => [
    `[[managers]]\nname = "own"\n${keys.replaceAll("|", "\n")}\n`,
    problem,
  ]),
  [LINES + LINES, '7: managers[1].name must be unique: "own" is also the name of managers[0], line 2'],
])("%j", (toml = "", problem = "") => {
  expect(problemsOf(toml)).toEqual([expect.stringContaining(problem)]);
});

test("several mistakes in one manager are all reported", () => {
  const bad = '[[managers]]\nname = 5\nformat = "lines"\nmatch = { feature = "(" }\nlogin = { token = 1 }\n';
  expect(problemsOf(bad).length).toBeGreaterThan(3);
});
