/** A cell with the tunnels of many members: an event of one of them costs the same as with few. */

import { Clock, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { startCell } from "../../../src/app/outbound/cell.ts"
import { type ClusterName, clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { admittedKeysData } from "../../../src/domain/outbound/admitted-keys.ts"
import { writeLine } from "../../../src/domain/outbound/control-message.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { type CellOptions, type CellTunnel, TunnelListener } from "../../../src/ports/tunnel.ts"
import { it } from "../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { turns } from "../../support/turns.ts"

const binding = "0".repeat(64)
const holds = { epoch: "one", number: 1, hash: binding }
const hello = writeLine({ _tag: "Hello", protocol: 1, version: "1", capabilities: [], clock: 0, holds, binding })
const passing = Effect.promise(() => turns(20))

/** A primary's cell, and what it has looked at. */
class Many {
  readonly api = new MemoryKubeApi("primary")
  /** Times that the bytes of a tunnel were asked for, as each look at it does. */
  looks = 0
  /** Times that the fleet was asked for a member. */
  judged = 0
  readonly ended: Array<string> = []
  #now = (): number => 0
  #listener: CellOptions | undefined

  readonly start = Effect.gen({ self: this }, function* () {
    const clock = yield* Clock.Clock
    this.#now = () => clock.currentTimeMillisUnsafe()
    const listen = (options: CellOptions) =>
      Effect.sync(() => {
        this.#listener = options
        return options
      })
    const isConfigured = (): boolean => {
      this.judged++
      return true
    }
    yield* startCell({
      api: this.api,
      namespace,
      settings: { hosts: ["::"], port: 1, bootstrapPort: 2, bootstrapRanges: [], certificateHours: 24 },
      isConfigured,
      configured: () => [],
      listen: () => () => {}
    }).pipe(Effect.provideService(TunnelListener, { listen }))
  })

  /** Admits these keys of a member. */
  admit(name: ClusterName, ...keys: ReadonlyArray<string>): void {
    const labels = { [credentialsLabel]: "true" }
    const secret = { metadata: { labels }, data: admittedKeysData(keys) }
    this.api.write(secrets, credentialsSecretName(name, sha256Hex), secret, namespace)
  }

  /** A tunnel that is welcomed. `hours`: until its certificate ends. */
  dial(name: ClusterName, keyId: string, hours = 24): void {
    const over = Deferred.makeUnsafe<string>()
    let say: (line: string) => void = () => {}
    const tunnel: CellTunnel = {
      binding,
      member: { name, keyId, until: this.#now() + hours * 3_600_000 },
      from: "192.0.2.1",
      send: () => {},
      listen: (onLine) => (say = onLine),
      received: () => ++this.looks,
      ended: Deferred.await(over),
      destroy: (why) => {
        this.ended.push(`${name}: ${why}`)
        Deferred.doneUnsafe(over, Effect.succeed(why))
      },
      drain: () => {},
      lanes: () => 0,
      openLane: () => {
        throw new Error("there is no member")
      }
    }
    this.#listener?.accepted(tunnel)
    say(hello)
  }
}

const member = (at: number): ClusterName => clusterName(`cluster-${at}`)
const key = (at: number): string => sha256Hex(`key ${at}`)
const count = 50

/** A cell with a tunnel of each of many members, which has looked at them. */
const withMany = Effect.gen(function* () {
  const many = new Many()
  for (let at = 0; at <= count; at++) many.admit(member(at), key(at))
  yield* many.start
  for (let at = 0; at < count; at++) {
    many.dial(member(at), key(at))
    yield* passing
  }
  return many
})

describe("a cell of many members", () => {
  it.effect("does not look at all tunnels for each that comes, and sees all of them every five seconds", function* () {
    const many = yield* withMany
    expect(many.looks).toBeLessThanOrEqual(count)
    const before = many.looks
    yield* TestClock.adjust("5 seconds")
    expect(many.looks - before).toBe(count)
  })

  it.effect("judges the member whose Secret has changed alone", function* () {
    const many = yield* withMany
    many.judged = 0
    many.admit(member(7), key(99))
    yield* passing
    expect(many.ended).toEqual([expect.stringContaining("cluster-7: The primary does not admit this key")])
    expect(many.judged).toBeLessThanOrEqual(2)
  })

  it.effect("looks sooner where a tunnel has less time", function* () {
    const many = yield* withMany
    many.dial(member(count), key(count), 2 / 3_600)
    yield* passing
    yield* TestClock.adjust("2 seconds")
    expect(many.ended).toEqual([expect.stringContaining(`cluster-${count}: the certificate`)])
  })
})
