import type { Exchanges } from "../exchange.ts";
import type { LastStep } from "./answered.ts";

/**
 * Puts the exchange's headers on its answer, whatever that became; what a route says itself beats them, but for what it
 * varies by: that is added.
 * Not through Elysia's `set.headers`: for these it makes every Response anew, with its body as a stream, which costs
 * a large answer a tenth of its rate.
 */
export function answerHeaders(exchanges: Exchanges): LastStep {
  return (request, { headers }) => {
    const told = exchanges.find(request)?.headers ?? {};
    for (const name in told) {
      const own = headers.get(name);
      if (own === null) headers.set(name, told[name] ?? "");
      else if (name === "vary") headers.set(name, `${own}, ${told[name]}`);
    }
  };
}
