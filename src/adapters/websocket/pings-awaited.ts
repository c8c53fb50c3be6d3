/**
 * ms without a sign of life after which a link on which pings came is lost: three of its pings (docs/member-link.md).
 */
export const longestSilence = 100_000

/** Looks at a silence. A whole one lasts between this many looks and one more. */
const looks = 4

/** What is needed of a WebSocket. */
export interface PingedSocket {
  readonly isPaused: boolean
  readonly on: (event: "ping" | "message" | "close", listener: () => void) => unknown
}

/**
 * Calls `lost` once when nothing has come for `longest` ms, at most a quarter more, on a socket whose other side used
 * to ping. Somebody who never pinged owes nothing. What was not read proves nothing, and neither does time in which
 * this process stood still: looks are counted, not ms.
 */
export const awaitPings = (socket: PingedSocket, longest: number, lost: () => void): void => {
  let timer: NodeJS.Timeout | undefined
  let quiet = 0
  const alive = (): void => {
    quiet = 0
  }
  const look = (): void => {
    quiet = socket.isPaused ? 0 : quiet + 1
    if (quiet <= looks) return
    clearInterval(timer)
    lost()
  }
  socket.on("message", alive)
  socket.on("ping", () => {
    alive()
    timer ??= setInterval(look, longest / looks)
  })
  socket.on("close", () => clearInterval(timer))
}
