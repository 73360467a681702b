import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Whether openssl is installed. Tests make their certificates with openssl. */
export const HAS_OPENSSL = Bun.which("openssl") !== null;

if (!HAS_OPENSSL) console.error("tests with TLS are skipped: openssl not found on $PATH");

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

const CONFIG = `
[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = DNS:localhost, IP:127.0.0.1
`;

/**
 * Creates a self-signed certificate for 127.0.0.1 and localhost, valid between two times (epoch ms). The files are
 * `<name>.crt` and `<name>.key`.
 */
export async function selfSigned(folder: string, name: string, from: number, to: number): Promise<Pair> {
  const own = join(folder, `ca-${name}`);
  await mkdir(own, { recursive: true });
  await Bun.write(join(own, "ca.cnf"), CONFIG);
  await Bun.write(join(own, "index.txt"), "");
  const pair = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  const made = join(own, "request.csr");
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  openssl(own, [
    "req",
    "-new",
    ...curve,
    "-nodes",
    "-keyout",
    pair.key,
    "-subj",
    `/CN=${name}`,
    "-out",
    made,
  ]);
  openssl(own, [
    ...["ca", "-batch", "-config", "ca.cnf", "-selfsign", "-create_serial", "-notext", "-keyfile", pair.key],
    ...["-in", made, "-startdate", asn1(from), "-enddate", asn1(to), "-out", pair.cert],
  ]);
  return pair;
}

/** Writes a key to another file, encrypted with a password. */
export function encryptKey(key: string, to: string): void {
  openssl("/", ["pkey", "-in", key, "-aes256", "-passout", "pass:of-the-test", "-out", to]);
}

function openssl(cwd: string, args: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync(["openssl", ...args], { cwd, stdin: "ignore", stderr: "pipe" });
  if (!success) throw new Error(`openssl ${args.join(" ")}\n${stderr.toString()}`);
}

/** `20260131081530Z` */
function asn1(at: number): string {
  return `${new Date(at).toISOString().replaceAll(/[-:T]|\.\d+Z/g, "")}Z`;
}
