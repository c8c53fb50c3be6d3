import { afterEach, describe, expect, it } from "vitest"
import { WebSocketChannel } from "../../../src/adapters/websocket/websocket-channel.ts"
import { type AutobahnCase, autobahnCases } from "./autobahn-cases.ts"
import { RawPeer, type SeenFrame, socketPair } from "./support/raw-peer.ts"

const closers: Array<() => void> = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** Whether each message goes through its handler, or binary messages are passed on in place. */
type Way = "handled" | "in place"

/** A channel that echoes, as the suite demands, and its peer. */
const echo = async (isServer: boolean, way: Way) => {
  const [left, right] = await socketPair()
  const channel = new WebSocketChannel(left, { isServer })
  const heard = { texts: 0, ends: [] as Array<string> }
  const route = { to: channel, idAt: 0, idLength: 0, id: undefined }
  channel.open({
    message: (bytes) => channel.send(bytes),
    ignored: () => heard.texts++,
    drained: () => {},
    ended: (reason) => heard.ends.push(reason),
    ...(way === "in place" ? { routeOf: () => route } : {})
  })
  closers.push(() => {
    left.destroy()
    right.destroy()
  })
  return { heard, peer: new RawPeer(right, isServer) }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Writes the frames of a case, cut as it says, until the other side has closed. */
const write = async (peer: RawPeer, { chop, send }: AutobahnCase): Promise<void> => {
  const frames = send.map((frame) => peer.encode(frame))
  const all = chop === "frames" || frames.length === 1 ? frames : [Buffer.concat(frames)]
  for (const bytes of all) {
    const step = typeof chop === "number" ? chop : bytes.length
    for (let at = 0; at < bytes.length && !peer.isEnded; at += step) {
      peer.write(bytes.subarray(at, at + step))
      if (chop !== undefined) await turn()
    }
  }
}

const codeOf = ({ payload }: SeenFrame): number => (payload.length < 2 ? 1005 : payload.readUInt16BE(0))
const isClose = ({ opcode }: SeenFrame): boolean => opcode === 8

const run = async (isServer: boolean, way: Way, given: AutobahnCase): Promise<void> => {
  const { heard, peer } = await echo(isServer, way)
  const { back, close = 1000, texts } = given
  await write(peer, given)
  if (given.close === undefined) {
    await peer.until(() => peer.frames.length >= back.length)
    peer.write(peer.encode({ opcode: 8, payload: Buffer.from([3, 232]) }))
  }
  await peer.until(() => peer.isEnded)
  const answers = peer.frames.filter((frame) => !isClose(frame))
  expect(peer.frames.map((frame) => frame.opcode)).toEqual([...back.map(([opcode]) => opcode), 8])
  for (const [index, [, payload]] of back.entries()) {
    const answer = answers[index]?.payload ?? Buffer.alloc(0)
    if (Buffer.compare(answer, payload) !== 0) expect(answer.toString("hex")).toBe(Buffer.from(payload).toString("hex"))
  }
  expect(peer.frames.every(({ fin, isMasked, rsv }) => fin && rsv === 0 && isMasked === !isServer)).toBe(true)
  expect(peer.frames.filter(isClose).map(codeOf)).toEqual([close])
  expect(heard.texts).toBe(texts)
  expect(heard.ends).toHaveLength(1)
}

describe.each([
  ["server", "handled", true],
  ["server", "in place", true],
  ["client", "handled", false],
  ["client", "in place", false]
] as const)("the cases of Autobahn, as a %s, %s", (_side, way, isServer) => {
  it.each(autobahnCases.map((given) => [given.id, given.what, given] as const))("%s: %s", (_id, _what, given) =>
    run(isServer, way, given)
  )
})

describe("the table of cases", () => {
  it("has each case once, of all families but those about compression", () => {
    const ids = autobahnCases.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(ids.map((id) => id.split(".")[0]))).toEqual(new Set(["1", "2", "3", "4", "5", "6", "7", "9", "10"]))
    expect(ids).toHaveLength(301)
  })
})
