import type { Page } from "playwright-core";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import type { Unit } from "../../src/domain/words.ts";
import type { Answers } from "../../src/page/api.ts";
import { duration, plural } from "../../src/page/format.ts";
import { unlessSeats } from "../../src/page/words.ts";
import type { Daemon } from "./harness.ts";
import { leads } from "./page-rig.ts";

/** Text of an unknown number: a dash on screen, and words for screen readers. */
export const UNKNOWN = "– not known";

/** Formats a number as the page does. */
export const n = (value: number | null | undefined) => value?.toLocaleString("en-GB") ?? UNKNOWN;
export const percent = (value: number | null) => (value === null ? UNKNOWN : `${n(Math.floor(value))} %`);
export const time = (seconds: number | null) => (seconds === null ? UNKNOWN : duration(1000 * seconds));
export const sum = (values: readonly (number | null)[]) =>
  values.reduce<number>((all, value) => all + (value ?? 0), 0);

/** Formats a feature with its unit, server and daemon as a table cell does. */
export const named = (row: { feature: string | null; unit?: Unit; server: string; daemon: string }) =>
  `${row.feature}${unlessSeats(row.unit ?? "seats")} ${row.server} ${row.daemon}`.trim();

/**
 * Describes expiring licenses by their features and seats. Tokens and credits are not seats, and a seat
 * group counts once.
 */
export function expiring(of: readonly ExpirationRecord[]): string {
  const features = new Set(of.map((row) => JSON.stringify([row.server, row.daemon, row.feature])));
  const sets = Map.groupBy(
    of.filter(({ unit }) => unit === "seats"),
    (row) => (row.seatGroup === null ? row : `${row.server} ${row.seatGroup}`),
  );
  const seats = sum([...sets.values()].map((rows) => Math.max(...rows.map(({ total }) => total ?? 0))));
  return `${plural(features.size, "feature")}, ${plural(seats, "seat")}`;
}

/** Opens pages, reads their figures, and requests the same figures from the API. */
export async function readFigures(page: Page, demo: Daemon & { readonly key: string }) {
  // Tall enough to show all rows of every list.
  await page.setViewportSize({ width: 1440, height: 12_000 });
  const lead = leads(page);
  /** The API's last answer to the page for each path. */
  const answered = new Map<string, Promise<unknown>>();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.startsWith("/api/"))
      answered.set(
        pathname,
        response.json().catch(() => null),
      );
  });
  return {
    ask: <P extends keyof Answers>(path: P, query = "limit=1000") =>
      demo.json<Answers[P]>(`${path}?${query}`, demo.key),
    heardOf: async <P extends keyof Answers>(path: P) => (await answered.get(path)) as Answers[P],
    async show(path: string) {
      await lead(`${demo.url}/${path}`);
      const more = page.getByRole("button", { name: /^Show \d+ more/ });
      while ((await more.count()) > 0) await more.first().click();
    },
    texts: (selector: string) =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText.replace(/\\s+/g, " ").trim())`,
      ),
    /** Returns the rows of the named table. With `columns`, the rows contain only these columns. */
    async rows(label: string, ...columns: string[]) {
      const [heads = [], ...lines] = await page.evaluate<string[][]>(`{
        const table = document.querySelector('[aria-label=${JSON.stringify(label)}]:is(table, [role=table])');
        [...table.querySelectorAll("tr, [role=row]")].map((line) =>
          [...line.children].map((cell) => cell.innerText.replace(/\\s+/g, " ").trim()));
      }`);
      const at = (columns.length === 0 ? heads : columns).map((column) => heads.indexOf(column));
      return lines.map((line) => at.map((index) => line[index] ?? ""));
    },
    /** Returns the list below a heading. */
    async listed(heading: string) {
      const section = page.locator("section", {
        has: page.getByRole("heading", { name: heading, exact: true }),
      });
      const all = await section.locator("li").allInnerTexts();
      return all.map((text) => text.replaceAll(/\s+/g, " ").trim());
    },
  };
}
