import type { FromWorker, ToWorker } from "../store/history/protocol.ts";
import { createHistoryServer } from "../store/history/serve.ts";

// The worker that reads history: see `store/history/client.ts` for its other side.
declare const self: Worker;

const server = createHistoryServer((message: FromWorker) => self.postMessage(message));
self.onmessage = ({ data }: MessageEvent<ToWorker>) => server.take(data);
