import { serviceAccount } from "./accounts.ts";
import { type Host, kindOf } from "./host.ts";
import { LAYOUT, SERVICE_NAME, UNIT_NAME } from "./layout.ts";
import { deleteTree, removeBeside, removeBinary, removeLink, removeText, staying } from "./remove-steps.ts";
import { must, SERVICE_TIMEOUT_MS, serviceState } from "./service.ts";
import type { Step } from "./step.ts";
import { SYSUSERS, TMPFILES, UNIT } from "./texts.ts";

export interface UninstallWanted {
  /** Config, data and user, too. */
  readonly purge: boolean;
  /** Also texts that were changed by hand. */
  readonly force: boolean;
  /** systemd runs on the host and can be asked. */
  readonly withSystemd: boolean;
  /** A storage directory of the config that is not the default one; it is never deleted. */
  readonly otherData: string | null;
}

/** By it the unit is enabled. */
const ENABLED_LINK = `/etc/systemd/system/multi-user.target.wants/${UNIT_NAME}`;
const DROP_INS = `${LAYOUT.unit}.d`;

/** Everything that `licmond uninstall` does, in order. */
export function uninstallSteps(host: Host, wanted: UninstallWanted): Step[] {
  const { purge, force, withSystemd, otherData } = wanted;
  // Below a root the same words for this host would delete this host's.
  const remove = (path: string) => `delete it: rm -r ${host.at(path)}`;
  return [
    ...(withSystemd ? [stopStep(host)] : [removeLink(host, ENABLED_LINK)]),
    ...[UNIT, SYSUSERS, TMPFILES].flatMap((text) => [
      removeText(host, text, force),
      removeBeside(host, text.path),
    ]),
    removeBinary(host, LAYOUT.binary),
    removeBinary(host, LAYOUT.previousBinary),
    ...(withSystemd ? [forgetStep(host)] : []),
    ...(purge
      ? [
          deleteTree(host, DROP_INS, "delete your drop-ins"),
          deleteTree(host, LAYOUT.configDirectory, "delete the config and its secrets"),
          deleteTree(host, LAYOUT.data, "delete the database, with its history and keys"),
          ...(host.root === null ? [deleteUserStep(host)] : []),
        ]
      : [
          staying(host, DROP_INS, "your drop-ins", remove(DROP_INS)),
          staying(host, LAYOUT.configDirectory, "the config", remove(LAYOUT.configDirectory)),
          staying(host, LAYOUT.data, "the database", remove(LAYOUT.data)),
          ...(host.root === null ? [userStaysStep(host)] : []),
        ]),
    ...(otherData === null ? [] : [staying(host, otherData, "the database", remove(otherData))]),
  ];
}

/** Stops the service and its start at boot. A package's unit of that name is not ours to stop. */
function stopStep(host: Host): Step {
  const argv = ["systemctl", "disable", "--now", UNIT_NAME];
  return {
    subject: argv.join(" "),
    async plan() {
      if (kindOf(host.at(LAYOUT.unit)) !== "file")
        return { kind: "nothing", why: `there is no ${LAYOUT.unit}` };
      const { isActive, isEnabled } = await serviceState(host.run);
      if (!isActive && !isEnabled) return { kind: "nothing", why: "it neither runs nor is enabled" };
      const what = isActive ? "stop it, now and at boot" : "start it no more at boot";
      return { kind: "do", what, apply: () => must(host.run, argv, SERVICE_TIMEOUT_MS) };
    },
  };
}

/** Lets systemd forget the unit, and that it ever failed. */
function forgetStep(host: Host): Step {
  return {
    subject: "systemctl daemon-reload",
    plan: (before) =>
      before.has(LAYOUT.unit)
        ? {
            kind: "do",
            what: "let systemd forget the unit",
            async apply() {
              await must(host.run, ["systemctl", "daemon-reload"]);
              // It fails when there is nothing to reset.
              await host.run(["systemctl", "reset-failed", UNIT_NAME]);
            },
          }
        : { kind: "nothing", why: "no unit was removed" },
  };
}

function deleteUserStep(host: Host): Step {
  return {
    subject: `userdel ${SERVICE_NAME}`,
    async plan() {
      if ((await serviceAccount(host)) === null) return { kind: "nothing", why: "there is no such user" };
      return {
        kind: "do",
        what: "delete the user and its group",
        async apply() {
          await must(host.run, ["userdel", SERVICE_NAME]);
          // userdel takes the group with it where login.defs says so.
          const { ok } = await host.run(["getent", "group", SERVICE_NAME]);
          if (ok) await must(host.run, ["groupdel", SERVICE_NAME]);
        },
      };
    },
  };
}

function userStaysStep(host: Host): Step {
  return {
    subject: `user ${SERVICE_NAME}`,
    async plan() {
      if ((await serviceAccount(host)) === null) return { kind: "nothing", why: "is not there" };
      return {
        kind: "keep",
        why: "stays: the data belongs to it",
        advice: `delete it: userdel ${SERVICE_NAME}`,
      };
    },
  };
}
