import type { FakeTool } from "../manager.ts";
import { renderLmx } from "./render.ts";
import { DEFAULT_PORT, nameOf } from "./step-name.ts";

const USAGE = "usage: lmxendutil -licstat -host <host> [-port <port>]\n";

/** `lmxendutil -licstat` ("LM-X End-user utility"), which queries one server. */
export const fakeLmxendutil: FakeTool = {
  answer(args, _stdin, { members, address, zone, reading }) {
    const [command, ...options] = args[0] === "lmxendutil" ? args.slice(1) : args;
    const optionOf = (name: string) => {
      const at = options.indexOf(name);
      return at === -1 ? undefined : options[at + 1];
    };
    const host = optionOf("-host");
    const port = Number(optionOf("-port") ?? DEFAULT_PORT);
    if (command !== "-licstat" || host === undefined || !Number.isInteger(port))
      return { stdout: "", stderr: USAGE, exitCode: 1 };

    // A single server answers to any name.
    const isOne = members.length === 1;
    const whole = reading(isOne ? [{ host, port }] : members);
    const silent = { host, port, status: "down", master: false, version: null, error: null } as const;
    const asked = whole.members.find((member) => nameOf(member) === nameOf({ host, port })) ?? silent;
    const said = { ...whole, members: asked === silent && whole.errors.length > 0 ? [] : [asked] };
    return {
      stdout: renderLmx(said, { address, zone }),
      stderr: "",
      exitCode: asked.status === "up" ? 0 : 1,
    };
  },
};
