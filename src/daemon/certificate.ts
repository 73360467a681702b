import type { Log } from "../domain/log.ts";
import { type Clock, HOUR_MS, iso, repeat } from "../domain/time/clock.ts";
import { certificateWarning, readTls, type TlsFiles, type TlsMaterial } from "../http/tls.ts";

/** Looked at this often: a daemon runs longer than a certificate may be good for. */
const LOOK_MS = 12 * HOUR_MS;

export interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Has new connections get another certificate. */
  readonly serve: (material: TlsMaterial) => void;
}

/** The certificate that is served, and an eye on its end. Throws an Error that names the file when the first is not good. */
export function createCertificate(files: TlsFiles | null, deps: CertificateDeps) {
  const { clock, log, serve } = deps;
  let served = files === null ? null : readTls(files);
  const warn = () => {
    const warning = served === null ? null : certificateWarning(served, clock.now());
    if (warning !== null) log.warn("The TLS certificate needs care", { why: warning });
  };
  warn();
  return {
    /** Null = plain HTTP. */
    current: (): TlsMaterial | null => served,
    /**
     * Reads the files; what it answers has them served, when they hold another certificate than the one that is.
     * `afterRestart`: what a restart would serve, where that differs: it must be good as well, or no restart would
     * succeed. Throws an Error that names the file.
     */
    prepare(next: TlsFiles | null, afterRestart: TlsFiles | null): () => void {
      const material = next === null ? null : readTls(next);
      if (next === null && afterRestart !== null) readTls(afterRestart);
      return () => {
        if (material === null) return;
        if ((["cert", "key", "clientCa"] as const).every((of) => material[of] === served?.[of])) return;
        serve(material);
        served = material;
        warn();
        log.info("Another TLS certificate is served to new connections", {
          validUntil: iso(material.validTo),
        });
      };
    },
    stop: files === null ? () => {} : repeat(LOOK_MS, warn),
  };
}
