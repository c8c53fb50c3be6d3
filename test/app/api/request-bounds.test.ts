import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { Deferred, Effect } from "effect"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { answerOf, type Certificates, connectText, makeCertificates, root, runApi, textOf } from "./running-api.ts"

let certificates: Certificates
beforeAll(async () => {
  certificates = await makeCertificates()
})

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** An operator that holds every connect; `holds` completes when it holds just so many. */
const holding = async (bounds: { readonly requestsPerUser: number; readonly connections: number }) => {
  let held = 0
  let wanted: { readonly count: number; readonly reached: Deferred.Deferred<void> } | undefined
  const check = (): void => {
    if (wanted?.count === held) Deferred.doneUnsafe(wanted.reached, Effect.void)
  }
  const connect: OperatorFacade["Service"]["connect"] = () =>
    Effect.acquireRelease(
      Effect.sync(() => {
        held++
        check()
      }),
      () =>
        Effect.sync(() => {
          held--
          check()
        })
    ).pipe(Effect.andThen(Effect.never))
  const api = await runApi(certificates, { bounds }, { connect })
  closers.push(api.stop)
  const connectAs = async (user: string, more: Readonly<Record<string, string>> = {}) => {
    const socket = await api.dial(certificates.proxy)
    socket.write(connectText({ "X-Remote-User": user, ...more }))
    return socket
  }
  const holds = async (count: number): Promise<void> => {
    wanted = { count, reached: Deferred.makeUnsafe() }
    check()
    await Effect.runPromise(Deferred.await(wanted.reached))
  }
  const list = async (user: string) => {
    const asked = api.request("GET", `${root}/sessions`, certificates.proxy, user).end()
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    return answerOf(response)
  }
  return { api, connectAs, holds, list }
}

const refusal = async (socket: Parameters<typeof textOf>[0]): Promise<object> => {
  const text = await textOf(socket)
  socket.destroy()
  return JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as object
}
const status = (message: RegExp) => ({
  kind: "Status",
  code: 500,
  reason: "InternalError",
  message: expect.stringMatching(message)
})

describe("the requests of one user", () => {
  it("that wait are bounded, held connects and others together; other users are served", async () => {
    const { connectAs, holds, list } = await holding({ requestsPerUser: 3, connections: 100 })
    const held = await Promise.all([connectAs("mallory"), connectAs("mallory"), connectAs("mallory")])
    await holds(3)
    expect(await refusal(await connectAs("mallory"))).toMatchObject(
      status(/^The bound of requests of user mallory .* 3 are allowed /u)
    )
    const refused = await list("mallory")
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([500, status(/bounds\.requestsPerUser\)/u)])
    expect((await list("alice")).status).toBe(200)
    for (const socket of held) socket.destroy()
    await holds(0)
    await connectAs("mallory")
    await holds(1)
  })

  it("count again when they were answered", async () => {
    const { list } = await holding({ requestsPerUser: 1, connections: 100 })
    for (let i = 0; i < 5; i++) expect((await list("alice")).status).toBe(200)
  })

  it("count as several if their headers are large", async () => {
    const { connectAs, holds } = await holding({ requestsPerUser: 10, connections: 100 })
    const large = { "x-mirrord-connect-params": Buffer.alloc(300_000, "a").toString("base64") }
    await connectAs("mallory", large)
    await holds(1)
    expect(await refusal(await connectAs("mallory", large))).toMatchObject(status(/large headers/u))
    await connectAs("mallory")
    await holds(2)
  })

  it("are not those of a primary, whose links come in one name", async () => {
    const { api, holds } = await holding({ requestsPerUser: 1, connections: 100 })
    const link = connectText().replace("x-client-der: AAAA\r\n", "")
    for (let i = 0; i < 5; i++) (await api.dial(certificates.proxy)).write(link)
    await holds(5)
  })
})

describe("the connections of all", () => {
  it("are bounded, and there is room again when one ends", async () => {
    const { connectAs, holds } = await holding({ requestsPerUser: 100, connections: 2 })
    const [first] = await Promise.all([connectAs("a"), connectAs("b")])
    await holds(2)
    expect(await refusal(await connectAs("c"))).toMatchObject(
      status(/there are 2, and no more.*bounds\.connections\)/u)
    )
    first.destroy()
    await holds(1)
    await connectAs("c")
    await holds(2)
  })
})
