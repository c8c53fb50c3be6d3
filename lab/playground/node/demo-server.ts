/** The demo workload as a program of its own, for the image that runs on real nodes. */

import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { Effect, Scope } from "effect"
import { ListenError, type ContainerContext } from "../../cluster/node/container-program.ts"
import { demoApp } from "../demo-app.ts"

const podIp = Object.values(networkInterfaces())
  .flat()
  .find((address) => address !== undefined && !address.internal && address.family === "IPv4")?.address

const listen: ContainerContext["listen"] = (port, onConnection) =>
  Effect.callback<void, ListenError>((resume) => {
    const server = createServer({ allowHalfOpen: true }, (socket) =>
      onConnection(socket, { ip: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 })
    )
    server.once("error", ({ message }) =>
      resume(Effect.fail(new ListenError({ ip: "0.0.0.0", port, reason: message })))
    )
    server.listen(port, () => resume(Effect.void))
  })

const container: ContainerContext = {
  pod: { apiVersion: "v1", kind: "Pod", metadata: { name: process.env["HOSTNAME"] ?? "" } },
  containerName: "myapp",
  podIp: podIp ?? "",
  env: new Map(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  userId: process.getuid?.() ?? 0,
  args: process.argv.slice(2),
  root: "/",
  gracePeriodSeconds: () => 0,
  log: (line) => console.log(line),
  ready: () => undefined,
  listen,
  target: () => undefined,
  onNode: () => [],
  reach: (endpoint) => endpoint
}

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0))
process.exitCode = await Effect.runPromise(demoApp(container).pipe(Scope.provide(Scope.makeUnsafe())))
