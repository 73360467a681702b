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
    `8: servers[0].manager takes a license manager: ${names} (did you mean "own"?), not "ovn"`,
  ]);
  const defaults = `[server_defaults]\nmanager = "x"\n[[servers]]\nid = "a"\naddress = "lic"\n`;
  expect(problemsOf(defaults)).toHaveLength(1);
  expect(problemsOf(defaults)[0]).toStartWith("2: server_defaults.manager takes a license manager:");
});

/** A line to add to a manager that is right, or one to put in the place of its own; and what is said of it. */
const MISTAKES: readonly [change: string, problem: RegExp][] = [
  ['name = "Own"', /^2: managers\[0\]\.name takes a name of 1 to 32 of the characters/],
  [
    'name = "flexnet"',
    /^2: managers\[0\]\.name takes a name of its own: "flexnet" is one that licmond brings along$/,
  ],
  ['name = "lsdyna"', /"lsdyna" is one that licmond brings along$/],
  ['format = "yaml"', /^4: managers\[0\]\.format takes one of licmond, xf-custom, json, lines, not "yaml"$/],
  ["match = { feature = '(' }", /^5: managers\[0\]\.match\.feature is no regular expression: missing \)$/],
  [
    "match = { feature = ['(?<name>.)', '(?<name>\\h)'] }",
    /^5: managers\[0\]\.match\.feature\[1\] is no regular/,
  ],
  ["match = { feature = '.' }", /^5: managers\[0\]\.match\.feature lacks the group \(\?<name>…\)$/],
  [
    "match = { feature = '(?<name>.)(?<seats>.)' }",
    /has the group \(\?<seats>…\); there are name, version, /,
  ],
  ["match = { feature = '(?<name>.)', member = '.' }", /match\.member lacks the group \(\?<host>…\)$/],
  ["match = { ignore = '.' }", /match\.feature is missing: it says which line is a feature$/],
  [
    "match = { feature = '(?<name>.)', featur = '.' }",
    /match\.featur is no known key, did you mean feature\?/,
  ],
  ["end = '['", /^6: managers\[0\]\.end is no regular expression: /],
  ["strip = 'x'", /^6: managers\[0\]\.strip does not go with format lines, which takes end, group, /],
  ["dates = { expires = 'KK' }", /^6: managers\[0\]\.dates\.expires has KK; there are yyyy /],
  ['http = { url = "http://{host}/" }', /^6: managers\[0\]\.http does not go with argv: one of them says/],
  [
    'login = { url = "http://x/", token = "t" }',
    /^6: managers\[0\]\.login goes with http: it is asked before that$/,
  ],
  ['argv = ["{host}"]', /^3: managers\[0\]\.argv\[0\] takes a fixed program, no placeholder, first$/],
  ['argv = ["bin/own"]', /^3: managers\[0\]\.argv\[0\] takes an absolute path, or a bare name/],
  [
    'argv = ["own", "-p", "{secret}"]',
    /argv\[2\] \{secret\} goes into stdin, a query, a header or a body: others/,
  ],
  [
    'argv = ["own", "{adress}"]',
    /argv\[1\] has the placeholder \{adress\}; there are \{address\}, \{host\}, \{port\}$/,
  ],
  ['stdin = "{token}"', /stdin \{token\} goes into the http that follows a login$/],
];

test.each(MISTAKES)("%s", (change, problem) => {
  const [key = ""] = change.split(" ", 1);
  const replaced = LINES.replace(new RegExp(`^${key} = .*$`, "m"), () => change);
  const [first = "", ...more] = problemsOf(replaced === LINES ? `${LINES}${change}\n` : replaced);
  expect(first).toMatch(problem);
  expect(more).toEqual([]);
});

test.each([
  ['format = "licmond"', /argv is missing: a manager has a command, argv, or a request, http$/],
  ['format = "json"\nargv = ["x"]', /fields\.name is missing: it says where a feature has its name$/],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a..b" }',
    /fields\.name takes paths such as a\.b\[\]\.c, not "a\.\.b"$/,
  ],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a" }\nusers = "/b"',
    /user_fields is missing: it goes with users$/,
  ],
  [
    'format = "json"\nargv = ["x"]\nfields = { name = "a" }\nwhere = { "a[" = "x" }',
    /where takes paths such as/,
  ],
  [
    'format = "xf-custom"\nargv = ["x"]\nunit = "tokens"',
    /unit does not go with format xf-custom, which has no such keys$/,
  ],
  [
    'format = "licmond"\nhttp = { url = "http://{host}/?t={secret}" }',
    /http\.url \{secret\} goes into stdin, a query/,
  ],
  [
    'format = "licmond"\nhttp = { url = "http://h/", headers = { A = "{token}" } }',
    /\{token\} goes into the http/,
  ],
  [
    'format = "licmond"\nhttp = { url = "http://h/" }\nstdin = "x"',
    /stdin does not go with http: it is for a command$/,
  ],
  [
    'format = "licmond"\nhttp = { url = "file:///etc/passwd" }',
    /http\.url takes an http:\/\/ or https:\/\/ URL, not/,
  ],
])("%j", (keys, problem) => {
  const found = problemsOf(`[[managers]]\nname = "own"\n${keys}\n`);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(problem);
});

test("two of one name are told", () => {
  expect(problemsOf(`${LINES}${LINES}`)).toEqual([
    `7: managers[1].name takes a name of its own: "own" is an earlier one's`,
  ]);
});

test("every problem of one is told at once", () => {
  const bad = '[[managers]]\nname = 5\nformat = "lines"\nmatch = { feature = "(" }\nlogin = { token = 1 }\n';
  expect(problemsOf(bad).length).toBeGreaterThan(3);
});
