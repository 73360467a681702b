import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { UNTIL_DEADLINE_MS } from "../until.ts";

const CHROMIUM = "/usr/bin/chromium";

/** Whether there is a browser to test with; `scripts/test` installs it where it may. */
export const HAS_BROWSER = existsSync(CHROMIUM);

if (!HAS_BROWSER) {
  console.error(`tests in a browser are skipped: no ${CHROMIUM} (Debian: apt-get install chromium)`);
}

export interface Browser extends AsyncDisposable {
  /** A page that has been nowhere yet: to listen before it goes. */
  blank(): Promise<Page>;
  /** A fresh page at a URL. */
  open(url: string): Promise<Page>;
}

/**
 * Debian's Chromium, without a window, with a profile of its own, and talking to nobody but the page's own server.
 * With `keepPolicy` pages keep their own policy against scripts, which allows none of a test's either; with `trustsAll` it
 * takes any certificate. `textSize`: the reader's, in pixels.
 */
export async function startBrowser({
  keepPolicy = false,
  trustsAll = false,
  textSize = 16,
} = {}): Promise<Browser> {
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
  // Playwright's own 30 s are not enough for Swagger UI (4 s of script) while other tests have the machine.
  context.setDefaultTimeout(UNTIL_DEADLINE_MS);
  return {
    blank: () => context.newPage(),
    async open(url) {
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
