/** Waits for work, or rejects with the signal's reason as soon as it is aborted; the work itself goes on then. */
export function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", abort));
}
