import type { Clock } from "../domain/clock.ts";
import type { Log } from "../domain/log.ts";
import { certificateWarning, readTls, type TlsFiles, type TlsMaterial } from "../http/tls.ts";

/** Looked at this often: a daemon runs longer than a certificate may be good for. */
const LOOK_MS = 12 * 3_600_000;

/** The certificate that is served, and an eye on its end. */
export interface CertificateRoom {
  /** Null = plain HTTP. */
  current(): TlsMaterial | null;
  /** Reads the files and says what is amiss with the dates. Throws an Error that names the file. */
  read(files: TlsFiles): TlsMaterial;
  /** Another one is served from now on. */
  serve(material: TlsMaterial): void;
  stop(): void;
}

/** Throws an Error that names the file when the first certificate is not good. */
export function createCertificateRoom(files: TlsFiles | null, clock: Clock, log: Log): CertificateRoom {
  let served = files === null ? null : readTls(files);
  const warn = () => {
    const warning = served === null ? null : certificateWarning(served, clock.now());
    if (warning !== null) log.warn(warning);
  };
  warn();
  const timer = files === null ? null : setInterval(warn, LOOK_MS);
  timer?.unref();
  return {
    current: () => served,
    read: readTls,
    serve(material) {
      served = material;
      warn();
    },
    stop: () => void (timer !== null && clearInterval(timer)),
  };
}
