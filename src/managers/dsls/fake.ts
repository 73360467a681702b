import type { FakeAnswer, FakeServer, FakeTool } from "../manager.ts";
import { render } from "./render.ts";

const USAGE = `Usage: DSLicSrv -admin [-run "command; command; ..."]
`;

/**
 * DSLicSrv with the commands that licmond uses: `connect`, `getLicenseUsage -csv` and `quit`, after `-run` or on
 * stdin.
 */
export const fakeDslicsrv: FakeTool = {
  readsStdin: (args) => !args.some((arg) => arg === "-run" || arg === "-r"),
  answer(args, stdin, server) {
    const [mode, run, given] = args;
    const isRun = run === "-run" || run === "-r";
    if (mode !== "-admin" || (run !== undefined && (!isRun || given === undefined)))
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    const commands = (isRun ? (given ?? "").split(";") : stdin.split("\n")).map((command) => command.trim());
    const [connect = "", ...others] = commands.filter((command) => command !== "");
    const [, host, port] = /^(?:c|connect) (\S+) (\d{1,5})(?: -restricted)?$/.exec(connect) ?? [];
    if (host === undefined || port === undefined)
      return { stdout: `${banner(server)}Invalid command: ${connect}\n`, stderr: "", exitCode: 1 };
    const wantsUsage = others.some((command) => command === "getLicenseUsage -csv");
    return answerOf(server, host, Number(port), isRun, wantsUsage);
  },
};

function banner({ version }: FakeServer): string {
  return `License Administration Tool Version ${version} Built on May 2, 2023, 6:45:36 PM.\n`;
}

function answerOf(
  server: FakeServer,
  host: string,
  port: number,
  isRun: boolean,
  wantsUsage: boolean,
): FakeAnswer {
  // A single server answers to any name; members of a cluster only to their own.
  const index = server.members.length === 1 ? 0 : server.members.findIndex((one) => one.host === host);
  const named = server.members.map((one, at) => (at === index ? { ...one, host, port } : one));
  const reading = server.reading(named);
  const member = reading.members[index];
  if (member === undefined || member.status !== "up") {
    const stdout = `${banner(server)}Cannot connect to server ${host} on port ${port}\n`;
    return { stdout, stderr: "", exitCode: 1 };
  }
  const options = { address: `${port}@${host}`, zone: server.zone };
  const text = render({ ...reading, members: [member], toolVersion: server.version }, options);
  const end = wantsUsage ? text.length : text.indexOf("admin >getLicenseUsage");
  const printed = text.slice(0, end);
  // Commands from stdin are not echoed: the prompt precedes the answer.
  const stdout = isRun ? printed : printed.replace(/^(admin >)(?:connect|getLicenseUsage|quit).*\n/gm, "$1");
  return { stdout, stderr: "", exitCode: 0 };
}
