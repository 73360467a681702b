import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificateWarning, readTls, type TlsFiles } from "../../src/http/tls.ts";
import { encryptKey, HAS_OPENSSL, type Pair, selfSigned } from "../certificates.ts";

const DAY = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2026, 5, 1);

describe.skipIf(!HAS_OPENSSL)("the files of the certificate", () => {
  let folder: string;
  let good: Pair;
  let other: Pair;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-tls-"));
    good = await selfSigned(folder, "good", FROM, TO);
    other = await selfSigned(folder, "other", FROM, TO);
    encryptKey(good.key, join(folder, "encrypted.key"));
    await Bun.write(join(folder, "empty"), "");
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("an error names the setting, the file and the fix", () => {
    expect(readTls(good)).toMatchObject({
      cert: expect.stringContaining("BEGIN CERTIFICATE"),
      key: expect.stringContaining("PRIVATE KEY"),

      validFrom: FROM,
      validTo: TO,
    });
  });

  test("an error names the setting, the file and the fix of the certificate", async () => {
    const at = (name: string) => join(folder, name);
    const cases: [TlsFiles, RegExp][] = [
      [{ ...good, cert: at("none") }, /^http\.tls_cert: \S+\/none does not exist\.$/],
      [{ ...good, key: at("none") }, /^http\.tls_key: \S+\/none does not exist\.$/],
      [{ ...good, key: folder }, /^http\.tls_key: \S+ cannot be read \(EISDIR\)\.$/],
      [{ ...good, cert: at("empty") }, /^http\.tls_cert: \S+\/empty contains no PEM certificate/],
      [{ ...good, cert: good.key }, /^http\.tls_cert: \S+\/good\.key contains no PEM certificate/],
      [{ ...good, key: at("empty") }, /^http\.tls_key: \S+\/empty contains no PEM private key/],
      [
        { ...good, key: at("encrypted.key") },
        /^http\.tls_key: .*\/encrypted\.key is encrypted.*openssl pkey/,
      ],
      [{ ...good, clientCa: at("none") }, /^http\.tls_client_ca: \S+\/none does not exist\.$/],
      [{ ...good, clientCa: good.key }, /^http\.tls_client_ca: \S+\/good\.key contains no PEM certificate/],
      [{ ...good, key: other.key }, /^http\.tls_key: \S+\/other\.key is not the key of .*\/good\.crt/],
    ];
    for (const [files, message] of cases) expect(() => readTls(files)).toThrow(message);
  });

  test.skipIf(process.getuid?.() === 0)("a key that may not be read", async () => {
    const closed = join(folder, "closed.key");
    await Bun.write(closed, "");
    await chmod(closed, 0);
    expect(() => readTls({ ...good, key: closed })).toThrow(/closed\.key cannot be read by this user/);
  });
});

test.each([
  [TO - 14 * DAY, null],
  [TO - 14 * DAY + 1, "expires on 2026-06-01, in 13 days"],
  [TO - DAY, "expires on 2026-06-01, in 1 day"],
  [TO - 1, "expires on 2026-06-01, in 0 days"],
  [TO, "expired on 2026-06-01"],
  [FROM, null],
  [FROM - 1, "is not valid before 2026-01-01"],
])("at %d days an administrator sees %p", (now, told) => {
  const warning = certificateWarning({ validFrom: FROM, validTo: TO }, now);
  if (told === null) expect(warning).toBeNull();
  else expect(warning).toContain(told);
});
