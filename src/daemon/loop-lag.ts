/** How late the event loop is. */
export interface LoopLag {
  /** The longest delay of the last ten seconds or so, ms; null before the first look. */
  longestMs(): number | null;
  stop(): void;
}

const LOOK_MS = 250;
const LOOKS = 40;

/** Looks four times a second how much later than asked for its timer runs. */
export function createLoopLag(): LoopLag {
  const seen: number[] = [];
  let position = 0;
  let expected = performance.now() + LOOK_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    seen[position] = Math.max(0, now - expected);
    position = (position + 1) % LOOKS;
    expected = now + LOOK_MS;
  }, LOOK_MS);
  timer.unref();
  return {
    longestMs: () => (seen.length === 0 ? null : Math.round(Math.max(...seen) * 100) / 100),
    stop: () => clearInterval(timer),
  };
}
