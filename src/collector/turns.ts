/**
 * One turn of the event loop for each who asks, in the order in which they ask. When several tools end at the same
 * moment, what their outputs make of work is done one by one, and requests are answered between.
 */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resume) => setImmediate(resume)));
    return last;
  };
}
