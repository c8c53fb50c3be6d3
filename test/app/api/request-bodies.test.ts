import { once } from "node:events"
import type { ClientRequest, IncomingMessage } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, certificatePath, comes, makeCertificates, root, runApi } from "./running-api.ts"

let api: Awaited<ReturnType<typeof runApi>>
beforeAll(async () => {
  api = await runApi(await makeCertificates())
})
afterAll(async () => api.stop())

const mebibyte = 1024 * 1024
const all = 128 * mebibyte
const piece = Buffer.alloc(64 * 1024, "x")

/** Sends a body for as long as the server takes it; the number of bytes that left, and the answer if one came. */
const flood = async (asked: ClientRequest) => {
  let sent = 0
  asked.on("error", () => {})
  const answered = new Promise<IncomingMessage>((resolve) => void asked.once("response", resolve)).then(answerOf)
  const closed = comes(asked, "close")
  while (sent < all && !asked.destroyed) {
    sent += piece.length
    if (!asked.write(piece)) await Promise.race([comes(asked, "drain"), closed])
  }
  await closed
  return { sent, answer: await Promise.race([answered, undefined]) }
}

describe("the body of a request", () => {
  it.each([
    ["declared", { "content-length": String(all) }],
    ["chunked", {}]
  ])("is not taken beyond 64 KiB: 413 with a Status, and the connection ends (%s)", async (_what, headers) => {
    for (const path of [certificatePath, `${root}/mirrordclusteroperatorusercredentials`]) {
      const asked = api.request("POST", path)
      for (const [name, value] of Object.entries(headers)) asked.setHeader(name, value)
      const { answer, sent } = await flood(asked)
      expect(answer?.status).toBe(413)
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        kind: "Status",
        status: "Failure",
        code: 413,
        reason: "RequestEntityTooLarge",
        message: expect.stringContaining("64 KiB")
      })
      // The sockets of both sides hold some of it.
      expect(sent).toBeLessThan(all / 2)
    }
  })

  it("is not taken either where none is read", async () => {
    const { sent } = await flood(api.request("GET", root))
    expect(sent).toBeLessThan(all / 2)
    expect((await api.get(root)).status).toBe(200)
  })

  it("is taken up to 64 KiB", async () => {
    const asked = api.request("POST", certificatePath)
    asked.end(Buffer.alloc(64 * 1024, "x"))
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    expect(await answerOf(response)).toEqual({ status: 201, body: '"PEM"' })
  })
})
