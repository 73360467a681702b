import type { ClockSkew } from "../../domain/clock-skew.ts";

/** What is wrong with a server's clock, read in the zone that is set for it, and what to do. */
export function clockWords(skew: ClockSkew, zone: string): [string, string] {
  const differs = `${duration(skew.ahead)} ${skew.ahead > 0 ? "ahead of" : "behind"}`;
  switch (skew.kind) {
    case "zone":
      return [
        `read in ${zone}, its clock is ${differs} this host's: \`timezone\` is not the server's zone`,
        `set the server's timezone to its own, one that is ${skew.utcOffset} now`,
      ];
    case "clock":
      return [
        `its clock is ${differs} this host's: start times are off by that`,
        "let both hosts keep time (chrony, systemd-timesyncd): `timedatectl` shows whether they do",
      ];
    case "future":
      return [
        `read in ${zone}, its latest checkout starts ${duration(skew.ahead)} from now`,
        "set the server's timezone to its own; if it is, let the server's host keep time (chrony, systemd-timesyncd)",
      ];
  }
}

/** `2 h 5 min` */
function duration(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const hours = Math.floor(minutes / 60);
  return [hours > 0 ? `${hours} h` : "", minutes % 60 > 0 || hours === 0 ? `${minutes % 60} min` : ""]
    .filter((part) => part !== "")
    .join(" ");
}
