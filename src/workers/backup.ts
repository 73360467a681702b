import { type Asked, answer } from "../store/backup/worker.ts";

// The worker that copies and reads whole databases: see `store/backup/worker.ts` for its other side.
declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<Asked>) => self.postMessage(answer(data));
