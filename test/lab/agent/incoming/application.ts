import * as http from "node:http"
import * as http2 from "node:http2"
import * as net from "node:net"
import * as tls from "node:tls"

/** The application echoes each request, so that a test sees which side served it. */
const answer = (method: string, url: string, body: string): string => `application ${method} ${url} ${body}`
/** `x-tls`: the server name and protocol of the connection, if it is one of TLS. */
const headersOf = (socket: net.Socket | tls.TLSSocket | undefined) => ({
  "x-served-by": "application",
  "Cache-Control": "max-age=60",
  ...(socket instanceof tls.TLSSocket ? { "x-tls": `${socket.servername} ${socket.alpnProtocol}` } : {})
})

const serveHttp1 = (request: http.IncomingMessage, response: http.ServerResponse): void => {
  let body = ""
  request.setEncoding("latin1")
  request.on("data", (text: string) => {
    body += text
  })
  request.on("end", () => {
    response.writeHead(200, headersOf(request.socket))
    response.end(answer(request.method ?? "", request.url ?? "", body))
  })
}

/** `x-code` asks to reset the stream with a code, after half an answer if the path says so. Trailers are echoed. */
const serveHttp2 = (stream: http2.ServerHttp2Stream, request: http2.IncomingHttpHeaders): void => {
  let body = ""
  let trailers: http2.OutgoingHttpHeaders = {}
  stream.on("error", () => undefined)
  stream.setEncoding("latin1")
  stream.on("trailers", (given) => {
    trailers = given
  })
  stream.on("data", (text: string) => {
    body += text
  })
  stream.on("end", () => {
    if (stream.closed) return
    const reset = request["x-code"]
    if (reset !== undefined && request[":path"] !== "/half") return stream.close(Number(reset))
    stream.respond({ ":status": 200, ...headersOf(stream.session?.socket) }, { waitForTrailers: true })
    if (reset !== undefined) return void stream.write("half", () => stream.close(Number(reset)))
    stream.on("wantTrailers", () => stream.sendTrailers(trailers))
    stream.end(answer(request[":method"] ?? "", request[":path"] ?? "", body))
  })
}

/**
 * The application of a target speaks HTTP/1.1 and HTTP/2, over TLS if it has a certificate. Its idle connections stay
 * open, however long this process stands still.
 */
export const makeApplication = (certificate?: Pick<tls.TlsOptions, "cert" | "key">): net.Server => {
  const application = http.createServer(serveHttp1)
  application.on("upgrade", (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    socket.pipe(socket)
  })
  application.on("clientError", (_error, socket) => socket.end("application: not HTTP"))
  application.keepAliveTimeout = 0
  const serve = (socket: net.Socket): void => {
    socket.on("error", () => undefined)
    socket.once("data", (first) => {
      socket.pause()
      socket.unshift(first)
      if (first.toString("latin1").startsWith("PRI * HTTP/2")) {
        http2.performServerHandshake(socket).on("stream", serveHttp2)
        return
      }
      application.emit("connection", socket)
      process.nextTick(() => socket.resume())
    })
  }
  return certificate === undefined
    ? net.createServer({ allowHalfOpen: true }, serve)
    : tls.createServer({ ...certificate, allowHalfOpen: true, ALPNProtocols: ["h2", "http/1.1", "other"] }, serve)
}
