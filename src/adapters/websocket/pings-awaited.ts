/**
 * Notices that the other side of a link is gone: a side that has pinged before must ping again or send a message.
 *
 * Not here: sending pings (member-link.ts). The real client never pings, so its silence means nothing.
 */

/** Silence after which a link that was pinged before is lost, ms: three missed pings (docs/concepts/member-link.md). */
export const maxSilence = 100_000

/** Checks within the longest silence. The socket is lost at the check after these. */
const checksPerSilence = 4

/** The part of a WebSocket that is needed here. */
export interface PingedSocket {
  readonly isPaused: boolean
  readonly on: (event: "ping" | "message" | "close", listener: () => void) => unknown
}

/**
 * Calls `lost` once when nothing has come for `longest` ms, at most a quarter more, on a socket whose other side has
 * pinged before. A paused socket is not silent: its data is only unread. Quiet checks are counted instead of ms, so
 * that the time in which this process was suspended is no silence either.
 */
export const awaitPings = (socket: PingedSocket, longest: number, lost: () => void): void => {
  let timer: NodeJS.Timeout | undefined
  let quietChecks = 0
  const alive = (): void => {
    quietChecks = 0
  }
  const check = (): void => {
    quietChecks = socket.isPaused ? 0 : quietChecks + 1
    if (quietChecks <= checksPerSilence) return
    clearInterval(timer)
    lost()
  }
  socket.on("message", alive)
  socket.on("ping", () => {
    alive()
    timer ??= setInterval(check, longest / checksPerSilence)
  })
  socket.on("close", () => clearInterval(timer))
}
