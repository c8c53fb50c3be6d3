/** Opens the port of a server: at its address, or at another one where this machine does not have the first. */

import type { Server } from "node:net"
import { Effect } from "effect"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"

/** An address to listen on. Port 0: any free port. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const listen = (server: Server, { host, port }: ListenAddress): Effect.Effect<void, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    const failed = (error: NodeJS.ErrnoException): void => resume(Effect.fail(error))
    server.once("error", failed)
    server.listen(port, host, () => {
      server.off("error", failed)
      resume(Effect.void)
    })
  })

/** A server goes on without a connection that it could not accept, as when there are too many open files. */
const logLaterErrors = (server: Server): Effect.Effect<void> =>
  Effect.map(Effect.context<never>(), (context) => {
    const log = new LogOnce()
    const run = Effect.runForkWith(context)
    server.on("error", ({ message }) =>
      run(log.tell(message, logWarning("a connection could not be accepted", { problem: message })))
    )
  })

const isAddressAbsent = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL"

/** The fallback is used only if this machine does not have the first address, such as `[::]` without IPv6. */
export const listenAtOneOf = (
  server: Server,
  first: ListenAddress,
  fallback: ListenAddress | undefined
): Effect.Effect<void, NodeJS.ErrnoException> =>
  listen(server, first).pipe(
    Effect.catch((error) =>
      fallback !== undefined && isAddressAbsent(error)
        ? Effect.andThen(
            logInfo("the address to listen on is not there; the fallback is used", {
              problem: error.message,
              ...fallback
            }),
            listen(server, fallback)
          )
        : Effect.fail(error)
    ),
    Effect.andThen(logLaterErrors(server))
  )

/** The port at which a server listens. `wanted`: the one that it was asked for. */
export const portOf = (server: Server, wanted: number): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : wanted
}
