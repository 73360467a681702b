import { expect, test } from "bun:test";
import { interpretConfig } from "../../src/config/load.ts";
import { MANAGERS } from "../../src/managers/registry.ts";

const LINES = `[[managers]]
name = "own"
argv = ["own", "{host}"]
format = "lines"
match = { feature = '(?<name>.)' }
`;

function problemsOf(toml: string): string[] {
  const result = interpretConfig(toml, null, {});
  return result.ok ? [] : result.problems.map(({ line, path, message }) => `${line}: ${path} ${message}`);
}

test("a manager of the config's own may be that of a server", () => {
  const config = `${LINES}[[servers]]\nid = "a"\nmanager = "own"\naddress = "lic"\n`;
  const result = interpretConfig(config, null, {});
  expect(result).toMatchObject({
    ok: true,
    config: { managers: [{ name: "own" }], servers: [{ manager: "own" }] },
  });
  expect(problemsOf(config.replace('"lic"', '"-x"'))[0]).toStartWith(
    "9: servers[0].address the address looks like",
  );
});

test("a server's manager is one of all", () => {
  const names = [...MANAGERS, "own"].join(", ");
  expect(problemsOf(`${LINES}[[servers]]\nid = "a"\nmanager = "ovn"\naddress = "lic"\n`)).toEqual([
    `8: servers[0].manager must be one of ${names} (did you mean "own"?), not "ovn"`,
  ]);
  const defaults = `[server_defaults]\nmanager = "x"\n[[servers]]\nid = "a"\naddress = "lic"\n`;
  expect(problemsOf(defaults)).toHaveLength(1);
  expect(problemsOf(defaults)[0]).toStartWith("2: server_defaults.manager must be one of flexnet");
});

/** Line to add to a valid manager, or to replace one of its lines, and the reported problem. */
const MISTAKES: readonly [change: string, problem: RegExp][] = [
  ['name = "Own"', /^2: managers\[0\]\.name must be a name of 1 to 32 of the characters/],
  [
    'name = "flexnet"',
    /^2: managers\[0\]\.name must be unique: "flexnet" is also the name of a built-in manager$/,
  ],
  ['name = "lsdyna"', /"lsdyna" is also the name of a built-in manager$/],
  [
    'format = "yaml"',
    /^4: managers\[0\]\.format must be one of licmond, xf-custom, json, lines, not "yaml"$/,
  ],
  [
    "match = { feature = '(' }",
    /^5: managers\[0\]\.match\.feature is an invalid regular expression: missing \)$/,
  ],
  [
    "match = { feature = ['(?<name>.)', '(?<name>\\h)'] }",
    /^5: managers\[0\]\.match\.feature\[1\] is an invalid regular/,
  ],
  ["match = { feature = '.' }", /^5: managers\[0\]\.match\.feature lacks the group \(\?<name>…\)$/],
  [
    "match = { feature = '(?<name>.)(?<seats>.)' }",
    /has an unknown group \(\?<seats>…\); known ones are name, version, /,
  ],
  ["match = { feature = '(?<name>.)', member = '.' }", /match\.member lacks the group \(\?<host>…\)$/],
  ["match = { ignore = '.' }", /match\.feature is required: the expression for lines of features$/],
  [
    "match = { feature = '(?<name>.)', featur = '.' }",
    /match\.featur unknown key "featur"; did you mean "feature"\?/,
  ],
  ["end = '['", /^6: managers\[0\]\.end is an invalid regular expression: /],
  ["strip = 'x'", /^6: managers\[0\]\.strip does not apply to format lines, which accepts end, group, /],
  [
    "dates = { expires = 'KK' }",
    /^6: managers\[0\]\.dates\.expires contains unknown letters "KK"; known are yyyy /,
  ],
  ['http = { url = "http://{host}/" }', /^6: managers\[0\]\.http conflicts with argv; set only one/],
  ['login = { url = "http://x/", token = "t" }', /^6: managers\[0\]\.login requires http$/],
  ['argv = ["{host}"]', /^3: managers\[0\]\.argv\[0\] must be a fixed program, not a placeholder$/],
  ['argv = ["bin/own"]', /^3: managers\[0\]\.argv\[0\] must be an absolute path, or a name to look up/],
  [
    'argv = ["own", "-p", "{secret}"]',
    /argv\[2\] \{secret\} is only allowed in stdin, a query, a header or a body: others/,
  ],
  [
    'argv = ["own", "{adress}"]',
    /argv\[1\] has an unknown placeholder \{adress\}; known ones are \{address\}, \{host\}, \{port\}$/,
  ],
  ['stdin = "{token}"', /stdin \{token\} is only allowed in http, after a login$/],
];

test.each(MISTAKES)("%s", (change, problem) => {
  const [key = ""] = change.split(" ", 1);
  const replaced = LINES.replace(new RegExp(`^${key} = .*$`, "m"), () => change);
  const [first = "", ...more] = problemsOf(replaced === LINES ? `${LINES}${change}\n` : replaced);
  expect(first).toMatch(problem);
  expect(more).toEqual([]);
});

test.each([
  ['format = "licmond"', /argv or http is required$/],
  ['format = "json"\nargv = ["x"]', /fields\.name is required: the path of a feature's name$/],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a..b" }',
    /fields\.name must be paths such as a\.b\[\]\.c, not "a\.\.b"$/,
  ],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a" }\nusers = "/b"',
    /user_fields is required with users$/,
  ],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a" }\nwhere = { "a[" = "x" }',
    /where must be paths such as/,
  ],
  [
    'format = "xf-custom"\nargv = ["x"]\nunit = "tokens"',
    /unit does not apply to format xf-custom, which has no such keys$/,
  ],
  [
    'format = "licmond"\nhttp = { url = "http://{host}/?t={secret}" }',
    /http\.url \{secret\} is only allowed in stdin, a query/,
  ],
  [
    'format = "licmond"\nhttp = { url = "http://h/", headers = { A = "{token}" } }',
    /\{token\} is only allowed in http/,
  ],
  ['format = "licmond"\nhttp = { url = "http://h/" }\nstdin = "x"', /stdin requires argv, not http$/],
  [
    'format = "licmond"\nhttp = { url = "file:///etc/passwd" }',
    /http\.url must be an http:\/\/ or https:\/\/ URL, not/,
  ],
])("%j", (keys, problem) => {
  const found = problemsOf(`[[managers]]\nname = "own"\n${keys}\n`);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(problem);
});

test("two of one name are told", () => {
  expect(problemsOf(`${LINES}${LINES}`)).toEqual([
    `7: managers[1].name must be unique: "own" is also the name of an earlier manager`,
  ]);
});

test("every problem of one is told at once", () => {
  const bad = '[[managers]]\nname = 5\nformat = "lines"\nmatch = { feature = "(" }\nlogin = { token = 1 }\n';
  expect(problemsOf(bad).length).toBeGreaterThan(3);
});
