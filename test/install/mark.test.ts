import { expect, test } from "bun:test";
import fc from "fast-check";
import { originOf, withMark } from "../../src/install/layout.ts";

test("a text under its mark is the same, whoever wrote the mark", () => {
  expect(originOf(withMark("[Unit]\n", "1.0.0"), "[Unit]\n")).toEqual({ kind: "same" });
  expect(originOf("[Unit]\n", "[Unit]\n")).toEqual({ kind: "same" });
});

test("an earlier text of ours is known without knowing that version", () => {
  expect(originOf(withMark("[Old]\n", "0.9.0"), "[Unit]\n")).toEqual({ kind: "ours", version: "0.9.0" });
});

test("any change of any text of ours is seen, and whether there is something newer", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string({ minLength: 1 }), (text, other, added) => {
      fc.pre(text + added !== other && other !== text);
      const edited = withMark(text, "1.0.0") + added;
      expect(originOf(edited, other)).toEqual({ kind: "changed", version: "1.0.0", outdated: true });
      expect(originOf(edited, text)).toEqual({ kind: "changed", version: "1.0.0", outdated: false });
    }),
  );
});

test.each([
  "",
  "[Unit]\nDescription=something else\n",
  "# Installed by licmond 1.0.0; sha256 of the lines below: 12.\n[Unit]\n",
  "# Installed by somebody\n[Unit]\n",
])("what bears no mark of ours is foreign: %j", (content) => {
  expect(originOf(content, "[Service]\n")).toEqual({ kind: "foreign" });
});
