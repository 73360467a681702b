import type { Machine, Running } from "./machine.ts";
import { PORT } from "./service.ts";

export interface StreamEvent {
  readonly id: number;
  readonly name: string;
  // Fields depend on the event's name.
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Stream extends AsyncDisposable {
  readonly running: Running;
  /** What has come so far. */
  events(): StreamEvent[];
}

/** An event stream read by curl within the machine. `after` resumes after that event. */
export function openStream(machine: Machine, key: string, query = "", after?: number): Stream {
  const resume = after === undefined ? "" : `-H 'Last-Event-ID: ${after}'`;
  const url = `http://127.0.0.1:${PORT}/stream/combined?interval=3600000${query}`;
  const running = machine.start(`curl -sN -H 'X-API-Key: ${key}' ${resume} '${url}'`);
  return {
    running,
    events: () => eventsOf(running.output()),
    [Symbol.asyncDispose]: running[Symbol.asyncDispose],
  };
}

/** Whole events only: what follows the last empty line is still on its way. */
function eventsOf(text: string): StreamEvent[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const [id, name, data] = [field("id"), field("event"), field("data")];
      if (id === undefined || name === undefined || data === undefined) return [];
      return [{ id: Number(id), name, data: JSON.parse(data) as StreamEvent["data"] }];
    });
}
