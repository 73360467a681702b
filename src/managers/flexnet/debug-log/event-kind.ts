import type { LicenseEventKind } from "./event.ts";

/** The event that a message begins with; null when it is something else. */
export function kindAt(text: string, from: number): LicenseEventKind | null {
  switch (text.charCodeAt(from)) {
    case 0x49:
      return text.startsWith("IN: ", from) ? "IN" : null;
    case 0x4f:
      return text.startsWith("OUT: ", from) ? "OUT" : null;
    case 0x44:
      if (text.startsWith("DENIED: ", from)) return "DENIED";
      return text.startsWith("DEQUEUED: ", from) ? "DEQUEUED" : null;
    case 0x51:
      return text.startsWith("QUEUED: ", from) ? "QUEUED" : null;
    case 0x55:
      if (text.startsWith("UNSUPPORTED: ", from)) return "UNSUPPORTED";
      return text.startsWith("UPGRADE: ", from) ? "UPGRADE" : null;
    case 0x45:
      return text.startsWith("EXPIRED: ", from) ? "EXPIRED" : null;
    default:
      return null;
  }
}
