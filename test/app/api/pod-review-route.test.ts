import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerPodReview } from "../../../src/app/queues/answer-pod-review.ts"
import { ordersPod, reviewOf, split } from "../../domain/queues/reviewed-pod.ts"
import { untilTrue } from "../../support/until-true.ts"
import { answerOf, type Certificates, makeCertificates, runApi } from "./running-api.ts"

let looks = 0
const reviews = { lookup: (uid: string) => (looks++, uid === split.uid ? split : undefined) }
let certificates: Certificates
let api: Awaited<ReturnType<typeof runApi>>
beforeAll(async () => {
  certificates = await makeCertificates()
  api = await runApi(
    certificates,
    { patience: 3_600_000 },
    {
      reviewPod: (uid, body) => answerPodReview(reviews, uid, body)
    }
  )
})
afterAll(async () => api.stop())

/** Asks as an API server does: without a client certificate, over one connection for each call. */
const ask = (uid: string, length?: number) =>
  https.request({
    host: "127.0.0.1",
    port: api.port,
    ca: certificates.other.caPem,
    method: "POST",
    path: `/split-pods/${uid}?timeout=5s`,
    agent: false,
    headers: { "content-type": "application/json", ...(length === undefined ? {} : { "content-length": length }) }
  })
const answer = async (asked: ReturnType<typeof ask>) => {
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  const { body, status } = await answerOf(response)
  return { status, body: JSON.parse(body) as object, connection: response.headers.connection }
}
const review = async (uid: string, padding = 0) => {
  const text = JSON.stringify(reviewOf({ ...ordersPod, padding: "x".repeat(padding) }))
  return answer(ask(uid, Buffer.byteLength(text)).end(text))
}
const kibibyte = 1_024

describe("API servers that ask about new pods", () => {
  it("are answered without a client certificate, as many as a restart makes at once", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, async () => review(split.uid)))
    for (const one of answers)
      expect(one).toMatchObject({
        status: 200,
        connection: "close",
        body: { response: { uid: "review-1", allowed: true, patchType: "JSONPatch" } }
      })
  })

  it.each([
    [split.uid, 3_000, 200],
    [split.uid, 3_072, 413],
    ["other", 60, 200],
    ["other", 64, 413]
  ])("may send as much as a pod may have, if they know the split: %s, %d KiB", async (uid, size, status) => {
    expect((await review(uid, size * kibibyte)).status).toBe(status)
  })

  /** Four bodies that may be large, and never come to their ends. */
  const slowly = async (uid: string, length?: number) => {
    const before = looks
    const slow = Array.from({ length: 4 }, () => ask(uid, length))
    for (const asked of slow) asked.on("error", () => {}).write('{"a": ')
    await untilTrue("four bodies are being read", () => looks === before + 4)
    return slow
  }

  it("are not kept waiting by large bodies that come slowly, but for those with others", async () => {
    const slow = await slowly(split.uid, 100 * kibibyte)
    const before = looks
    // Without a length it may be large.
    const chunked = ask(split.uid)
    chunked.write(JSON.stringify(reviewOf(ordersPod)))
    const waiting = answer(chunked.end())
    await untilTrue("a fifth has come", () => looks === before + 1)
    const ready = await Promise.all([review(split.uid), review("other"), review("other", 60 * kibibyte)])
    expect(ready.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await Promise.race([waiting, "waits"])).toBe("waits")
    slow[0]?.end("x".repeat(100 * kibibyte - 6))
    expect((await waiting).status).toBe(200)
    for (const asked of slow) asked.destroy()
  })

  it("are not kept waiting by those who know no split", async () => {
    const slow = await slowly("other")
    expect((await review(split.uid, 100 * kibibyte)).status).toBe(200)
    for (const asked of slow) asked.destroy()
  })
})
