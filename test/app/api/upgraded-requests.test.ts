import { once } from "node:events"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { collectGarbage } from "../../support/collect-garbage.ts"
import { turns } from "../../support/turns.ts"
import { connectText, makeCertificates, runApi } from "./running-api.ts"

it("a connection that was upgraded does not keep the headers of its request", async () => {
  const certificates = await makeCertificates()
  const api = await runApi(certificates, {}, { connect: () => Effect.succeed({ serve: () => Effect.never }) })
  const connect = async (headers: Readonly<Record<string, string>>) => {
    const socket = await api.dial(certificates.proxy)
    socket.write(connectText(headers))
    const [answer] = (await once(socket, "data")) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 101/)
  }
  const used = async (): Promise<number> => {
    await turns(2)
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  try {
    await connect({})
    const before = await used()
    const [connections, size] = [20, 500_000]
    for (let i = 0; i < connections; i++) await connect({ "x-filler": `${i}`.padEnd(size, "x") })
    expect((await used()) - before).toBeLessThan((connections * size) / 4)
  } finally {
    await api.stop()
  }
})
