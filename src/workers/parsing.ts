import { createParsingService, type ParseOrder } from "../managers/profiles/serve.ts";

// The worker that reads by profiles: see `collector/parse-apart.ts` for its other side.
declare const self: Worker;

const serve = createParsingService((answer) => self.postMessage(answer));
self.onmessage = ({ data }: MessageEvent<ParseOrder>) => serve(data);
