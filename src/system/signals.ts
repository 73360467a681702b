/** What the signals of the operating system ask of the daemon. */
export interface SignalHandlers {
  /** SIGTERM or SIGINT, the first: end in order. */
  stop(signal: string): void;
  /** The same signal a second time: the administrator does not want to wait. */
  exitNow(signal: string): void;
  /** SIGHUP: read the config again. */
  reload(): void;
}

/** The part of `process` that this needs. */
export interface SignalSource {
  on(signal: "SIGTERM" | "SIGINT" | "SIGHUP", listener: () => void): unknown;
  off(signal: "SIGTERM" | "SIGINT" | "SIGHUP", listener: () => void): unknown;
}

/** Listens until the answer is called. */
export function listenToSignals(handlers: SignalHandlers, source: SignalSource = process): () => void {
  let stopping = false;
  const end = (signal: string) => () => {
    if (stopping) return handlers.exitNow(signal);
    stopping = true;
    handlers.stop(signal);
  };
  const listeners = [
    ["SIGTERM", end("SIGTERM")],
    ["SIGINT", end("SIGINT")],
    ["SIGHUP", () => handlers.reload()],
  ] as const;
  for (const [signal, listener] of listeners) source.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) source.off(signal, listener);
  };
}
