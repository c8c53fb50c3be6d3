/**
 * A process in another network of this machine. It leads connections from this machine's addresses into the network,
 * and opens the network's addresses for this machine: a listening socket stays in the network in which it was opened,
 * whoever accepts from it. Started by `doors.ts`, with which it exchanges the sockets.
 */

import { connect, createServer, type Server, type Socket } from "node:net"

/** An address in the network. */
export interface Destination {
  readonly host: string
  readonly port: number
}

/** The wish of `doors.ts`. With `LeadTo` comes a socket that listens. */
export type DoorWish =
  | { readonly _tag: "LeadTo"; readonly to: Destination }
  | { readonly _tag: "ListenAt"; readonly at: Destination }

/** The answer to a wish. A socket that listens comes with it if that was the wish. `problem`: why there is none. */
export interface DoorAnswer {
  readonly problem?: string
}

const forward = ({ host, port }: Destination, from: Socket): void => {
  const to = connect({ host, port, allowHalfOpen: true })
  for (const socket of [from, to]) {
    socket.setNoDelay(true)
    socket.on("error", () => {
      from.destroy()
      to.destroy()
    })
  }
  from.on("close", () => to.destroy())
  to.on("close", () => from.destroy())
  from.pipe(to)
  to.pipe(from)
}

const answer = (message: DoorAnswer, server?: Server): void => {
  process.send?.(message, server, {}, () => server?.close())
}

process.on("message", (wish: DoorWish, server: (Server & { allowHalfOpen?: boolean }) | undefined) => {
  if (wish._tag === "LeadTo") {
    if (server === undefined) return
    server.allowHalfOpen = true
    server.on("connection", (socket) => forward(wish.to, socket))
    return answer({})
  }
  const opened = createServer()
  opened.once("error", ({ message }) => answer({ problem: message }))
  opened.listen(wish.at, () => answer({}, opened))
  return undefined
})
process.on("disconnect", () => process.exit(0))
