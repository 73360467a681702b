import { createParsingService, type ParseOrder } from "../managers/profiles/parsing-service.ts";

// Worker that parses with profiles; `collector/parse-apart.ts` is the other side.
declare const self: Worker;

const serve = createParsingService((answer) => self.postMessage(answer));
self.onmessage = ({ data }: MessageEvent<ParseOrder>) => serve(data);
