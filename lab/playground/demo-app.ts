/**
 * The demo workload: an HTTP server, and a TCP server if it is wanted, that say which cluster answers. All copies are
 * the same program; only their environment tells them apart.
 */

import * as http from "node:http"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { type ContainerProgram, signalsReady } from "../cluster/node/container-program.ts"

const portOf = (
  env: ReadonlyMap<string, string>,
  name: string,
  fallback: number | undefined
): number | undefined | string => {
  const text = env.get(name)
  if (text === undefined || text === "") return fallback
  const port = Number(text)
  return Number.isInteger(port) && port > 0 && port < 65_536
    ? port
    : `${name}: "${text}" found, a port from 1 to 65535 wanted`
}

/**
 * HTTP on `PORT` (default 80): answers `<GREETING> from <CLUSTER>: <method> <path>` and a second line `request <n>`.
 * TCP on `TCP_PORT`, if set: greets with `<GREETING> from <CLUSTER>` and echoes each line as `<CLUSTER>: <line>`.
 * Defaults: `GREETING` "hello", `CLUSTER` "unknown cluster". Each request and line is logged.
 */
export const demoApp: ContainerProgram = signalsReady((container) =>
  Effect.gen(function* () {
    const cluster = container.env.get("CLUSTER") ?? "unknown cluster"
    const greeting = `${container.env.get("GREETING") ?? "hello"} from ${cluster}`
    const port = portOf(container.env, "PORT", 80)
    const tcpPort = portOf(container.env, "TCP_PORT", undefined)
    for (const value of [port, tcpPort]) {
      if (typeof value !== "string") continue
      container.log(value)
      return 1
    }
    let requests = 0
    const server = http.createServer((request, response) => {
      requests++
      const number = requests
      container.log(`${request.method ?? ""} ${request.url ?? ""}`)
      request.resume()
      request.on("end", () => {
        response.setHeader("content-type", "text/plain; charset=utf-8")
        response.end(`${greeting}: ${request.method ?? ""} ${request.url ?? ""}\nrequest ${number}\n`)
      })
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    if (typeof port === "number") yield* container.listen(port, (socket) => server.emit("connection", socket))
    if (typeof tcpPort === "number") {
      yield* container.listen(tcpPort, (socket) => {
        socket.on("error", () => undefined)
        socket.write(`${greeting}\n`)
        createInterface({ input: socket, crlfDelay: Infinity })
          .on("line", (line) => {
            container.log(`tcp ${line}`)
            if (socket.writable) socket.write(`${cluster}: ${line}\n`)
          })
          .on("close", () => socket.end())
      })
    }
    const ports = tcpPort === undefined ? String(port) : `${String(port)} and ${String(tcpPort)}`
    container.log(`${greeting}: listening on ${container.podIp}, port ${ports}`)
    container.ready()
    return yield* Effect.never
  }).pipe(
    Effect.catchTag("ListenError", (error) =>
      Effect.sync(() => {
        container.log(error.message)
        return 1
      })
    )
  )
)
