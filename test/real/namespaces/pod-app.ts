/**
 * The workload of pods with network namespaces: HTTP/1 on port 80, HTTP/2 without TLS on 8080, both over TLS on 443 if
 * it has a certificate. An answer says by which pod it was given; each request is a line of the log.
 */

import * as http from "node:http"
import * as http2 from "node:http2"

const { CLUSTER = "", POD = "", TLS_CERT, TLS_KEY } = process.env

type Request = http.IncomingMessage | http2.Http2ServerRequest
type Response = http.ServerResponse | http2.Http2ServerResponse

const serve = (request: Request, response: Response): void => {
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (text: string) => {
    body += text
  })
  request.on("end", () => {
    process.stdout.write(`${request.method} ${request.url}\n`)
    response.end(`${POD} in ${CLUSTER}: ${request.method} ${request.url} ${body}`)
  })
}

const listening = [
  { port: 80, server: http.createServer(serve) },
  { port: 8080, server: http2.createServer(serve) },
  ...(TLS_CERT === undefined || TLS_KEY === undefined
    ? []
    : [{ port: 443, server: http2.createSecureServer({ cert: TLS_CERT, key: TLS_KEY, allowHTTP1: true }, serve) }])
].map(({ port, server }) => new Promise<void>((resolve) => server.listen(port, "0.0.0.0", resolve)))
// The first process of its container: without a handler the kernel would keep the signal from it.
process.once("SIGTERM", () => process.exit(0))
await Promise.all(listening)
process.stdout.write("ready\n")
