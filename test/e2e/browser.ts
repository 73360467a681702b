import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { UNTIL_DEADLINE_MS } from "../until.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Whether a browser is installed. `scripts/test` installs one if it can. */
export const HAS_BROWSER = existsSync(CHROMIUM);

if (!HAS_BROWSER)
  console.error(`tests in a browser are skipped: no ${CHROMIUM} (Debian: apt-get install chromium)`);

export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/**
 * Starts Debian's Chromium, headless, with its own profile. The browser can only connect to the page's server. Pages lose
 * their content policy, so that tests can run scripts, unless `keepPolicy` is set. `trustsAll` accepts any certificate.
 * `textSize` is the reader's text size in pixels.
 */
export async function startBrowser({ keepPolicy = false, trustsAll = false, textSize = 16 } = {}) {
  const profile = await mkdtemp(join(tmpdir(), "licmond-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    bypassCSP: !keepPolicy,
    args: [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
      `--blink-settings=defaultFontSize=${textSize}`,
      ...(trustsAll ? ["--ignore-certificate-errors"] : []),
    ],
  });
  // Playwright's default of 30 s is too short for Swagger UI (4 s of script) while other tests run.
  context.setDefaultTimeout(UNTIL_DEADLINE_MS);
  return {
    /** Opens an empty page, to add listeners before it navigates. */
    blank: () => context.newPage(),
    async open(url: string) {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
