import type { FeaturePicture } from "../../domain/picture.ts";
import type { Finding, PictureRule } from "./rule.ts";

/** Numbers that are stale, failed or partial neither fire an alert nor resolve one. */
function isRead({ state }: FeaturePicture): boolean {
  return state === "ok";
}

function about({ daemon, name }: FeaturePicture) {
  return { daemon, feature: name, detail: null };
}

/** Percent of the seats in use. What is unlimited has no percentage and is well. */
export const usage: PictureRule = ({ features }, { settingsOf }, see) => {
  for (const feature of features) {
    if (!isRead(feature)) continue;
    const { daemon, name, utilization } = feature;
    const { usageWarning, usageCritical } = settingsOf(daemon, name);
    const level = usageLevel(utilization, usageWarning, usageCritical);
    see(about(feature), level, (told) => usageFinding(feature, told, { usageWarning, usageCritical }));
  }
};

/** 0 well, 1 warning, 2 critical. */
export function usageLevel(utilization: number | null, warning: number, critical: number): 0 | 1 | 2 {
  if (utilization === null) return 0;
  return utilization >= critical ? 2 : utilization >= warning ? 1 : 0;
}

export function usageFinding(
  { name, utilization, used, total }: Pick<FeaturePicture, "name" | "utilization" | "used" | "total">,
  level: number,
  { usageWarning, usageCritical }: { readonly usageWarning: number; readonly usageCritical: number },
): Finding {
  return {
    severity: level === 2 ? "critical" : "warning",
    message: `${utilization} % of the seats of ${name} are in use (${used} of ${total})`,
    value: utilization,
    threshold: level === 2 ? usageCritical : usageWarning,
  };
}

/** The next one who asks is denied. */
export const seatsExhausted: PictureRule = ({ features }, _context, see) => {
  for (const feature of features) {
    if (!isRead(feature)) continue;
    const { name, used, total } = feature;
    const none = isExhausted(used, total);
    see(about(feature), none ? 1 : 0, () => ({
      severity: "warning",
      message:
        total === 1 ? `The only seat of ${name} is in use` : `All ${total} seats of ${name} are in use`,
      value: used,
      threshold: total,
    }));
  }
};

/** A feature without seats has none to exhaust. */
export function isExhausted(used: number | null, total: number | null): boolean {
  return used !== null && total !== null && total > 0 && used >= total;
}

export const queue: PictureRule = ({ features }, _context, see) => {
  for (const feature of features) {
    const { name, queued } = feature;
    if (!isRead(feature) || queued === null) continue;
    see(about(feature), queued > 0 ? 1 : 0, () => ({
      severity: "warning",
      message: `Requests for ${queued} ${queued === 1 ? "seat" : "seats"} of ${name} wait`,
      value: queued,
      threshold: 0,
    }));
  }
};
