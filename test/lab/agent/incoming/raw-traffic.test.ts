import { once } from "node:events"
import { Duplex } from "node:stream"
import { describe, expect, it } from "vitest"
import { join } from "../../../../lab/agent/incoming/raw-traffic.ts"

/** A connection whose peer has sent `text` and its end. */
const heard = (text: string, write: (bytes: Buffer, taken: () => void) => void): Duplex => {
  const stream = new Duplex({ write: (bytes: Buffer, _encoding, taken) => write(bytes, taken), read: () => undefined })
  if (text !== "") stream.push(text)
  stream.push(null)
  return stream
}

describe("two connections as one", () => {
  it("the last bytes reach a slow side, though the other side is already closed", async () => {
    const application = heard("the last bytes", (_bytes, taken) => taken())
    let taken: (() => void) | undefined
    let text = ""
    const peer = heard("", (bytes, done) => {
      text += bytes.toString()
      taken = done
    })
    join(application, peer)
    await once(application, "close")
    const finished = once(peer, "finish")
    taken?.()
    await finished
    expect(text).toBe("the last bytes")
  })

  it("a side that breaks takes the other with it", async () => {
    const [one, other] = [new Duplex({ read: () => undefined }), new Duplex({ read: () => undefined })]
    join(one, other)
    one.destroy(new Error("reset"))
    await once(other, "close")
    expect(other.destroyed).toBe(true)
  })
})
