import type { Duplex } from "node:stream"

/** Lets the bytes of two half-open streams flow into one another, until both directions have ended or one breaks. */
export const join = (one: Duplex, other: Duplex): void => {
  const follow = (from: Duplex, to: Duplex): void => {
    from.on("error", () => undefined)
    from.once("close", () => {
      // After an orderly end the other side may still have bytes to send.
      if (from.errored !== null || !from.readableEnded) to.destroy()
    })
    from.pipe(to)
  }
  follow(one, other)
  follow(other, one)
}
