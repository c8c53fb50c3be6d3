/** Makes sure that the addresses of a playground are free, before it starts: two of them would wait for each other. */

import { once } from "node:events"
import { createServer, type Server } from "node:net"
import { Effect, type Scope } from "effect"
import { operatorPort } from "./manifests.ts"
import { PlaygroundError } from "./readiness.ts"

/** The port by which a playground shows that it has a subnet, at an address that no pod gets. */
const markPort = 40_127

const listen = (host: string, port: number): Effect.Effect<Server, { readonly message: string }> =>
  Effect.tryPromise({
    try: async () => {
      const server = createServer((socket) => socket.destroy())
      server.listen(port, host)
      await once(server, "listening")
      return server.unref()
    },
    catch: (cause) => ({ message: cause instanceof Error ? cause.message : String(cause) })
  })

const close = (server: Server): Effect.Effect<void> => Effect.sync(() => void server.close())

/** Takes the subnets 127.N.0.0/16 for as long as the scope lives; fails if this machine uses an address in them. */
export const claimSubnets = (subnets: ReadonlyArray<number>): Effect.Effect<void, PlaygroundError, Scope.Scope> =>
  Effect.forEach(
    subnets,
    (subnet) =>
      Effect.gen(function* () {
        yield* Effect.acquireRelease(listen(`127.${subnet}.255.254`, markPort), close)
        // A program that listens at all addresses has those of pods too.
        yield* Effect.acquireUseRelease(listen(`127.${subnet}.1.0`, operatorPort), () => Effect.void, close)
      }).pipe(
        Effect.mapError(({ message }) => {
          const others = subnet < 200 ? subnet + 20 : 40
          const found = `127.${subnet}.0.0/16 is in use, perhaps by another playground: ${message}`
          const detail = `${found}; choose others, such as --subnet ${others}`
          return new PlaygroundError({ detail })
        })
      ),
    { discard: true }
  )
