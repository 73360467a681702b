import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readServerSecret } from "../../src/collector/ask.ts";
import { createMask } from "../../src/managers/secrets.ts";

const secrets = fc.oneof(
  fc.string({ unit: "grapheme-ascii", minLength: 8, maxLength: 40 }),
  fc.string({ unit: "grapheme", minLength: 8, maxLength: 20 }).filter((text) => !/\p{Cc}/u.test(text)),
);

/** Encodings in which a tool or server may repeat a secret. */
const ways: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  encodeURIComponent,
  encodeURI,
  (secret) => encodeURIComponent(secret).replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
  (secret) => new URLSearchParams({ token: secret }).toString(),
  (secret) => JSON.stringify({ token: secret }),
  (secret) => `<b>${Bun.escapeHTML(secret)}</b>`,
  (secret) => Buffer.from(secret).toString("base64"),
  (secret) => Buffer.from(secret).toString("base64url"),
];

test("every form of a secret is masked", () => {
  fc.assert(
    fc.property(
      secrets,
      fc.constantFrom(...ways),
      fc.string(),
      fc.string(),
      (secret, way, before, behind) => {
        const said = way(secret);
        const masked = createMask([secret])(`${before} ${said} ${behind}`, false);
        // Skip runs in which the mask and the text around it form the secret by chance.
        fc.pre(!`${before} *** ${behind}`.includes(said));
        expect(masked).not.toContain(said);
        expect(masked).toContain("***");
      },
    ),
    { numRuns: 2000 },
  );
});

test("a secret in basic auth is masked at every offset", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 9 }), secrets, (user, secret) => {
      const sent = Buffer.from(`${user}:${secret}`).toString("base64");
      const masked = createMask([secret])(`Authorization: Basic ${sent}`, false);
      expect(Buffer.from(masked.split(" ").at(-1) ?? "", "base64").toString()).not.toContain(secret);
      expect(masked).toContain("***");
    }),
  );
});

test("the password of user:password is masked alone too", () => {
  expect(createMask(["monitor:open-sesame"])("wrong password open-sesame for monitor", false)).toBe(
    "wrong password *** for monitor",
  );
});

test("the start of a secret at the end of a cut text is masked", () => {
  const mask = createMask(["open-sesame"]);
  for (let length = 3; length < 11; length++)
    expect(mask(`token=${"open-sesame".slice(0, length)}`, true)).toBe("token=***");
  expect(mask("token=open-ses", false)).toBe("token=open-ses");
  expect(mask("the door is o", true)).toBe("the door is o");
});

test.each([
  ["open-sesame\n", { text: "open-sesame" }],
  ["user:pass word", { text: "user:pass word" }],
  ["", { problem: "is empty" }],
  ["abc", { problem: "has fewer than 4 characters" }],
  ["open\nsesame", { problem: "contains more than one line, or a control character" }],
  ["open\rsesame", { problem: "contains more than one line, or a control character" }],
])("a secret file with %j", async (text, read) => {
  const folder = mkdtempSync(join(tmpdir(), "licmond-secret-"));
  try {
    writeFileSync(join(folder, "secret"), text);
    expect(await readServerSecret(join(folder, "secret"))).toEqual(read);
    expect(await readServerSecret(join(folder, "none"))).toEqual({ problem: "cannot be read (ENOENT)" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
