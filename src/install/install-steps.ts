import { binaryStep, type NewBinary } from "./binary-step.ts";
import { daemonReloadStep, startSteps, tmpfilesStep, userStep } from "./command-steps.ts";
import { configStep } from "./config-step.ts";
import { directoryStep } from "./directory-step.ts";
import type { Host } from "./host.ts";
import { LAYOUT } from "./layout.ts";
import type { Step } from "./step.ts";
import { textStep } from "./text-step.ts";
import { SYSUSERS, TMPFILES, UNIT } from "./texts.ts";

export interface InstallWanted {
  readonly binary: NewBinary;
  /** The config to write where there is none. */
  readonly configText: string;
  /** Binary and config alone. */
  readonly withoutSystemd: boolean;
  /** Start the service, now and at every boot. */
  readonly start: boolean;
  /** Whether the host has a program. */
  readonly has: (program: string) => boolean;
}

/** Everything that `licmond install` does, in order. */
export function installSteps(host: Host, wanted: InstallWanted): Step[] {
  const { binary, configText, withoutSystemd, start, has } = wanted;
  const owner = host.uid === 0 ? { uid: 0, gid: 0 } : null;
  const text = { mode: 0o644, owner };
  const program = binaryStep(host, binary, { mode: 0o755, owner });
  if (withoutSystemd)
    return [program, configStep(host, { text: configText, mode: 0o644, owner: "root:root" })];
  const onHost = (...steps: Step[]) => (host.root === null ? steps : []);
  return [
    program,
    textStep(host, SYSUSERS, binary.version, text),
    textStep(host, TMPFILES, binary.version, text),
    textStep(host, UNIT, binary.version, text),
    ...onHost(userStep(host, has)),
    directoryStep(host, { path: LAYOUT.configDirectory, mode: 0o750, owner: "root:licmond", whole: false }),
    configStep(host, { text: configText, mode: 0o640, owner: "root:licmond" }),
    directoryStep(host, { path: LAYOUT.data, mode: 0o700, owner: "licmond:licmond", whole: true }),
    ...onHost(...(has("systemd-tmpfiles") ? [tmpfilesStep(host)] : []), daemonReloadStep(host)),
    ...(start ? onHost(...startSteps(host)) : []),
  ];
}
