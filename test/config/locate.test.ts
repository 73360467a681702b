import { expect, test } from "bun:test";
import { createLocator } from "../../src/config/problem.ts";
import type { KeyPath } from "../../src/domain/schema-problems.ts";

const TOML = `# a comment with [header]
title = "x"

[http]
port = 8080
"quoted key" = 1

[[servers]]
id = "a"
tool = [
  "x", # ]
  "[not.a.header]",
]
labels.site = "muc"
note = """
[[servers]]
id = "no"
"""

  [[servers]] # the second
  id = 'b'
  text = '''
[[servers]] '''
  [servers.labels]
  rack = "7"

[[alerts.overrides]]
for = "1m"
[[alerts.overrides]]
a = { b = 1 }
`;

test.each<[KeyPath, number | null]>([
  [["title"], 2],
  [["http"], 4],
  [["http", "port"], 5],
  [["http", "quoted key"], 6],
  [["http", "missing"], 4],
  [["servers", 0], 8],
  [["servers", 0, "id"], 9],
  [["servers", 0, "tool", 1], 10],
  [["servers", 0, "labels", "site"], 14],
  [["servers", 0, "note"], 15],
  [["servers", 1], 20],
  [["servers", 1, "id"], 21],
  [["servers", 1, "labels"], 24],
  [["servers", 1, "labels", "rack"], 25],
  [["servers", 2, "id"], null],
  [["alerts", "overrides", 0, "for"], 28],
  [["alerts", "overrides", 1, "a", "b"], 30],
  [["limits", "burst"], null],
])("%j is in line %p", (path, line) => {
  expect(createLocator(TOML)(path)).toBe(line);
});

test("line ends may be CRLF", () => {
  expect(createLocator(TOML.replaceAll("\n", "\r\n"))(["servers", 1, "id"])).toBe(21);
});
