import { describe, expect, test } from "bun:test";
import { blocksOf, commandsOf } from "./markdown.ts";
import { difference } from "./shape.ts";

describe("an output is what is shown", () => {
  test.each([
    ["same words", "one\ntwo", "one\ntwo\n"],
    ["other numbers and times", "3 up at 2026-01-31T08:15:30.123Z", "12 up at 2027-11-01T23:00:00.000Z"],
    ["a row of a table", "RF   4  1     3  ok", "RF  38  38  0  4  ok"],
    ["another key", "Key lmk_abc_…", "Key lmk_vdhyu18o5ue3_0tRbwFphYijf7Dgz334ZR"],
    ["the rest of a line", "ok  …", "ok  whatever it is"],
    ["lines left out", "one\n…\nfour", "one\ntwo\nthree\nfour"],
    ["no lines left out", "one\n…\ntwo", "one\ntwo"],
    ["JSON that is cut", '{"a":1,\n "b":{"c":2,…}', '{"a":5,"b":{"c":7,"d":8}}'],
    ["an event", 'id: 5\ndata: {"type":"x",…}', 'id: 17\ndata: {"type":"y","z":1}'],
    ["a table", "a,b,c\n1,x,2", "a,b,c\n3,y,4\n5,z,6"],
    ["a table that is cut", "a,b,…\n1,x,…", "a,b,c\n3,y,4"],
  ])("%s", (_what, shown, real) => expect(difference(shown, real)).toBeNull());

  test.each([
    ["another word", "one", "two"],
    ["a line more", "one", "one\ntwo"],
    ["a line less", "one\ntwo", "one"],
    ["another order", "one\n…\ntwo", "two\none"],
    ["a key that is gone", '{"a":1,…}', '{"b":1,"c":2}'],
    ["a key between", '{"a":1,"c":2,…}', '{"a":1,"b":1,"c":2}'],
    ["a key more", '{"a":1}', '{"a":1,"b":2}'],
    ["no JSON", '{"a":1}', "error"],
    ["another column", "a,b\n1,2", "a,c\n1,2"],
    ["no rows", "a,b\n1,2", "a,b\n"],
    ["an event without a key", 'data: {"type":"x"}', 'data: {"kind":"x"}'],
  ])("not with %s", (_what, shown, real) => expect(difference(shown, real)).not.toBeNull());

  test("a stream goes on", () => {
    expect(difference("one\n…\nthree", "one\ntwo\nthree\nfour", true)).toBeNull();
    expect(difference("one\n…\nthree", "one\ntwo", true)).not.toBeNull();
  });
});

describe("blocks", () => {
  const text = [
    "text",
    "<!-- run: host exit=1 edit=/etc/x -->",
    "```console",
    "$ one \\",
    "    --more",
    "said",
    "$ two",
    "```",
    "```toml",
    "a = 1",
    "```",
  ];

  test("have a language, a runner, options and commands", () => {
    const [commands, toml] = blocksOf(text.join("\n"), "x.md");
    expect(commands).toMatchObject({ line: 3, language: "console", runner: "host" });
    expect([...(commands?.options ?? [])]).toEqual([
      ["exit", "1"],
      ["edit", "/etc/x"],
    ]);
    expect(commands === undefined ? [] : commandsOf(commands)).toEqual([
      { command: "one \\\n    --more", output: "said" },
      { command: "two", output: "" },
    ]);
    expect(toml).toMatchObject({ language: "toml", runner: null, text: "a = 1" });
  });

  test("may stand in a list", () => {
    const [block] = blocksOf("* x\n  <!-- run: host -->\n  ```sh\n  x\n    y\n  ```", "x.md");
    expect(block).toMatchObject({ runner: "host", text: "x\n  y" });
  });

  test("of sh are commands alone", () => {
    const [block] = blocksOf("```sh\n# why\none   # how\n\ntwo\n```", "x.md");
    expect(block === undefined ? [] : commandsOf(block).map(({ command }) => command)).toEqual([
      "one   # how",
      "two",
    ]);
  });

  test.each([
    ["a marker above nothing", "<!-- run: host -->\n\n```sh\nx\n```"],
    ["a marker that is misspelt", "<!-- run host -->\n```sh\nx\n```"],
    ["a fence of another kind", "~~~sh\nx\n~~~"],
    ["a fence with more", "```sh title\nx\n```"],
    ["no end", "```sh\nx"],
  ])("%s is refused", (_what, markdown) => expect(() => blocksOf(markdown, "x.md")).toThrow());
});
