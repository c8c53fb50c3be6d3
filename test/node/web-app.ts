/**
 * The workload whose ports are stolen: HTTP/1 on port 80, HTTP/2 without TLS on 8080, both over TLS on 443 with the
 * certificate in `/tls`. An answer says by which pod it was given.
 */

import { readFileSync } from "node:fs"
import * as http from "node:http"
import * as http2 from "node:http2"

const { HOSTNAME = "" } = process.env
const tls = { cert: readFileSync("/tls/cert.pem"), key: readFileSync("/tls/key.pem"), allowHTTP1: true }

const serve = (
  request: http.IncomingMessage | http2.Http2ServerRequest,
  response: http.ServerResponse | http2.Http2ServerResponse
): void => void response.end(`${HOSTNAME}: ${request.url}`)

http.createServer(serve).listen(80)
http2.createServer(serve).listen(8080)
http2.createSecureServer(tls, serve).listen(443)
// The first process of its container: without a handler the kernel would keep the signal from it.
process.once("SIGTERM", () => process.exit(0))
