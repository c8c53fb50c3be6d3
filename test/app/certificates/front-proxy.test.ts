/** The front proxy as the operator knows it from its ConfigMap, over a Kubernetes API in memory. */

import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { watchFrontProxy } from "../../../src/app/certificates/front-proxy.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const name = "extension-apiserver-authentication"
const data = (certificateAuthority: string, names = '["front-proxy-client"]') => ({
  data: {
    "requestheader-client-ca-file": certificateAuthority,
    "requestheader-allowed-names": names,
    "requestheader-username-headers": '["X-Remote-User"]'
  }
})
const authority = Effect.promise(() => createAuthority("front", Date.now))
const quiet = Effect.provide(Logger.layer([]))

describe("the front proxy", () => {
  it.effect("is known from the start, and every change of it at once, with one list and one watch", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("test")
      const [first, second] = [yield* authority, yield* authority]
      api.write(configMaps, name, data(first.caPem), "kube-system")
      api.write(configMaps, "another", data(second.caPem), "kube-system")
      const source = yield* watchFrontProxy(api)
      let changes = 0
      source.listen(() => void changes++)
      assert.strictEqual(source.known()?.certificateAuthority, first.caPem)
      api.write(configMaps, name, data(`${first.caPem}${second.caPem}`), "kube-system")
      yield* TestClock.adjust(1)
      assert.lengthOf(source.known()?.authorities ?? [], 2)
      api.write(configMaps, name, data(second.caPem, "[]"), "kube-system")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(
        [source.known()?.certificateAuthority, source.known()?.allowedNames, changes],
        [second.caPem, [], 2]
      )
      assert.deepStrictEqual(
        api.calls.map(({ verb }) => verb),
        ["list", "watch"]
      )
    }).pipe(Effect.scoped, quiet)
  )

  it.effect("is what it was while the ConfigMap says nothing that can be used, or is gone", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("test")
      const { caPem } = yield* authority
      api.write(configMaps, name, data(caPem), "kube-system")
      const source = yield* watchFrontProxy(api)
      for (const change of [data("no PEM"), data(caPem, "front-proxy-client"), data("")]) {
        api.write(configMaps, name, change, "kube-system")
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(
          [source.known()?.certificateAuthority, source.known()?.allowedNames],
          [caPem, ["front-proxy-client"]]
        )
      }
      api.erase(configMaps, name, "kube-system")
      yield* TestClock.adjust(1)
      assert.strictEqual(source.known()?.certificateAuthority, caPem)
    }).pipe(Effect.scoped, quiet)
  )

  it.effect("is unknown while it cannot be read; the start does not wait for it for ever", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("test")
      const { caPem } = yield* authority
      api.before = () =>
        Effect.fail(
          new KubeError({ cluster: "test", operation: "list", reason: "Forbidden", code: 403, detail: "no right" })
        )
      const starting = yield* Effect.forkChild(watchFrontProxy(api), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      const source = yield* Fiber.join(starting)
      assert.isUndefined(source.known())
      api.before = () => Effect.void
      api.write(configMaps, name, data(caPem), "kube-system")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(source.known()?.certificateAuthority, caPem)
    }).pipe(Effect.scoped, quiet)
  )
})
