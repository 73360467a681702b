import { createNotifier, type NotifierSettings } from "../../alerts/notifier.ts";
import type { Note } from "../../alerts/notify/note.ts";
import type { SettingsOf } from "../../alerts/settings.ts";
import { type AlertChange, isAtLeast, type Severity } from "../../domain/alerts.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { type Clock, MINUTE_MS } from "../../domain/time/clock.ts";
import type { Sql } from "../database/connect.ts";
import type { Directory } from "../lists/directory.ts";
import { wholePictures } from "../lists/servers.ts";
import { type AlertAtHubRow, alertOf } from "./stored-alerts.ts";

/** Maximum number of alerts per turn; the rest follow in the next turns. */
const MAX_ALERTS = 1_000;
/** Maximum number of servers per turn whose pictures are read to name holders of seats. */
const MAX_PICTURES = 20;

export interface NoteSettings extends NotifierSettings {
  readonly settingsOf: SettingsOf;
}

interface NotesDeps {
  readonly directory: Pick<Directory, "snapshot" | "isSilent">;
  readonly settings: () => NoteSettings;
  readonly nextId: () => number;
  readonly clock: Clock;
}

/**
 * Decides which notifications to send: for the hub's own alerts, and for alerts of sites with `[fleet]
 * notify = "hub"`. The columns `noted` and `told` record which notifications were sent, so that no hub
 * sends one twice. A site that was cut off from the hub has sent its own notifications up to `told_until`.
 */
export function createNotes({ directory, settings, nextId, clock }: NotesDeps) {
  let shown: Snapshot = { version: 0, servers: [] };
  const notifier = createNotifier(settings, () => shown, nextId, clock.now);
  let remindedAt = 0;

  /**
   * Reads the pictures of servers with alerts. Features are read only for firing alerts whose message names
   * holders.
   */
  async function readPictures(tx: Sql, rows: readonly AlertAtHubRow[]): Promise<void> {
    const { version, servers } = directory.snapshot();
    const about = new Set(
      rows.flatMap((row) =>
        row.feature === null || row.resolved_at !== null ? [] : (alertOf(row).server ?? []),
      ),
    );
    const wanted = servers.filter(({ server }) => about.has(server.id)).slice(0, MAX_PICTURES);
    const whole = new Map<string, ServerPicture>();
    if (wanted.length > 0)
      for (const each of await wholePictures(tx, wanted, directory.isSilent)) whole.set(each.server.id, each);
    shown = { version, servers: servers.map((each) => whole.get(each.server.id) ?? each) };
  }

  async function look(tx: Sql): Promise<readonly Note[]> {
    const notes: Note[] = [];
    const changed: AlertAtHubRow[] = await tx.unsafe(`${OF_HUB} AND (
      a.resolved_at IS NOT NULL OR a.noted IS DISTINCT FROM ${MARK}) ORDER BY a.id LIMIT ${MAX_ALERTS}`);
    await readPictures(tx, changed);
    for (const row of changed) {
      const change = changeOf(row);
      const { alert, notes: own } = notifier.onChange(alertOf(row), change);
      await tx.unsafe(
        `UPDATE alerts a SET told = $2, noted = CASE WHEN $3 THEN 'over' ELSE ${MARK} END WHERE id = $1`,
        [row.id, JSON.stringify(alert.told), change === "resolved"],
      );
      notes.push(...own);
    }
    const now = clock.now();
    if (Math.abs(now - remindedAt) >= MINUTE_MS) {
      notes.push(...(await remind(tx)));
      remindedAt = now;
    }
    await write(tx, notes);
    return notes;
  }

  async function remind(tx: Sql): Promise<readonly Note[]> {
    const rows: AlertAtHubRow[] = await tx.unsafe(
      `${OF_HUB} AND a.resolved_at IS NULL AND a.noted IS NOT NULL ORDER BY a.id`,
    );
    const told = rows.flatMap((row) => {
      const alert = alertOf(row);
      const { reminderMs } = settings().settingsOf(alert.server, alert.daemon, alert.feature);
      const reminded = notifier.onTime(alert, reminderMs);
      return reminded.notes.length === 0 ? [] : [reminded];
    });
    for (const { alert } of told)
      await tx`UPDATE alerts SET told = ${JSON.stringify(alert.told)} WHERE id = ${alert.id}`;
    return told.flatMap(({ notes }) => notes);
  }

  return { look };
}

/** Value that changes whenever an alert has news. For `totals_changed`, each new total is news. */
const MARK = "a.severity || CASE a.rule WHEN 'totals_changed' THEN coalesce(' ' || a.value, '') ELSE '' END";

/**
 * Selects alerts that may have news and about which the hub notifies. Must match the index
 * `alerts_to_tell`.
 */
const OF_HUB = `
  SELECT a.* FROM alerts a JOIN sites s ON s.site = a.site
  WHERE (a.resolved_at IS NULL OR (a.noted IS NOT NULL AND a.noted <> 'over'))
    AND (a.site_id IS NULL OR (s.info::json ->> 'notify' = 'hub' AND a.fired_at > coalesce(s.told_until, 0)))`;

function changeOf({ resolved_at, noted, severity, rule }: AlertAtHubRow): AlertChange {
  if (resolved_at !== null) return "resolved";
  if (noted === null) return "fired";
  const [before = severity] = noted.split(" ");
  if (before === severity) return rule === "totals_changed" ? "raised" : "lowered";
  return isAtLeast(severity, before as Severity) ? "raised" : "lowered";
}

async function write(tx: Sql, notes: readonly Note[]): Promise<void> {
  if (notes.length === 0) return;
  const rows = JSON.stringify(notes.map((note) => ({ ...note, alert: JSON.stringify(note.alert) })));
  await tx`
    INSERT INTO notifications (id, target, kind, at, alert)
    SELECT id, target, kind, at, alert
    FROM json_to_recordset(${rows}::text::json) AS r(id bigint, target text, kind text, at bigint, alert text)`;
}
