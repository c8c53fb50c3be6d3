/** Requests over HTTP/2. */

import * as http2 from "node:http2"

/**
 * The body of the answer to a `GET`, over a connection of its own.
 *
 * @param origin such as `http://10.0.0.1:8080`, where HTTP/2 is spoken at once, or with `https:`
 */
export const getOverHttp2 = (
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  { signal, ...tls }: http2.SecureClientSessionOptions & { readonly signal?: AbortSignal | undefined } = {}
): Promise<string> =>
  new Promise<string>((resolve, reject) => {
    const connection = http2.connect(origin, tls)
    const fail = (error: unknown): void => {
      connection.destroy()
      reject(error instanceof Error ? error : new Error(String(error)))
    }
    connection.once("error", fail)
    signal?.addEventListener("abort", () => fail(signal.reason), { once: true })
    overHttp2(connection, { ":path": path, ...headers }).then((body) => {
      connection.close()
      resolve(body)
    }, fail)
  })

/** The body of the answer to a request over a connection. */
export const overHttp2 = (connection: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): Promise<string> =>
  new Promise((resolve, reject) => {
    const stream = connection.request(headers)
    let body = ""
    stream.setEncoding("utf8")
    stream.on("data", (text: string) => {
      body += text
    })
    stream.once("end", () => resolve(body)).once("error", reject)
    connection.once("error", reject)
    stream.end()
  })
