import { errorTable } from "./error-notes.ts";

/** What holds for all of the API, at the head of the OpenAPI document (Markdown). */
export const DESCRIPTION = `What license servers say: who holds seats, since when, what is left, what expires next.

**Keys** go in \`X-API-Key\` or \`Authorization: Bearer\`; streams and WebSockets also take \`?api_key=\`, because
their clients cannot set headers. \`x-permission\` of an operation says what its key must be allowed to do.

**Values.** Times are ISO 8601 UTC with milliseconds; unknown is null, never 0. A query time is ISO 8601 (UTC without
a zone) or epoch milliseconds. Lists of a query take commas or repetition, but \`feature\` is repeated, because names
hold commas. Unknown parameters (but \`_\`) and unknown fields of a body are refused.

**Methods.** HEAD answers as GET without a body, OPTIONS is 204 with \`Allow\`. An unknown path is 404 and a wrong
method 405 (METHOD_NOT_ALLOWED, with \`Allow\`), both before the key is looked at.

**Compression.** Answers of more than a packet come gzipped where \`Accept-Encoding\` takes that; streams never do. The
tag of gzipped bytes is another one, and both are good for \`If-None-Match\`.

**Request ids.** A request may bring its own \`X-Request-ID\`; every answer carries one, and an error's body repeats it.

**Errors** have one body (schema Error). When to send the same request again:

${errorTable()}

\`x-retry\` of each error response says the same for programs: \`retry-after\`, \`backoff\`, \`same-timeout\`, \`delay\`,
\`short-delay\`, \`action\`. 429 and 503 carry \`Retry-After\`.

**What is not HTTP** is refused before the daemon sees it, with a bare status and neither body nor request id: 400 for a
malformed request line or header, HTTP/1.1 without \`Host\`, contradictory lengths or broken chunks; 431 for headers of
more than 16 KiB or 200 fields (a URL counts as one); 505 for another version than HTTP/1.0 and 1.1. At a method that
no RFC knows (\`get\` is one: methods are upper case) the connection is closed without an answer.

**Pipelining.** Send a request when the answer to the one before is there. A request that comes earlier on the same
connection may close it with neither answered; whether the first was carried out is then unknown.`;
