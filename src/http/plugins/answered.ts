import { Elysia } from "elysia";

/** Something to do with an answer on its way out: its headers may still be changed. */
export type LastStep = (request: Request, response: Response) => void;

/**
 * Does these with every answer, in order, with its final status. It wraps the handler because Elysia's afterResponse
 * sees what a route returned, not what was sent (304 and errors differ). One wrap for all: Elysia makes each anew for
 * every request, and a second one cost 6 µs.
 */
export function answered(...steps: readonly LastStep[]) {
  const finish = (request: Request, result: unknown): unknown => {
    // A socket that was opened has no answer.
    if (result instanceof Response) for (const step of steps) step(request, result);
    return result;
  };
  return new Elysia({ name: "answered" }).wrap((handle) => (request: Request, ...rest: unknown[]) => {
    const result: unknown = (handle as (request: Request, ...rest: unknown[]) => unknown)(request, ...rest);
    if (result instanceof Promise) return result.then((response: unknown) => finish(request, response));
    return finish(request, result);
  });
}
