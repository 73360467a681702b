/**
 * Holds the only event stream of a browser for all tabs (at a hub, of the site in the worker's name). Over
 * HTTP/1.1 a browser opens six connections per host, and a stream per tab would use them up. Tabs read the
 * picture themselves and receive every event.
 */
import { openStream, type StreamNews, type TabWord } from "./live/stream.ts";

const tabs = new Set<MessagePort>();
let latest: StreamNews | null = null;

const stream = openStream((news) => {
  if (news.type === "open" || news.type === "lost") latest = news;
  for (const tab of tabs) tab.postMessage(news);
}, self.name || null);

addEventListener("connect", (event) => {
  const [tab] = (event as MessageEvent).ports;
  if (tab === undefined) return;
  tabs.add(tab);
  tab.onmessage = ({ data }: MessageEvent<TabWord>) => {
    if (data === "bye") tabs.delete(tab);
    else stream[data]();
  };
  if (latest !== null) tab.postMessage(latest);
});
