import type { PictureServer } from "../../src/domain/live-picture.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { keptServer } from "../../src/domain/polls/kept-picture.ts";
import { serverJson } from "../../src/http/picture.ts";

/** Returns a server as the page keeps it. */
export const kept = (of: ServerPicture) => keptServer(JSON.parse(serverJson(of, 1)) as PictureServer);

export const siteOf = (...pictures: ServerPicture[]) =>
  new Map(pictures.map((each) => [each.server.id, kept(each)]));
