import { createParsingService, type ParseOrder } from "../managers/profiles/serve.ts";

// The worker that reads by profiles: see `collector/parse-apart.ts` for its other side.
declare const self: Worker;

const answer = createParsingService();
self.onmessage = ({ data }: MessageEvent<ParseOrder>) => self.postMessage(answer(data));
