/** The application of a target: it echoes each request, so that a test sees which side served it. */

import * as http from "node:http"
import * as net from "node:net"

const serve = (request: http.IncomingMessage, response: http.ServerResponse): void => {
  let body = ""
  request.setEncoding("latin1")
  request.on("data", (text: string) => {
    body += text
  })
  request.on("end", () => {
    response.writeHead(200, { "x-served-by": "application", "Cache-Control": "max-age=60" })
    response.end(`application ${request.method} ${request.url} ${body}`)
  })
}

/** It speaks HTTP/1.1. Its idle connections stay open, however long this process stands still. */
export const makeApplication = (): net.Server => {
  const application = http.createServer(serve)
  application.on("upgrade", (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    socket.pipe(socket)
  })
  application.on("clientError", (_error, socket) => socket.end("application: not HTTP"))
  application.keepAliveTimeout = 0
  return net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined)
    application.emit("connection", socket)
  })
}
