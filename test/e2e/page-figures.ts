import type { Page } from "playwright-core";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import type { Unit } from "../../src/domain/words.ts";
import { duration } from "../../src/page/format.ts";
import { unlessSeats } from "../../src/page/words.ts";
import type { Daemon } from "./harness.ts";
import { leads } from "./page-rig.ts";

/** Tall enough to show all rows of every list. */
const VIEWPORT = { width: 1440, height: 12_000 };

/** A dash on screen, words for screen readers. */
export const UNKNOWN = "– not known";

/** Formats a number as the page does. */
export const n = (value: number | null) => (value === null ? UNKNOWN : value.toLocaleString("en-GB"));
export const percent = (value: number | null) => (value === null ? UNKNOWN : `${n(Math.floor(value))} %`);
export const time = (seconds: number | null) => (seconds === null ? UNKNOWN : duration(1000 * seconds));
export const plural = (count: number, word: string) => `${n(count)} ${word}${count === 1 ? "" : "s"}`;
export const sum = (values: readonly (number | null)[]) =>
  values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** Formats a feature with its unit, server and daemon as a table cell does. */
export const named = (row: { feature: string | null; unit?: Unit; server: string; daemon: string }) =>
  `${row.feature}${unlessSeats(row.unit ?? "seats")} ${row.server} ${row.daemon}`.trim();

/** Sums expiring seats: tokens and credits do not count, and a seat group counts once. */
export function seatsLost(of: readonly ExpirationRecord[]): number {
  const sets = Map.groupBy(
    of.filter(({ unit }) => unit === "seats"),
    (row) => (row.seatGroup === null ? row : `${row.server} ${row.seatGroup}`),
  );
  return sum([...sets.values()].map((rows) => Math.max(...rows.map(({ total }) => total ?? 0))));
}

export type Figures = Awaited<ReturnType<typeof readFigures>>;

/** Reads figures from a page and requests the same from the API. */
export async function readFigures(page: Page, demo: Daemon & { readonly key: string }) {
  await page.setViewportSize(VIEWPORT);
  const lead = leads(page);
  /** The API's last answers to the page, by path. */
  const answered = new Map<string, Promise<unknown>>();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/api/"))
      answered.set(
        pathname,
        response.json().catch(() => null),
      );
  });

  const ask = <T>(path: string) => demo.json<T>(`/api/licenses/${path}`, demo.key);
  const heardOf = async <T>(path: string) => (await answered.get(`/api/licenses/${path}`)) as T;
  const show = async (path: string) => {
    await lead(`${demo.url}/${path}`);
    const more = page.getByRole("button", { name: /^Show \d+ more/ });
    while ((await more.count()) > 0) await more.first().click();
  };
  const texts = (selector: string) =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText.replace(/\\s+/g, " ").trim())`,
    );
  /** Returns the rows of the named table, by column header. */
  const rows = (label: string) =>
    page.evaluate<Record<string, string>[]>(`{
      const table = document.querySelector('[aria-label=${JSON.stringify(label)}]:is(table, [role=table])');
      const lines = [...table.querySelectorAll("tr, [role=row]")].map((line) =>
        [...line.children].map((cell) => cell.innerText.replace(/\\s+/g, " ").trim()));
      lines.slice(1).map((line) => Object.fromEntries(line.map((text, at) => [lines[0][at], text])));
    }`);
  /** Returns the list below a heading. */
  const listed = async (heading: string) =>
    page
      .locator("section", { has: page.getByRole("heading", { name: heading, exact: true }) })
      .locator("li")
      .allInnerTexts()
      .then((all) => all.map((text) => text.replaceAll(/\s+/g, " ").trim()));

  return { ask, heardOf, show, texts, rows, listed };
}

export const pick = (from: readonly Record<string, string>[], ...columns: string[]) =>
  from.map((row) => columns.map((column) => row[column]));
