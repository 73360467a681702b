import type { LogEvent } from "../domain/events.ts";

/** What of a log line is searched for words: its message and the values of its metadata, a line each. */
export function searchedText({ message, metadata }: Pick<LogEvent, "message" | "metadata">): string {
  return [message, ...Object.values(metadata).filter(isText).map(String)].join("\n");
}

function isText(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}
