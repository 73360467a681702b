/**
 * Tries random keys, one after the other, in a process of its own: `bun gate-guesses.ts COUNT`.
 * Prints the resident megabytes that the tries behind the warm-up left, and how many were refused a second.
 */
import { makeKey, printKey, systemRandom } from "../../src/domain/keys.ts";
import { createGate } from "./gate-app.ts";

/** By then everything that is made once has been made. */
const WARM_UP = 100_000;

const guesses = Number(process.argv[2]);
const { app, close } = createGate();

function residentMegabytes(): number {
  Bun.gc(true);
  return process.memoryUsage.rss() / 1e6;
}

async function guess(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const headers = { "x-api-key": printKey(makeKey(systemRandom)) };
    const { status } = await app.handle(new Request("http://localhost/api/licenses/summary", { headers }));
    if (status !== 401 && status !== 429) throw new Error(`a guessed key was answered with ${status}`);
  }
}

await guess(WARM_UP);
const before = residentMegabytes();
const startedAt = performance.now();
await guess(guesses);
const seconds = (performance.now() - startedAt) / 1000;
console.log(residentMegabytes() - before, guesses / seconds);
close();
