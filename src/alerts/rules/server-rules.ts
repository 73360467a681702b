import { daemonDownMessage } from "../../domain/alerts.ts";
import { worstOfEach } from "../../domain/server-status.ts";
import type { PictureRule } from "./rule.ts";
import { THE_SERVER } from "./rule.ts";

/** Nobody answers, or no daemon works. A server of which nothing is known is neither down nor up. */
export const serverDown: PictureRule = ({ server, status, error }, _context, see) => {
  if (status === "unknown") return;
  see(THE_SERVER, status === "down" ? 1 : 0, () => ({
    severity: "critical",
    message: `${server.id} is down${reason(error?.message)}`,
    value: null,
    threshold: null,
  }));
};

/** Some members or daemons work, others do not. While the server is down this is not known any better. */
export const serverDegraded: PictureRule = ({ server, status, members, daemons, error }, _context, see) => {
  if (status !== "up" && status !== "degraded") return;
  see(THE_SERVER, status === "degraded" ? 1 : 0, () => {
    const lost = [...members.map(({ host, status }) => ({ name: host, status })), ...daemons]
      .filter((part) => part.status === "down")
      .map(({ name }) => name);
    return {
      severity: "warning",
      message: `${server.id} is degraded${lost.length === 0 ? reason(error?.message) : `: ${lost.join(", ")} down`}`,
      value: null,
      threshold: null,
    };
  });
};

export const daemonDown: PictureRule = ({ server, daemons }, _context, see) => {
  for (const { name, status, error } of worstOfEach(daemons)) {
    if (status === "unknown") continue;
    see({ daemon: name, feature: null, detail: null }, status === "down" ? 1 : 0, () => ({
      severity: "critical",
      message: `${daemonDownMessage(server.id, name)}${reason(error?.message)}`,
      value: null,
      threshold: null,
    }));
  }
};

/** Polls that yield nothing although nobody says that the server is down: a tool that is missing, words unknown. */
export const stale: PictureRule = ({ server, state, status, error, collectedAt }, _context, see) => {
  if (status === "down") return;
  const well = state === "ok" || state === "partial";
  see(THE_SERVER, well ? 0 : 1, () => ({
    severity: "warning",
    message:
      collectedAt === null
        ? `${server.id} could never be read${reason(error?.message)}`
        : `The numbers of ${server.id} are stale${reason(error?.message)}`,
    value: null,
    threshold: null,
  }));
};

function reason(message: string | undefined): string {
  return message === undefined ? "" : `: ${message}`;
}
