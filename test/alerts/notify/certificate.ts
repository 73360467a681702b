import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a self-signed certificate for an address or name with openssl. */
export function selfSigned(name: string): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), "licmond-cert-"));
  try {
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const kind = /^[\d.]+$/.test(name) ? "IP" : "DNS";
    const made = Bun.spawnSync([
      ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-keyout", key, "-out", cert, "-days", "1", "-subj", `/CN=${name}`],
      ...["-addext", `subjectAltName=${kind}:${name}`],
    ]);
    if (!made.success) throw new Error(made.stderr.toString());
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
