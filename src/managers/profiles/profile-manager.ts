import type { HttpQuestion, Manager, RequestStep, Step } from "../manager.ts";
import type { Profile } from "../profile.ts";
import type { SimulatedTool } from "../simulated-tool.ts";
import { fillIn, parseProfileAddress, templatesOf } from "./addresses.ts";
import { simulatedLstcQrun } from "./lstc-qrun.ts";
import { parseJson, textAt } from "./paths.ts";

const SIMULATED_TOOLS: Readonly<Record<string, SimulatedTool>> = { lsdyna: simulatedLstcQrun };

/** Creates the manager that a profile describes. It has no commands and no debug log. */
export function profileManager(profile: Profile): Manager {
  const { name, title = name, argv, env = {}, stdin, stream } = profile;
  const isPerHost = templatesOf(profile).some(({ text }) => /\{(?:host|port)\}/.test(text));

  function commandStep(step: string, tool: readonly string[], values: Values): Step {
    return {
      name: step,
      argv: [...tool, ...(argv ?? []).slice(1).map((word) => fillIn(word, values))],
      env: filled(env, values),
      ...(stdin !== undefined && { stdin: fillIn(stdin, values) }),
      ...(stream !== undefined && { stream }),
    };
  }

  return {
    name,
    title,
    profile,
    ...(profile.experimental === true && { experimental: true }),
    tools: argv?.slice(0, 1) ?? [],
    parseAddress: (address) => parseProfileAddress(profile, address),
    until: "first answer",
    steps(tool, address) {
      const parsed = parseProfileAddress(profile, address);
      const members = "problem" in parsed ? [] : parsed.members;
      const whole = { step: members.length === 1 ? nameOf(members[0]) : address, values: { address } };
      const each = members.map((member) => {
        const port = member.port === null ? "" : String(member.port);
        return { step: nameOf(member), values: { address: nameOf(member), host: member.host, port } };
      });
      return (isPerHost ? each : [whole]).map(({ step, values }) =>
        profile.http === undefined ? commandStep(step, tool, values) : requestStep(profile, step, values),
      );
    },
    commands: {},
    utility: (tool) => tool,
    createParser: () => {
      throw new Error(`answers of the profile ${name} are parsed in a worker`);
    },
    explain: () => null,
    quorum: () => 1,
    debugLog: null,
    render: () => {
      throw new Error(`the profile ${name} has no simulated tool`);
    },
    simulatedTool: SIMULATED_TOOLS[name] ?? null,
  };
}

type Values = Readonly<Record<string, string>>;

function nameOf(member: { readonly host: string; readonly port: number | null } | undefined): string {
  if (member === undefined) return "";
  return member.port === null ? member.host : `${member.port}@${member.host}`;
}

function filled(texts: Values | undefined, values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([key, text]) => [key, fillIn(text, values)]));
}

function requestStep({ http, login }: Profile, name: string, values: Values): RequestStep {
  const question = (method: HttpQuestion["method"], of: NonNullable<Profile["http"]>): HttpQuestion => ({
    method,
    url: fillIn(of.url, values),
    ...(of.query !== undefined && { query: filled(of.query, values) }),
    ...(of.headers !== undefined && { headers: filled(of.headers, values) }),
  });
  const request = question("GET", http ?? { url: "" });
  if (login === undefined) return { name, request };
  return {
    name,
    request,
    login: {
      ...question("POST", login),
      ...(login.body !== undefined && { body: fillIn(login.body, values) }),
      token(answer) {
        const parsed = parseJson(answer);
        return ("value" in parsed ? textAt(parsed.value, [login.token]) : undefined) ?? null;
      },
    },
  };
}
