import * as http from "node:http"
import { listenLocally } from "../support/listen-locally.ts"

/** An HTTP server of this machine, as a developer runs it. */
interface LocalServer {
  readonly port: number
  /** The requests so far: `METHOD PATH` each. */
  readonly received: ReadonlyArray<string>
  readonly close: () => void
}

/** Answers each request with `local` and its path. */
export const startLocalServer = async (): Promise<LocalServer> => {
  const received: Array<string> = []
  const server = http.createServer(({ method, url }, response) => {
    received.push(`${method ?? ""} ${url ?? ""}`)
    response.end(`local ${url ?? ""}`)
  })
  return { port: await listenLocally(server), received, close: () => server.close() }
}
