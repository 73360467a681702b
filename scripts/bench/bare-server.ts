/** Answers every request with the bytes of a file: `bun bare-server.ts PORT FILE`. */
const [port, file] = process.argv.slice(2);
if (port === undefined || file === undefined) throw new Error("usage: bare-server.ts PORT FILE");
// Bytes, because a string would be encoded for every answer.
const body = await Bun.file(file).bytes();

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  fetch: () => new Response(body, { headers: { "content-type": "application/json" } }),
});

export {};
