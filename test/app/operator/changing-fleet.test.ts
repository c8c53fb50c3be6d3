import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import type { FleetDocuments } from "../../../src/domain/fleet/parse-configuration.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { ChangingFiles, documentsOf } from "../../support/changing-files.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { connectTo, memberOf, opened, startWorld } from "../../support/memory-session.ts"
import { type MemoryWorld, openConnection } from "../../support/memory-world.ts"

const parent = "mc-00000000000000ff"

/** The clusters a and b, of which a has another address. */
const movedDefault: FleetDocuments = {
  ...documentsOf(["a"]),
  clusters: {
    _tag: "Parsed",
    value: {
      clusters: [
        { name: "a", server: "https://elsewhere", authType: "bearerToken" },
        { name: "b", server: "https://b", authType: "bearerToken" }
      ]
    }
  }
}

/** The lines in the client's log, and whether it was cut off. */
const listen = (channel: FrameChannel) => {
  const client: { readonly log: Array<string>; ended: boolean } = { log: [], ended: false }
  channel.open({
    message: (bytes) => {
      const decoded = daemonMessage.decode(bytes)
      if (decoded._tag === "Decoded" && decoded.value._tag === "LogMessage")
        client.log.push(decoded.value.value.message)
    },
    ended: () => {
      client.ended = true
    },
    drained: () => {},
    ignored: () => {}
  })
  channel.send(clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29.0" }))
  return client
}

/** A client of a session in the clusters of the start, and the files by which the fleet changes. */
const start = Effect.fnUntraced(function* (...clusters: ReadonlyArray<string>) {
  const files = new ChangingFiles(documentsOf(clusters))
  const configuration = yield* makeConfigurationSource(files, configurationOf(clusters))
  const { certificate, world } = yield* startWorld({ members: configurationOf(clusters).members }, { configuration })
  const channel = opened(yield* connectTo(world.primary, request(certificate)))
  const client = listen(channel)
  yield* pass("1 second")
  channel.send(clientMessage.encode({ _tag: "ReadyForLogs" }))
  const change = (...documents: Parameters<typeof documentsOf>) =>
    Effect.suspend(() => {
      client.log.length = 0
      files.write(documentsOf(...documents))
      return pass("20 seconds")
    })
  return { certificate, world, client, change, files }
})

const ready = ({ primary: { api } }: MemoryWorld, name = parent): Readonly<Record<string, unknown>> => {
  const sessions = at(api.peek(mirrordMultiClusterSessions, name), "status", "clusterSessions") as
    | Readonly<Record<string, { readonly ready: boolean; readonly error?: string }>>
    | undefined
  return Object.fromEntries(Object.entries(sessions ?? {}).map(([name, entry]) => [name, entry.error ?? entry.ready]))
}

const status = ({ primary }: MemoryWorld) =>
  Effect.map(primary.operator?.describe ?? Effect.succeed({}), (operator) => at(operator, "status"))

const conditionOf = (world: MemoryWorld) =>
  Effect.map(status(world), (found) =>
    asObjects(at(found, "conditions")).find(({ type }) => type === "ConfigurationInUse")
  )

/** The Events about the operator itself. */
const told = ({ primary: { api } }: MemoryWorld): ReadonlyArray<unknown> =>
  api
    .peekAll(events)
    .filter((event) => at(event, "involvedObject", "kind") !== "MirrordMultiClusterSession")
    .map((event) => `${String(event["reason"])}: ${String(event["message"])}`)

describe("an EKS cluster for which no token can be made", () => {
  it.effect("is told of in the status and by an Event, and the other clusters are served", function* () {
    const { members } = configurationOf(["a", "b"])
    const eks = { _tag: "Eks", region: "eu-west-1" } as const
    const { certificate, world } = yield* startWorld({
      members: members.map((member) => (member.name === "b" ? { ...member, auth: eks } : member))
    })
    yield* pass("30 seconds")
    const problem = "this program has no identity in a cloud; use authType bearerToken or mtls"
    assert.deepStrictEqual(told(world), [`CredentialsFailed: Cluster b gets no new credentials: ${problem}.`])
    const clusters = asObjects(at(yield* status(world), "connected_clusters"))
    assert.deepStrictEqual(
      clusters.map((cluster) => at(cluster, "error", "message")),
      [undefined, `no token can be made for it: ${problem}`]
    )
    opened(yield* connectTo(world.primary, request(certificate)))
    assert.deepInclude(ready(world), { a: true })
  })
})

describe("a running session", () => {
  it.effect(
    "is interrupted by another address of its default cluster, and goes on when its client connects again",
    function* () {
      const { certificate, client, files, world } = yield* start("a", "b")
      files.write(movedDefault)
      yield* pass("5 seconds")
      assert.isTrue(client.ended)
      const again = listen(opened(yield* connectTo(world.primary, request(certificate))))
      yield* pass("20 seconds")
      assert.deepStrictEqual([ready(world), again.ended], [{ a: true, b: true }, false])
    }
  )

  it.effect(
    "does not notice a configuration that is refused; the operator's object and an Event say why it is",
    function* () {
      const { change, client, files, world } = yield* start("a", "b")
      const condition = conditionOf(world)
      assert.deepInclude(yield* condition, { type: "ConfigurationInUse", status: "True", reason: "InUse" })
      yield* change(["b"])
      const problem =
        'multicluster-config.yaml, defaultCluster: the operator runs with "a" (found "b"); ' +
        "restart the operator, or set the former value back."
      assert.deepInclude(yield* condition, {
        type: "ConfigurationInUse",
        status: "False",
        reason: "Refused",
        message: problem
      })
      assert.deepStrictEqual(told(world), [
        `ConfigurationRefused: The changed configuration is not used, the last good one stays: ${problem}`
      ])
      files.write({ ...documentsOf(["a"]), clusters: { _tag: "NotYaml", reason: "a tab" } })
      yield* pass("20 seconds")
      assert.deepStrictEqual(
        [ready(world), client],
        [
          { a: true, b: true },
          { log: [], ended: false }
        ]
      )
      yield* change(["a", "b"])
      assert.deepInclude(yield* condition, { status: "True" })
      assert.deepStrictEqual(
        [ready(world), client],
        [
          { a: true, b: true },
          { log: [], ended: false }
        ]
      )
    }
  )
})

describe("a session that is starting", () => {
  it.effect("goes on when its default cluster gets another address", function* () {
    const files = new ChangingFiles(documentsOf(["a", "b"]))
    const configuration = yield* makeConfigurationSource(files, configurationOf(["a", "b"]))
    const members = configurationOf(["a", "b"]).members
    const { certificate, world } = yield* startWorld({ members }, { configuration })
    memberOf(world, "a").api.before = ({ verb }) => (verb === "create" ? Effect.sleep("3 seconds") : Effect.void)
    const connection = yield* Effect.forkChild(Effect.result(openConnection(world.primary, request(certificate))))
    yield* pass("1 second")
    assert.deepStrictEqual(ready(world), { a: false, b: true })
    files.write(movedDefault)
    yield* pass("10 seconds")
    assert.isTrue(Result.isSuccess(yield* Fiber.join(connection)))
    assert.deepStrictEqual(ready(world), { a: true, b: true })
  })
})
