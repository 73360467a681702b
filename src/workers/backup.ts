import { type Asked, answer } from "../store/backup/worker.ts";

// Worker that copies and reads whole databases; `store/backup/worker.ts` is the other side.
declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<Asked>) => self.postMessage(answer(data));
