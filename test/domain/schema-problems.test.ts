import { expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { printPath, problemsOf } from "../../src/domain/schema-problems.ts";

const WRONG = Array.from({ length: 10_000 }, () => 0);

/** Counts how many errors are taken from TypeBox. */
function counted(schema: TSchema, value: unknown) {
  let taken = 0;
  function* errors() {
    for (const error of Value.Errors(schema, value)) {
      taken++;
      yield error;
    }
  }
  return { errors: errors(), taken: () => taken };
}

test.each([
  ["a list", Type.Array(Type.Object({})), WRONG, "[0]"],
  ["a list in an object", Type.Object({ facts: Type.Array(Type.String()) }), { facts: WRONG }, "facts[0]"],
  [
    "a union",
    Type.Object({ of: Type.Union([Type.String(), Type.Array(Type.String())]) }),
    { of: WRONG },
    "of[0]",
  ],
  [
    "unknown keys",
    Type.Object({}, { additionalProperties: false }),
    Object.fromEntries(WRONG.map((_, n) => [`key${n}`, 0])),
    "key0",
  ],
])("finds the first problem of %s without the others", (_, schema, value, path) => {
  const { errors, taken } = counted(schema, value);
  const { value: first } = problemsOf(errors, value, "object").next();
  expect(printPath(first?.path ?? [])).toBe(path);
  expect(taken()).toBe(1);
});

test("a list that is too long is reported before its elements", () => {
  const schema = Type.Object({ facts: Type.Array(Type.Object({}), { maxItems: 5 }) });
  const [first] = problemsOf(Value.Errors(schema, { facts: WRONG }), { facts: WRONG }, "object");
  expect(first).toMatchObject({ path: ["facts"], takes: "a list of 5 at most" });
});

test("finds one problem per place, and those of the matching union branch", () => {
  const schema = Type.Object({
    list: Type.Array(Type.Integer()),
    either: Type.Union([Type.String(), Type.Array(Type.Integer())]),
    missing: Type.String(),
  });
  const value = { list: ["a", 1, "b"], either: [1, "c", "d"] };
  const found = [...problemsOf(Value.Errors(schema, value), value, "table")];
  expect(found.map(({ kind, path }) => `${kind} ${printPath(path)}`)).toEqual([
    "missing missing",
    "wrong list[0]",
    "wrong list[2]",
    "wrong either[1]",
    "wrong either[2]",
  ]);
});
