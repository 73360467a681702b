import type { Log } from "../domain/log.ts";
import { type Clock, HOUR_MS, iso, repeat } from "../domain/time/clock.ts";
import { certificateWarning, readTls, type TlsFiles, type TlsMaterial } from "../http/tls.ts";

/** Interval of the expiry check: a daemon may run longer than its certificate is valid. */
const LOOK_MS = 12 * HOUR_MS;

export interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Uses another certificate for new connections. */
  readonly serve: (material: TlsMaterial) => void;
}

/** Manages the TLS certificate and warns before it expires. Throws an Error with the file name if it is invalid at startup. */
export function createCertificate(files: TlsFiles | null, deps: CertificateDeps) {
  const { clock, log, serve } = deps;
  let served = files === null ? null : readTls(files);
  const warn = () => {
    const warning = served === null ? null : certificateWarning(served, clock.now());
    if (warning !== null) log.warn("TLS certificate problem", { why: warning });
  };
  warn();
  return {
    /** Null = plain HTTP. */
    current: (): TlsMaterial | null => served,
    /**
     * Reads the files. Call the returned function to use them, if the certificate has changed. `afterRestart`: files that a
     * restart would use, if different; they must be valid too, or the next start would fail. Throws an Error with the file name.
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
        log.info("Using a new TLS certificate for new connections", {
          validUntil: iso(material.validTo),
        });
      };
    },
    stop: files === null ? () => {} : repeat(LOOK_MS, warn),
  };
}
