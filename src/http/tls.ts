import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** Paths of the certificate chain and its key, PEM (`http.tls_cert`, `http.tls_key`). */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** What was in the files, proved to belong together. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Of the daemon's own certificate, the first of the chain. Epoch ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** An administrator hears of the end of a certificate this early. */
const WARN_DAYS = 14;
const DAY_MS = 86_400_000;

/**
 * Reads and checks both files. Bun starts without a file that is not there, and then fails every handshake; its words
 * for what is wrong with one name no file. Throws an Error that names the file and what is wrong with it.
 */
export function readTls({ cert, key }: TlsFiles): TlsMaterial {
  const chain = readPem(cert, "http.tls_cert");
  const secret = readPem(key, "http.tls_key");
  const certificate = certificateOf(chain, cert);
  if (!certificate.checkPrivateKey(keyOf(secret, key))) {
    throw new Error(
      `http.tls_key: ${key} is not the key of the certificate in ${cert}. Give the pair that belongs together, the daemon's own certificate first.`,
    );
  }
  return {
    cert: chain,
    key: secret,
    validFrom: Date.parse(certificate.validFrom),
    validTo: Date.parse(certificate.validTo),
  };
}

/** What an administrator should hear of the certificate now; null when it is good for some time. */
export function certificateWarning(
  { validFrom, validTo }: Pick<TlsMaterial, "validFrom" | "validTo">,
  now: number,
): string | null {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  if (now >= validTo) return `The TLS certificate expired on ${day(validTo)}: clients refuse it`;
  if (now < validFrom) return `The TLS certificate holds only from ${day(validFrom)} on: clients refuse it`;
  const days = Math.floor((validTo - now) / DAY_MS);
  if (days >= WARN_DAYS) return null;
  return `The TLS certificate expires on ${day(validTo)}, in ${days} ${days === 1 ? "day" : "days"}`;
}

function readPem(path: string, setting: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const why =
      code === "ENOENT"
        ? "does not exist"
        : code === "EACCES"
          ? "cannot be read by this user"
          : `cannot be read (${code ?? String(error)})`;
    throw new Error(`${setting}: ${path} ${why}.`, { cause: error });
  }
}

function certificateOf(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(
      `http.tls_cert: ${path} holds no certificate in PEM (it starts with -----BEGIN CERTIFICATE-----).`,
      { cause },
    );
  }
}

function keyOf(pem: string, path: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
      throw new Error(
        `http.tls_key: the key in ${path} is encrypted, and a daemon has nobody to ask for its password. Decrypt it (openssl pkey -in … -out …) and let only the daemon's user read it.`,
        { cause },
      );
    }
    throw new Error(
      `http.tls_key: ${path} holds no private key in PEM (it starts with -----BEGIN PRIVATE KEY-----).`,
      { cause },
    );
  }
}
