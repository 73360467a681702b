import type { FakeTool } from "../manager.ts";
import { renderRms } from "./render.ts";

const USAGE = "Use lsmon <hostname> or set the LSHOST environment variable.\n";

/**
 * `lsmon HOST` of Sentinel RMS 9.x on Windows ("System Administrator Guide", lsmon). Intervals are not supported.
 */
export const fakeLsmon: FakeTool = {
  answer(args, _stdin, { members, address, zone, reading }) {
    const [host, ...more] = args[0] === "lsmon" ? args.slice(1) : args;
    if (host === undefined || more.length > 0 || host.startsWith("-"))
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    // The server answers to any name.
    const whole = reading(members.map(({ port }) => ({ host, port })));
    const stdout = renderRms(whole, { address: members.length === 0 ? address : host, zone });
    return { stdout, stderr: "", exitCode: whole.errors.length === 0 ? 0 : 1 };
  },
};
