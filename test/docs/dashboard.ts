import { join } from "node:path";

export const DOCS = join(import.meta.dir, "../../docs");

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}

export async function readDashboard(): Promise<Dashboard> {
  return (await Bun.file(join(DOCS, "prometheus/grafana-dashboard.json")).json()) as Dashboard;
}

/** Returns all queries of the dashboard, with Grafana's variables replaced by "All" and five minutes. */
export function expressionsOf({ panels, templating }: Dashboard): string[] {
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const variables = templating.list.flatMap(({ definition }) => {
    const found = /^label_values\((.*), \w+\)$/.exec(definition ?? "");
    return found?.[1] === undefined ? [] : [found[1]];
  });
  return [...queries, ...variables].map((expr) =>
    expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\{?\w+\}?/g, ".*"),
  );
}
