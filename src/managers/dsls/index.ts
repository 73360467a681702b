import type { ToolError } from "../../domain/reading.ts";
import { majorityOfThree, parseGroup } from "../addresses.ts";
import type { AddressProblem, CommandStep, Manager, ParsedAddress } from "../manager.ts";
import { createDslsParser, TEXT_FORM } from "./parser.ts";
import { render } from "./render.ts";
import { simulatedDslicsrv } from "./simulated-tool.ts";

/** Default port: the administration port (DS License Server Installation Guide, "Port Management"). */
const DEFAULT_PORT = 4084;
function parseAddress(address: string): ParsedAddress | AddressProblem {
  return parseGroup(address, {
    title: "a DSLS",
    examples: "4084@lic1, lic1 (port 4084) or the three servers of a failover cluster, lic1,lic2,lic3",
    defaultPort: DEFAULT_PORT,
    separator: ",",
    group: "a failover cluster",
  });
}

/** Without `-restricted`, a monitor would turn the administrator's own session into a restricted one. */
const connect = (host: string, port: number | string) => `connect ${host} ${port} -restricted`;
const USAGE = "getLicenseUsage -csv";

/** Forces English words and dates. The encoding must be set, because with LC_ALL=C Java prints other letters as `?`. */
const ENV = {
  LANG: "C",
  JAVA_TOOL_OPTIONS: "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8",
};

/**
 * Returns the step that queries a server. A password must not appear in argv, so it is sent on stdin after
 * `connect`, which prompts for a password.
 */
function stepTo(tool: readonly string[], host: string, port: number, hasSecret: boolean): CommandStep {
  const name = `${port}@${host}`;
  if (hasSecret) {
    const stdin = [connect(host, port), "{secret}", USAGE, "quit", ""].join("\n");
    return { name, argv: [...tool, "-admin"], env: ENV, stdin };
  }
  return {
    name,
    argv: [...tool, "-admin", "-run", [connect(host, port), USAGE, "quit"].join("; ")],
    env: ENV,
  };
}

function explain({ message }: ToolError): string | null {
  if (TEXT_FORM.test(message)) return `printed its usage as text; licmond requires \`${USAGE}\`.`;
  if (message === "Ready: no") return "is not ready: a failover cluster needs two running servers.";
  if (/password/i.test(message)) return "is protected by a password: set `secret_file`.";
  return null;
}

export const dsls: Manager = {
  name: "dsls",
  title: "DSLS",
  tools: ["DSLicSrv"],
  parseAddress,
  steps(tool, address, hasSecret = false) {
    const parsed = parseAddress(address);
    const members = "problem" in parsed ? [] : parsed.members;
    return members.map(({ host, port }) => stepTo(tool, host, port ?? DEFAULT_PORT, hasSecret));
  },
  /** One answer is enough, because all servers of a cluster know the same licenses. */
  until: "first answer",
  /** Only `status`: recycling a named user's license and restarting the server require full access. */
  commands: {
    status: {
      utility: "DSLicSrv",
      forms: [{ argv: ["-admin", "-run", `${connect("{server_host}", "{server_port}")}; ${USAGE}; quit`] }],
    },
  },
  utility: (tool) => tool,
  createParser: createDslsParser,
  explain,
  quorum: majorityOfThree,
  debugLog: null,
  render,
  simulatedTool: simulatedDslicsrv,
};
