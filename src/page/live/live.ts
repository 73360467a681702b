import { computed, effect, signal } from "@preact/signals";
import type { Patch } from "../../domain/live-picture.ts";
import { get, Refusal, serverNow } from "../api.ts";
import type { Site } from "../model.ts";
import { forgetAlerts, hearAlert, lastDenial, loadAlerts } from "./alerts.ts";
import { createReader } from "./reader.ts";
import { openStream, type StreamNews, type TabWord } from "./stream.ts";

declare global {
  interface Window {
    /** https://www.w3.org/TR/trusted-types/; TypeScript's DOM has no word for it yet. */
    readonly trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(input: string): string },
      ): { createScriptURL(input: string): { toString(): string } };
    };
  }
}

/** Null until the picture was read once. */
export const site = signal<Site | null>(null);
/** Epoch ms since when it is not live; null while it is, and before the first picture. */
export const lostSince = signal<number | null>(null);
/** Why the picture cannot be had: `signedOut` = there is no sign-in that holds. */
export const trouble = signal<"signedOut" | Refusal | "unreachable" | null>(null);
/** Epoch ms by the server's clock, once a second: what shows an age reads this. */
export const now = signal(serverNow());
/** When the servers were polled last. */
export const polledAt = computed(() =>
  Math.max(
    0,
    ...[...(site.value?.values() ?? [])].map(({ lastPollAt }) => Date.parse(lastPollAt ?? "") || 0),
  ),
);

const GATHER_MS = 200;
/** A tab with a stream of its own gives it back after it was hidden for so long. */
const HIDDEN_MS = 60_000;

let isOpen = false;

const reader = createReader({
  async load(ids) {
    if (ids === null) void loadAlerts();
    const { servers } = await get("/api/picture", ids === null ? {} : { server: ids });
    trouble.value = null;
    if (isOpen) lostSince.value = null;
    return servers;
  },
  changed(next) {
    site.value = next;
  },
  failed(error) {
    lostSince.value ??= serverNow();
    if (error instanceof Refusal && error.status === 401) forget();
    else trouble.value = error instanceof Refusal ? error : "unreachable";
  },
});

let gathered: Patch[] = [];

function hear(news: StreamNews): void {
  if (news.type === "patch") {
    if (gathered.push(news.patch) === 1) setTimeout(() => reader.apply(gathered.splice(0)), GATHER_MS);
    return;
  }
  if (news.type === "alert" || news.type === "denial") {
    if (news.type === "alert") hearAlert(news);
    else lastDenial.value = news;
    return;
  }
  gathered = [];
  isOpen = news.type === "open";
  if (!isOpen) lostSince.value ??= serverNow();
  // After a loss, too: the answer tells whether the sign-in ended.
  void reader.reload();
}

/** Says something to the one who holds the stream. */
let tell: (word: "retry" | "rest") => void = nobody;
function nobody(): void {}

/** Begins to read once the stream is open, so that nothing is missed between; keeps the picture live as long as the tab is there. */
export function startLive(): void {
  setInterval(() => {
    if (!document.hidden) now.value = serverNow();
  }, 1_000);
  effect(() => {
    // Ages are right at once after a picture, and after the tab was hidden.
    if (site.value !== null) now.value = serverNow();
  });
  tell = typeof SharedWorker === "undefined" ? ownStream() : sharedStream();
  // A tab that was asleep, or kept for the way back, may have missed anything.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) void reader.reload();
  });
  document.addEventListener("resume", () => void reader.reload());
}

/** After a sign-in has ended: forgets the picture, which may be another one for who signs in next. */
export function forget(): void {
  tell("rest");
  site.value = null;
  forgetAlerts();
  trouble.value = "signedOut";
}

/** After a sign-in: reads the picture at once. */
export function again(): Promise<void> {
  if (tell === nobody) startLive();
  else tell("retry");
  return reader.reload();
}

function sharedStream(): typeof tell {
  // Trusted Types: a worker's address must come from a policy. This one knows a single address.
  const address = new URL("./stream-worker.js", document.baseURI).href;
  const policy = window.trustedTypes?.createPolicy("licmond", { createScriptURL: () => address });
  // TypeScript takes no TrustedScriptURL here, which is what the browser wants.
  const trusted = (policy?.createScriptURL("") ?? address) as string;
  const worker = new SharedWorker(trusted, { type: "module" });
  worker.addEventListener("error", () => {
    tell = ownStream();
  });
  worker.port.onmessage = ({ data }: MessageEvent<StreamNews>) => hear(data);
  addEventListener("pagehide", ({ persisted }) => {
    if (!persisted) worker.port.postMessage("bye");
  });
  return (word) => worker.port.postMessage(word satisfies TabWord);
}

function ownStream(): typeof tell {
  let stream: ReturnType<typeof openStream> | null = openStream(hear);
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) stream ??= openStream(hear);
    else
      timer = setTimeout(() => {
        stream?.rest();
        stream = null;
      }, HIDDEN_MS);
  });
  return (word) => stream?.[word]();
}
