import { featureKey } from "../domain/history.ts";
import type { FeaturePicture, ServerPicture, Snapshot } from "../domain/picture.ts";
import { createAlerts } from "../store/alerts.ts";
import { createMarks } from "../store/events.ts";
import type { Store } from "../store/open/open.ts";
import { alertRow } from "./days.ts";
import { COVERAGE_ROW, coverageRow, STATUS_ROW, type StoredCoverage } from "./facts.ts";
import type { People } from "./people.ts";
import type { FeatureState, State, StatusRow } from "./protocol.ts";

type SiteState = Omit<Extract<State, { kind: "site" }>, "kind">;
type Known = Extract<State, { kind: "known" }>;

interface Shown {
  /** The sent picture; null until all parts of the picture have been sent. */
  readonly picture: ServerPicture | null;
  readonly number: number;
  readonly features: ReadonlyMap<string, FeatureState>;
  readonly order: string;
}

interface StatesDeps {
  readonly store: Store;
  readonly snapshot: () => Snapshot;
  readonly people: People;
  readonly site: () => SiteState;
  readonly now: () => number;
}

export interface TakenStates {
  readonly texts: readonly string[];
  readonly more: boolean;
  readonly acknowledged: () => void;
}

interface StoredSpan {
  readonly server: string;
  readonly from: number;
  readonly to: number | null;
  readonly counted: number;
  readonly byFeature: number;
}

const PART_CHARS = 1_000_000;

export type States = ReturnType<typeof createStates>;

/** Tracks which of the newest states the hub lacks. A new process sends everything. */
export function createStates({ store, snapshot, people, site, now }: StatesDeps) {
  const shown = new Map<string, Shown>();
  const told = new Map<string, string>();
  const alerts = createAlerts(store);
  const marks = createMarks(store);
  const { sqlite, read } = store;
  /** Number of the last picture. A picture that is rebuilt after a lost answer needs a new number. */
  let made = 0;
  const coverage = sqlite.query<StoredCoverage, [string]>(
    `SELECT ${COVERAGE_ROW} FROM coverage WHERE server_id = ? ORDER BY from_at DESC LIMIT 1`,
  );
  const status = sqlite.query<StatusRow, [string]>(
    `SELECT ${STATUS_ROW} FROM server_statuses WHERE server_id = ? ORDER BY from_at DESC LIMIT 1`,
  );
  const spans = sqlite.query<StoredSpan, []>(
    `SELECT server_id AS server, from_at AS "from", to_at AS "to", json_extract(cursor, '$.kind') IS 'counters' AS counted,
       json_extract(cursor, '$.byFeature') IS TRUE AS byFeature
     FROM denial_spans LEFT JOIN denial_cursors USING (server_id) ORDER BY server_id, from_at`,
  );

  function pictureState(picture: ServerPicture): { readonly text: string; readonly shown: Shown } {
    const { id } = picture.server;
    const before = shown.get(id);
    const features = new Map(before?.features);
    const changed: FeaturePicture[] = [];
    const now = new Map(picture.features.map((each) => [featureKey(each.daemon, each.name), each]));
    let chars = 0;
    let more = false;
    for (const [key, feature] of now) {
      const timeless = withoutTime(feature, picture);
      if (Bun.deepEquals(features.get(key), timeless)) continue;
      if (chars > PART_CHARS) {
        more = true;
        break;
      }
      // Upper bound of the feature's size: removing private data only makes the feature shorter.
      chars += 1_000 + 250 * feature.checkouts.length;
      changed.push(feature);
      features.set(key, timeless);
    }
    const gone: [string, string][] = [];
    for (const [key, { daemon, name }] of before?.features ?? []) {
      if (now.has(key)) continue;
      gone.push([daemon, name]);
      features.delete(key);
    }
    const keys = picture.features.map(({ daemon, name }): [string, string] => [daemon, name]);
    const order = more ? "" : [...now.keys()].join("\0");
    const number = ++made;
    const { features: sent, ...head } = people.picture({ ...picture, features: changed });
    const state: Extract<State, { kind: "picture" }> = {
      kind: "picture",
      server: id,
      from: before?.number ?? null,
      to: number,
      head,
      features: sent.map((feature) => withoutTime(feature, picture)),
      gone,
      order: more || order === before?.order ? null : keys,
      more,
    };
    return {
      text: JSON.stringify(state),
      shown: { picture: more ? null : picture, number, features, order },
    };
  }

  function siteState(): State {
    return { kind: "site", ...site() };
  }

  function alertsState(): State {
    return { kind: "alerts", firing: alerts.firing().map((alert) => alertRow(alert, people)) };
  }

  function knownState(servers: readonly string[], tell: (about: string, text: string) => boolean): Known {
    const news = <Row>(about: string, row: Row | null) =>
      row !== null && tell(about, JSON.stringify(row)) ? [row] : [];
    const all = read(() => spans.all()).map((span) => {
      return { ...span, counted: span.counted === 1, byFeature: span.byFeature === 1 };
    });
    return {
      kind: "known",
      at: now(),
      coverage: servers.flatMap((server) => {
        const row = read(() => coverage.get(server));
        return news(`coverage ${server}`, row && coverageRow(row));
      }),
      statuses: servers.flatMap((server) =>
        news(
          `status ${server}`,
          read(() => status.get(server)),
        ),
      ),
      denialSpans: tell("spans", JSON.stringify(all)) ? all : null,
      sessionsFrom: marks.get("deleted_sessions"),
    };
  }

  return {
    /**
     * Takes states up to this many characters, but at least one state. `isAll`: no facts and no days are
     * waiting.
     */
    take(chars: number, isAll: boolean): TakenStates {
      const texts: string[] = [];
      const nextTold = new Map<string, string>();
      const nextShown = new Map<string, Shown>();
      let left = chars;
      let more = false;
      const tell = (about: string, text: string) => {
        if (told.get(about) === text) return false;
        nextTold.set(about, text);
        return true;
      };
      const add = (text: string) => {
        texts.push(text);
        left -= text.length;
      };
      for (const state of [siteState(), alertsState()]) {
        const text = JSON.stringify(state);
        if (tell(state.kind, text)) add(text);
      }
      const { servers } = snapshot();
      for (const picture of servers) {
        const { id } = picture.server;
        if (shown.get(id)?.picture === picture) continue;
        if (left <= 0) {
          more = true;
          break;
        }
        const next = pictureState(picture);
        add(next.text);
        nextShown.set(id, next.shown);
        more ||= next.shown.picture === null;
      }
      const ids = servers.map(({ server }) => server.id);
      if (isAll) add(JSON.stringify(knownState(ids, tell)));
      return {
        texts,
        more,
        acknowledged() {
          for (const [about, text] of nextTold) told.set(about, text);
          for (const [id, each] of nextShown) shown.set(id, each);
          for (const id of shown.keys()) if (!ids.includes(id)) shown.delete(id);
        },
      };
    },
    /** Makes the next picture of a server complete. */
    forget: (server: string): void => void shown.delete(server),
    forgetAll(): void {
      shown.clear();
      told.clear();
    },
  };
}

/** Omits the time of the last good reading, which would change every feature at every poll. */
function withoutTime(feature: FeaturePicture, { collectedAt }: ServerPicture): FeatureState {
  const { collectedAt: own, ...rest } = feature;
  return own === collectedAt ? rest : { ...rest, collectedAt: own };
}
