import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ConnectRequest, OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import type { ApiError } from "../../../src/app/api/status.ts"
import { LeaseTerm } from "../../../src/app/kernel/term.ts"
import { makeElectedFacade } from "../../../src/app/leadership/elected-facade.ts"
import {
  agentsWhileLeading,
  apiWhileLeading,
  connectorWhileLeading,
  facadeWhileLeading
} from "../../../src/app/leadership/while-leading.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import type { Agents } from "../../../src/ports/agents.ts"
import type { ClusterAccess } from "../../../src/ports/cluster-connector.ts"
import { it } from "../../support/effect-it.ts"
import { fakeChannel } from "../../support/fake-channel.ts"
import { idleFacade } from "../../support/idle-facade.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const setup = () => {
  const time = { now: 0 }
  const term = new LeaseTerm(0, 0, defaultLeaseTimes, () => time.now)
  const server = new MemoryKubeApi("c")
  return { time, term, server, api: apiWhileLeading(term, server) }
}
const map = { metadata: { name: "m" } }
const connectRequest: ConnectRequest = {
  caller: { user: "ann", groups: [], extra: {} },
  checked: "proxy",
  namespace: "default",
  target: "deployment.a",
  sessionId: "1",
  certificate: undefined,
  clientVersion: undefined,
  clientName: undefined,
  clientHostname: undefined,
  query: ""
}
const facade = (parts: Partial<OperatorFacade["Service"]>): OperatorFacade["Service"] => ({
  ...idleFacade,
  problems: Effect.succeed(["a problem"]),
  deleteSession: () => Effect.void,
  connect: () => Effect.never,
  ...parts
})

describe("while a replica leads", () => {
  it.effect(
    "its writes pass; after that none does, at the moment when it would leave, and reads still do",
    function* () {
      const { api, server, term, time } = setup()
      yield* api.create(configMaps, map, "n")
      yield* api.mergePatch(configMaps, "m", { data: { a: "1" } }, { namespace: "n" })
      // Made while it leads, carried out later.
      const late = [
        api.create(configMaps, map, "n"),
        api.mergePatch(configMaps, "m", { data: { a: "2" } }, { namespace: "n" }),
        api.delete(configMaps, "m", { namespace: "n" })
      ]
      time.now = 10_000
      for (const write of late) assert.strictEqual((yield* Effect.flip(write)).reason, "NotLeading")
      assert.deepInclude(yield* api.get(configMaps, "m", "n"), { data: { a: "1" } })
      assert.strictEqual((yield* api.list(configMaps)).items.length, 1)
      yield* Stream.runDrain(Stream.take(api.watch(configMaps, "0"), 1))
      term.renewed(10_000)
      yield* api.delete(configMaps, "m", { namespace: "n" })
      term.end()
      assert.strictEqual((yield* Effect.flip(api.create(configMaps, map, "n"))).reason, "NotLeading")
      assert.strictEqual(server.peekAll(configMaps).length, 0)
    }
  )

  it.effect("links and agents wait for a late renewal, and are refused after that", function* () {
    const { server, term, time } = setup()
    const channel = fakeChannel()
    let dials = 0
    const dial = Effect.sync(() => {
      dials++
      return channel
    })
    const agents: Agents["Service"] = {
      ensure: () => Effect.as(dial, { name: "agent", uid: "u1", host: "h", port: 1 }),
      giveUp: () => Effect.asVoid(dial),
      connect: () => dial
    }
    const led = agentsWhileLeading(term, agents)
    const terms: Array<string | undefined> = []
    const link: ClusterAccess["link"] = (asked) =>
      Effect.andThen(
        Effect.sync(() => terms.push(asked.term)),
        dial
      )
    const { own } = connectorWhileLeading(term, { own: { api: server, link }, member: () => Effect.die("no member") })
    const request = { cluster: "c", sessionId: 1n, namespace: "n", target: "t", query: "", parametersInHeader: true }
    const owner = { apiVersion: "v1", kind: "K", name: "s", uid: "u" }
    const handle = { name: "agent", uid: "u1", host: "h", port: 1 }
    const all = Effect.all([own.link(request), led.ensure(undefined, owner), led.connect(handle)], { concurrency: 3 })
    time.now = 12_000
    const waiting = yield* Effect.forkChild(all)
    yield* TestClock.adjust("4 seconds")
    assert.strictEqual(dials, 0)
    term.renewed(12_000)
    yield* Fiber.join(waiting)
    assert.strictEqual(dials, 3)
    assert.deepStrictEqual(terms, [String(term.epoch)])
    time.now = 30_000
    const refused = yield* Effect.forkChild(
      Effect.all(
        [
          Effect.flip(own.link(request)),
          Effect.flip(led.ensure(undefined, owner)),
          Effect.flip(led.connect(handle)),
          Effect.flip(led.giveUp(handle))
        ],
        { concurrency: 3 }
      )
    )
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(
      (yield* Fiber.join(refused)).map(({ _tag }) => _tag),
      ["LinkRefused", "AgentFailed", "AgentUnreachable", "AgentFailed"]
    )
    assert.strictEqual(dials, 3)
  })

  it.effect("what a request writes waits for a late renewal too", function* () {
    const { api, server, term, time } = setup()
    const led = facadeWhileLeading(
      term,
      facade({
        deleteSessions: () =>
          Effect.andThen(Effect.sleep("1 second"), () => Effect.as(Effect.orDie(api.create(configMaps, map, "n")), 1))
      })
    )
    const request = yield* Effect.forkChild(led.deleteSessions("All", connectRequest.caller))
    yield* TestClock.adjust(1)
    time.now = 11_000
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(server.peekAll(configMaps).length, 0)
    term.renewed(11_000)
    assert.strictEqual(yield* Fiber.join(request), 1)
  })

  it.effect("requests and connections end with the term, so that clients come back to the next leader", function* () {
    const { term } = setup()
    const led = facadeWhileLeading(
      term,
      facade({ describe: Effect.never, connect: () => Effect.succeed({ serve: () => Effect.never }) })
    )
    const held = yield* Effect.forkChild(Effect.flip(led.describe))
    const { serve } = yield* led.connect(connectRequest)
    const serving = yield* Effect.forkChild(serve(fakeChannel()))
    yield* TestClock.adjust(1)
    term.end()
    assert.strictEqual((yield* Fiber.join(held)).code, 503)
    yield* Fiber.join(serving)
    assert.strictEqual((yield* Effect.flip(led.connect(connectRequest))).code, 503)
  })
})

describe("a replica that stands by", () => {
  it.effect("is well, and answers what is for the leader so that clients try again", function* () {
    const { facade: served, serve } = makeElectedFacade()
    assert.deepStrictEqual(yield* served.problems, [])
    const requests: ReadonlyArray<Effect.Effect<unknown, ApiError, Scope.Scope>> = [
      served.describe,
      served.issueCertificate("csr"),
      served.listSessions(undefined),
      served.deleteSession("1", connectRequest.caller),
      served.deleteSessions("All", connectRequest.caller),
      served.connect(connectRequest)
    ]
    for (const request of requests) {
      assert.strictEqual((yield* Effect.flip(request)).code, 503)
    }
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* serve(facade({}))
        assert.strictEqual(yield* served.issueCertificate("csr"), "PEM")
        assert.deepStrictEqual(yield* served.problems, ["a problem"])
      })
    )
    assert.strictEqual((yield* Effect.flip(served.describe)).code, 503)
  })
})
