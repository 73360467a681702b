import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { idsOf, isAllowed, parseSpdx, type SpdxExpression } from "../../../scripts/lib/licenses/spdx.ts";

const WANTED = new Set(["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]);

describe("parseSpdx", () => {
  test("AND binds closer than OR", () => {
    expect(parseSpdx("MIT OR ISC AND Zlib")).toEqual({
      kind: "or",
      parts: [
        { kind: "license", id: "MIT" },
        {
          kind: "and",
          parts: [
            { kind: "license", id: "ISC" },
            { kind: "license", id: "Zlib" },
          ],
        },
      ],
    });
  });

  test.each([
    "",
    "AND",
    "MIT OR",
    "MIT ISC",
    "(MIT",
    "MIT)",
    "()",
    "SEE LICENSE IN LICENSE.md",
    "MIT WITH",
    "MIT/ISC",
    "MIT, ISC",
  ])("%j is none", (text) => {
    expect(() => parseSpdx(text)).toThrow("is no license expression");
  });

  const license = fc
    .constantFrom("MIT", "Apache-2.0", "GPL-2.0+", "MIT-0", "LicenseRef-x")
    .map((id): SpdxExpression => ({ kind: "license", id }));
  const { expression } = fc.letrec<{ expression: SpdxExpression }>((tie) => ({
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      license,
      fc
        .tuple(
          fc.constantFrom("and" as const, "or" as const),
          fc.array(tie("expression"), { minLength: 2, maxLength: 3 }),
        )
        .map(([kind, parts]): SpdxExpression => ({ kind, parts })),
    ),
  }));
  const write = (each: SpdxExpression): string =>
    each.kind === "license" ? each.id : `(${each.parts.map(write).join(` ${each.kind.toUpperCase()} `)})`;

  test("reads back what was written", () => {
    fc.assert(fc.property(expression, (each) => expect(parseSpdx(write(each))).toEqual(each)));
  });

  test("never anything but an expression or an error", () => {
    const words = fc.constantFrom("MIT", "AND", "OR", "WITH", "(", ")", "+", "x y", "");
    fc.assert(
      fc.property(fc.array(words), (list) => {
        try {
          expect(idsOf(parseSpdx(list.join(" "))).length).toBeGreaterThan(0);
        } catch (error) {
          expect(String(error)).toContain("is no license expression");
        }
      }),
    );
  });
});

test.each([
  ["MIT", true],
  ["GPL-3.0-only", false],
  ["(GPL-3.0-only OR MIT)", true],
  ["GPL-3.0-only AND MIT", false],
  ["MIT AND (Apache-2.0 OR GPL-2.0-only)", true],
  ["Apache-2.0 WITH LLVM-exception", true],
  ["MIT WITH LLVM-exception", false],
  ["mit", false],
])("isAllowed: %s → %p", (text, allowed) => {
  expect(isAllowed(parseSpdx(text), WANTED)).toBe(allowed);
});
