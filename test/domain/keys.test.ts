import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  keyProblem,
  keyState,
  makeKey,
  PERMISSIONS,
  type Permission,
  parseKey,
  permits,
  printKey,
  systemRandom,
} from "../../src/domain/keys.ts";
import type { Role } from "../../src/domain/words.ts";
import { plainKey } from "../store/plain-key.ts";

const NOW = Date.parse("2026-03-02T12:00:00.000Z");
const anyBytes = fc.infiniteStream(fc.integer({ min: 0, max: 255 })).map((stream) => {
  return (n: number) => Uint8Array.from({ length: n }, () => stream.next().value ?? 0);
});

describe("the form of a key", () => {
  test("any random bytes give a key that parses", () => {
    fc.assert(
      fc.property(anyBytes, (random) => {
        const parts = makeKey(random);
        const text = printKey(parts);
        expect(text).toMatch(/^lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
        expect(parseKey(text)).toEqual(parts);
      }),
    );
  });

  test("the secret contains all 32 bytes", () => {
    const { secret } = makeKey((n) => new Uint8Array(n).fill(n));
    expect([...Buffer.from(secret, "base64url")]).toEqual(Array(32).fill(32));
  });

  test("every letter of an id is equally likely", () => {
    let calls = 0;
    const { id } = makeKey((n) =>
      n === 12 && calls++ === 0 ? new Uint8Array(n).fill(252) : new Uint8Array(n),
    );
    expect(id).toBe("a".repeat(12));
    expect(calls).toBe(2);
  });

  test("keys differ", () => {
    const many = new Set(Array.from({ length: 1000 }, () => printKey(makeKey(systemRandom))));
    expect(many.size).toBe(1000);
  });

  const good = `lmk_abcdefghijk1_${"A".repeat(43)}`;
  test.each([
    ["", "nothing"],
    [good.slice(0, -1), "a secret too short"],
    [`${good}A`, "a secret too long"],
    [`${good}\n`, "a line end"],
    [` ${good}`, "a blank"],
    [good.toUpperCase(), "capitals"],
    [good.replace("lmk_", "lk_"), "another prefix"],
    [good.replace("_abc", "_Abc"), "a capital in the id"],
    [good.replace("AAA", "A+A"), "base64 that is not base64url"],
    [good.replace("AAA", "A\u00e4A"), "a letter beyond ASCII"],
  ])("%j is not a key: %s", (text) => {
    expect(parseKey(good)).not.toBeNull();
    expect(parseKey(text)).toBeNull();
  });

  test("parsing never throws", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseKey(text)));
  });
});

describe("the state of a key", () => {
  test.each([
    [null, null, "active"],
    [NOW + 1, null, "active"],
    [NOW, null, "expired"],
    [NOW - 1, null, "expired"],
    [null, NOW - 5, "revoked"],
    [NOW - 9, NOW - 5, "revoked"],
  ] as const)("expires %p, revoked %p: %s", (expiresAt, revokedAt, state) => {
    expect(keyState({ expiresAt, revokedAt }, NOW)).toBe(state);
  });
});

describe("roles", () => {
  const VIEWER = ["calendar", "read", "details", "holders", "people", "commands", "logs"];
  const OPERATOR = [...VIEWER, "protected_logs", "refresh", "rescan", "acknowledge", "execute_operator"];
  const allowed = (role: Role, anonymize = false): Permission[] =>
    PERMISSIONS.filter((permission) => permits({ role, anonymize }, permission));

  test.each([
    ["calendar", ["calendar"]],
    ["viewer", VIEWER],
    ["operator", OPERATOR],
    ["admin", PERMISSIONS.filter((permission) => permission !== "push")],
    ["site", ["push"]],
  ] as const)("%s", (role, permissions) => {
    expect<string[]>(allowed(role)).toEqual([...permissions]);
  });

  test("an anonymized viewer sees no logs, commands or details of the site", () => {
    expect(allowed("viewer", true)).toEqual(["calendar", "read", "holders", "people"]);
  });
});

describe("a requested key", () => {
  test.each([
    [{}, null],
    [{ name: "" }, "name"],
    [{ name: " a" }, "name"],
    [{ name: "a\nb" }, "name"],
    [{ name: "a\ud800b" }, "name"],
    [{ name: "\udc00" }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ name: "\u{1f511}".repeat(100) }, null],
    [{ role: "root" as Role }, "role"],
    [{ expiresAt: NOW }, "expiresAt"],
    [{ expiresAt: NOW + 1 }, null],
    [{ expiresAt: Number.NaN }, "expiresAt"],
    [{ anonymize: true }, null],
    [{ anonymize: true, role: "operator" as const }, "anonymize"],
    [{ dailyQuota: 0 }, "dailyQuota"],
    [{ monthlyQuota: 1.5 }, "monthlyQuota"],
    [{ requestsPerMinute: -1 }, "requestsPerMinute"],
    [{ dailyQuota: 1, monthlyQuota: 1, requestsPerMinute: 1 }, null],
  ])("%j is wrong in %p", (change, field) => {
    const problem = keyProblem(plainKey(change), NOW);
    expect<string | null>(problem?.field ?? null).toBe(field);
    if (field !== null) expect(problem?.message).toContain(field);
  });
});
