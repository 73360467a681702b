import { readFileSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { codeOf } from "../domain/error-code.ts";
import { countOf } from "../domain/plain-text.ts";
import { DAY_MS } from "../domain/time/clock.ts";

/** PEM files (`http.tls_cert`, `tls_key`, `tls_client_ca`). */
export type TlsFiles = NonNullable<Config["http"]["tls"]>;

/** Contents of the files, checked to belong together. */
export interface TlsMaterial extends TlsFiles {
  /** Start of validity of the first certificate in the chain, epoch ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

const WARN_DAYS = 14;

/**
 * Reads and checks the files, because Bun starts without a missing file and then fails every handshake, and
 * because its messages name no file. Throws an Error with the file and the problem.
 */
export function readTls({ cert, key, clientCa }: TlsFiles): TlsMaterial {
  // Loaded on demand: most daemons use plain HTTP.
  const { createPrivateKey, X509Certificate } = process.getBuiltinModule("node:crypto");
  const chain = readPem(cert, "http.tls_cert");
  const secret = readPem(key, "http.tls_key");
  const certificate = parsed(
    () => new X509Certificate(chain),
    `http.tls_cert: ${cert} contains no PEM certificate (-----BEGIN CERTIFICATE-----).`,
  );
  const privateKey = parsed(() => createPrivateKey(secret), whyNoKey(secret, key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `http.tls_key: ${key} is not the key of the certificate in ${cert}. Use a matching pair; in http.tls_cert, the daemon's own certificate must come first.`,
    );
  }
  const authorities = clientCa === undefined ? undefined : readPem(clientCa, "http.tls_client_ca");
  if (authorities !== undefined)
    parsed(
      () => new X509Certificate(authorities),
      `http.tls_client_ca: ${clientCa} contains no PEM certificate (-----BEGIN CERTIFICATE-----).`,
    );
  return {
    cert: chain,
    key: secret,
    ...(authorities !== undefined && { clientCa: authorities }),
    validFrom: Date.parse(certificate.validFrom),
    validTo: Date.parse(certificate.validTo),
  };
}

/** Returns a warning if the certificate has expired, is not valid yet, or expires soon; null otherwise. */
export function certificateWarning(
  { validFrom, validTo }: Pick<TlsMaterial, "validFrom" | "validTo">,
  now: number,
): string | null {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  if (now >= validTo) return `The TLS certificate expired on ${day(validTo)}: clients refuse it`;
  if (now < validFrom) return `The TLS certificate is not valid before ${day(validFrom)}: clients refuse it`;
  const days = Math.floor((validTo - now) / DAY_MS);
  if (days >= WARN_DAYS) return null;
  return `The TLS certificate expires on ${day(validTo)}, in ${countOf(days, "day")}`;
}

function readPem(path: string, setting: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = codeOf(error);
    const why = { ENOENT: "does not exist", EACCES: "cannot be read by this user" }[code];
    throw new Error(`${setting}: ${path} ${why ?? `cannot be read (${code})`}.`, { cause: error });
  }
}

/** Throws `otherwise` if `parse` throws. */
function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(otherwise, { cause });
  }
}

function whyNoKey(pem: string, path: string): string {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    return `http.tls_key: the key in ${path} is encrypted, but a daemon cannot ask for a password. Decrypt it (openssl pkey -in … -out …) and let only the daemon's user read it.`;
  }
  return `http.tls_key: ${path} contains no PEM private key (-----BEGIN PRIVATE KEY-----).`;
}
