import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { type MemoryCluster, type MemoryWorld, openConnection, primaryIdentity } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { virtualTime } from "../../support/virtual-time.ts"

const parent = "mc-00000000000000ff"
const caller = { user: "ann", groups: ["developers"], extra: {} }

/** Collects what a client hears. */
const listen = (
  channel: FrameChannel
): { readonly heard: Array<DaemonMessage>; readonly ended: () => string | undefined } => {
  const heard: Array<DaemonMessage> = []
  let ended: string | undefined
  channel.open({
    message: (bytes) => {
      const decoded = daemonMessage.decode(bytes)
      if (decoded._tag === "Decoded") heard.push(decoded.value)
    },
    ended: (reason) => {
      ended = reason
    },
    drained: () => {},
    ignored: () => {}
  })
  return { heard, ended: () => ended }
}

/** The lines in a client's log. */
const logOf = (channel: FrameChannel): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const { heard } = listen(channel)
    channel.send(clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29.0" }))
    yield* pass("1 second")
    channel.send(clientMessage.encode({ _tag: "ReadyForLogs" }))
    yield* pass("10 seconds")
    return heard.filter((message) => message._tag === "LogMessage").map(({ value }) => value.message)
  })

const connect = (world: MemoryWorld, wanted: ConnectRequest) => connectTo(world.primary, wanted)

const statusOf = (world: MemoryWorld) =>
  world.primary.api.peek(mirrordMultiClusterSessions, parent)?.["status"] as
    | {
        readonly phase?: string
        readonly clusterSessions?: Readonly<Record<string, { readonly ready: boolean; readonly error?: string }>>
      }
    | undefined

describe("a session through three operators", () => {
  it.effect(
    "is held until it is usable, has a child in each cluster, and takes the environment from the default",
    function* () {
      const { certificate, world } = yield* startWorld()
      const channel = opened(yield* connect(world, request(certificate)))
      assert.strictEqual(statusOf(world)?.phase, "Ready")
      for (const [name, { api }] of world.members) {
        assert.deepStrictEqual(
          api.peekAll(mirrordClusterSessions).map(({ metadata }) => metadata.name),
          [`${parent}-${name}`]
        )
      }
      const { heard } = listen(channel)
      channel.send(clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29.0" }))
      channel.send(
        clientMessage.encode({
          _tag: "GetEnvVarsRequest",
          value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
        })
      )
      channel.send(clientMessage.encode({ _tag: "Ping" }))
      yield* pass("1 second")
      assert.deepStrictEqual(heard.map(({ _tag }) => _tag).sort(), [
        "GetEnvVarsResponse",
        "Pong",
        "SwitchProtocolVersionResponse"
      ])
      const env = heard.find((message) => message._tag === "GetEnvVarsResponse")
      assert.deepStrictEqual(env, {
        _tag: "GetEnvVarsResponse",
        value: { _tag: "Ok", value: new Map([["CLUSTER", "a"]]) }
      })
    }
  )

  it.effect("stores short and harmless texts, whatever its client calls itself", function* () {
    const { certificate, world } = yield* startWorld()
    const nasty = `\u001b[2J\u202e\n${"x".repeat(400_000)}`
    const query = new URLSearchParams({ connect: "true", key: "k\u001b[31m\u202e", header_filter: "x: \u009b" })
    opened(
      yield* connect(
        world,
        request(certificate, {
          caller: { ...caller, user: nasty },
          clientName: nasty,
          clientHostname: nasty,
          clientVersion: nasty,
          query: query.toString()
        })
      )
    )
    const other = yield* certificateOf(world.primary, "evil\n\u001b]0;pwned\u0007\u202e")
    opened(
      yield* connect(
        world,
        request(other, { sessionId: "1", clientName: undefined, clientHostname: undefined, query: "connect=true" })
      )
    )
    const objects = [
      ...world.primary.api.peekAll(mirrordMultiClusterSessions),
      ...[...world.members.values()].flatMap(({ api }) => api.peekAll(mirrordClusterSessions))
    ]
    assert.lengthOf(objects, 2 * (1 + world.members.size))
    for (const object of objects) {
      const text = JSON.stringify(object)
      assert.isBelow(text.length, 10_000)
      assert.notMatch(text, /[\u007f-\u009f]|\\u00|\p{Bidi_Control}/u)
    }
  })

  it.effect("is refused for a key, a filter or a namespace that is no such thing, and leaves no object", function* () {
    const { certificate, world } = yield* startWorld()
    const long = "x".repeat(400_000)
    const refusals: ReadonlyArray<readonly [change: Partial<ConnectRequest>, names: string]> = [
      [{ query: `connect=true&key=${long}` }, "key cannot be used: it has 400000 bytes, at most 4096"],
      [{ query: `connect=true&header_filter=${long}` }, "header_filter cannot be used: it has 400000 bytes"],
      [{ namespace: ".." }, 'namespace ".." cannot be one'],
      [{ namespace: long }, "cannot be one"],
      [{ target: `deployment.${long}` }, "has 400011 characters; at most 512"]
    ]
    for (const [change, names] of refusals) {
      const refused = refusedWith(yield* connect(world, request(certificate, change)))
      assert.strictEqual(refused.code, 400)
      assert.include(refused.message, names)
      assert.isBelow(refused.message.length, 1_024)
    }
    assert.lengthOf(world.primary.api.peekAll(mirrordMultiClusterSessions), 0)
  })

  it.effect(
    "closes the links of a client that leaves before it was answered, though the session goes on",
    function* () {
      const { certificate, world } = yield* startWorld()
      const scope = yield* Scope.make()
      const fiber = yield* Effect.forkChild(
        world.primary.operator?.connect(request(certificate)).pipe(Scope.provide(scope)) ?? Effect.die("no operator"),
        { startImmediately: true }
      )
      for (let i = 0; i < 60 && fiber.pollUnsafe() === undefined; i++) yield* pass("500 millis")
      yield* Fiber.join(fiber)
      const connections = () => [...world.members.values()].map(({ agentConnections }) => agentConnections)
      // One that keeps the agent alive, one of the link.
      assert.deepStrictEqual(connections(), [2, 2])
      yield* Scope.close(scope, Exit.void)
      yield* pass("1 second")
      assert.deepStrictEqual(connections(), [1, 1])
      const link = yield* Scope.make()
      yield* Effect.forkChild(
        memberOf(world, "b")
          .operator?.connect(request(undefined, { caller: primaryIdentity }))
          .pipe(Scope.provide(link)) ?? Effect.die("no operator")
      )
      yield* pass("1 second")
      assert.deepStrictEqual(connections(), [1, 2])
      yield* Scope.close(link, Exit.void)
      yield* pass("1 second")
      assert.deepStrictEqual(connections(), [1, 1])
      assert.strictEqual(statusOf(world)?.phase, "Ready")
    }
  )

  it.effect("starts without a member that does not have the target, and says so", function* () {
    const { certificate, world } = yield* startWorld()
    memberOf(world, "b").api.erase(deployments, "myapp", "default")
    const channel = opened(yield* connect(world, request(certificate)))
    assert.match(statusOf(world)?.clusterSessions?.["b"]?.error ?? "", /no deployment\/myapp/)
    assert.include((yield* logOf(channel)).join(), "cluster b")
  })

  describe("whose members' API servers say 403", () => {
    const detail =
      'targets.operator.metalbear.co "deployment.myapp" is forbidden: User "primary" cannot proxy resource "targets" ' +
      'in API group "operator.metalbear.co" in the namespace "default"'
    /** A session with one connection, whose members forbid further ones. */
    const forbidding = Effect.gen(function* () {
      const { certificate, world } = yield* startWorld()
      opened(yield* connect(world, request(certificate)))
      const forbid = (name: string, isForbidden: boolean) => {
        const { api } = memberOf(world, name)
        api.before = ({ plural, verb }) =>
          isForbidden && plural === pods.plural && verb === "list"
            ? Effect.fail(new KubeError({ cluster: name, operation: verb, reason: "Forbidden", code: 403, detail }))
            : Effect.void
      }
      return { again: connect(world, request(certificate)), forbid, world }
    })

    it.effect("for a moment takes its further connections, and tells of nothing", function* () {
      const { again, forbid, world } = yield* forbidding
      for (const name of ["a", "b"]) forbid(name, true)
      yield* Effect.forkChild(
        Effect.andThen(
          Effect.sleep("3 seconds"),
          Effect.sync(() => world.members.forEach((_member, name) => forbid(name, false)))
        )
      )
      assert.deepStrictEqual(yield* logOf(opened(yield* again)), [])
      assert.deepStrictEqual(
        [...world.members.values()].map(({ agentConnections }) => agentConnections),
        [3, 3]
      )
    })

    it.effect("for good is told of the other cluster, and refused for the default", function* () {
      const { again, forbid } = yield* forbidding
      forbid("b", true)
      const [warning, ...more] = yield* logOf(opened(yield* again))
      assert.include(warning, "cluster b takes no part in the session")
      assert.deepStrictEqual(more, [])
      forbid("a", true)
      const { code, message } = refusedWith(yield* again)
      assert.strictEqual(code, 403)
      assert.include(message, detail)
    })
  })

  it.effect(
    "is refused with 404 when the default cluster does not have the target, and keeps no children",
    function* () {
      const { certificate, world } = yield* startWorld()
      memberOf(world, "a").api.erase(deployments, "myapp", "default")
      const error = refusedWith(yield* connect(world, request(certificate)))
      assert.strictEqual(error.code, 404)
      assert.match(error.message, /cluster a.*deployment\/myapp/)
      yield* pass("20 seconds")
      assert.strictEqual(statusOf(world)?.phase, "Failed")
      for (const { api } of world.members.values()) assert.lengthOf(api.peekAll(mirrordClusterSessions), 0)
    }
  )

  it.effect(
    "is refused within ten seconds, never with a code on which clients retry, when the default cluster is down",
    function* () {
      const { certificate, world } = yield* startWorld()
      memberOf(world, "a").api.setReachable(false)
      const error = refusedWith(yield* connect(world, request(certificate)))
      assert.notInclude([429, 503, 504], error.code)
      assert.match(error.message, /cluster a/)
    }
  )

  it.effect("says why when the agent does not start", function* () {
    const { certificate, world } = yield* startWorld()
    memberOf(world, "a").agentProblem = "its image cannot be pulled: no such image"
    const error = refusedWith(yield* connect(world, request(certificate)))
    assert.strictEqual(error.code, 500)
    assert.match(error.message, /no such image/)
  })

  it.live("tells the log once of each other Kubernetes user who comes with its certificate, and lets them in", () => {
    const lines: Array<unknown> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations, level, message }) => {
      if (level === "WARN") lines.push([message, annotations])
    })
    return Effect.gen(function* () {
      const { certificate, world } = yield* startWorld()
      const a = memberOf(world, "a")
      const as = (user: string) => ({ caller: { ...caller, user } })
      for (const user of ["ann", "role/ann-2\u202e", "ann", "role/ann-2\u202e"])
        opened(yield* connect(world, request(certificate, as(user))))
      const here = yield* certificateOf(a)
      for (const user of ["ann", "bob"]) opened(yield* connectTo(a, request(here, { sessionId: "1", ...as(user) })))
      // A stranger's own certificate is refused, which the audit says.
      refusedWith(yield* connect(world, request(yield* certificateOf(world.primary), as("eve"))))
      const message = "another Kubernetes user comes with the certificate of a session"
      assert.deepStrictEqual(lines, [
        [message, { session: parent, owner: "ann", user: "role/ann-2\ufffd" }],
        [message, { session: "0000000000000001", owner: "ann", user: "bob" }]
      ])
    }).pipe(
      Effect.scoped,
      Effect.provide(virtualTime),
      Effect.provideService(CurrentRepeatedLines, new RepeatedLines()),
      Effect.provide(Logger.layer([logger]))
    )
  })

  it.live("tells the audit how many parameters nobody knows here, at the primary and at members", () => {
    const lines: Array<unknown> = []
    const logger = Logger.map(Logger.formatStructured, ({ annotations: { act, ...fields } }) => {
      const { clusters, ignoredNames, ignoredParameters } = fields
      if (act === "connected") lines.push([clusters, ignoredParameters, ignoredNames])
    })
    return Effect.gen(function* () {
      const { certificate, world } = yield* startWorld()
      const known = request(certificate)
      const unknown = Array.from({ length: 12 }, (_, index) => `new_${index}=1`).join("&")
      opened(yield* connect(world, { ...known, query: `${known.query}&${unknown}&new_0=1&a%0Ab` }))
      const names = Array.from({ length: 10 }, (_, index) => `new_${index}`)
      assert.deepInclude(lines, [["a", "b"], 14, names])
      assert.deepInclude(lines, [["a"], 14, names])
      opened(yield* connect(world, { ...known, sessionId: "2", query: `${known.query}&a%0Ab` }))
      assert.deepInclude(lines, [["a", "b"], 1, ["a\\u000ab"]])
      opened(yield* connect(world, { ...known, sessionId: "3" }))
      assert.deepInclude(lines, [["a", "b"], undefined, undefined])
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(virtualTime, Logger.layer([logger]))))
  })

  it.effect("of a newer client is warned of parameters that are not known, or refused for what they ask", function* () {
    const { certificate, world } = yield* startWorld()
    const { query } = request(certificate)
    const member = memberOf(world, "a")
    const there = yield* certificateOf(member)
    for (const [cluster, shown] of [
      [world.primary, certificate],
      [member, there]
    ] as const) {
      const ask = (more: string) => connectTo(cluster, { ...request(shown), query: `${query}&${more}` })
      const log = yield* logOf(opened(yield* ask("of_the_future=1")))
      const warned = log.filter((line) => line.includes('does not know, and nothing acts on them: "of_the_future"'))
      assert.lengthOf(warned, 1)
      const { code, message } = refusedWith(yield* ask("of_the_future=1&nats_splits=%7B%22a%22%3A1%7D"))
      assert.strictEqual(code, 400)
      assert.include(message, 'does not know the connect parameter "nats_splits"')
    }
  })

  it.effect(
    "is not connected to under another target's or namespace's URL, which is all that the API server has checked",
    function* () {
      const { certificate, world } = yield* startWorld()
      opened(yield* connect(world, request(certificate)))
      for (const change of [{ namespace: "other" }, { target: "deployment.other" }]) {
        const error = refusedWith(yield* connect(world, request(certificate, change)))
        assert.strictEqual(error.code, 403)
        assert.match(error.message, /is not of deployment\./)
      }
      opened(yield* connect(world, request(certificate)))
    }
  )

  it.effect("of a user in one cluster is not connected to under another URL either", function* () {
    const { world } = yield* startWorld()
    const a = memberOf(world, "a")
    const certificate = yield* certificateOf(a)
    const ask = (change: Partial<ConnectRequest> = {}) => Effect.result(openConnection(a, request(certificate, change)))
    opened(yield* ask())
    for (const change of [
      { namespace: "other" },
      { target: "deployment.other" },
      { target: "deployment.myapp.container.main" },
      { target: "targetless" }
    ]) {
      assert.strictEqual(refusedWith(yield* ask(change)).code, 403)
    }
    assert.match(
      refusedWith(yield* Effect.result(openConnection(a, request(yield* certificateOf(a))))).message,
      /belongs to another user/
    )
    opened(yield* ask())
  })

  it.effect("is not connected to by whoever may only read targets; who may proxy them is asked for", function* () {
    const { certificate, world } = yield* startWorld()
    const error = refusedWith(yield* connect(world, request(certificate, { checked: "get" })))
    assert.strictEqual(error.code, 403)
    assert.match(error.message, /cannot proxy resource "targets"/)
    const trusted = { ...caller, user: primaryIdentity.user }
    opened(yield* connect(world, request(certificate, { checked: "get", caller: trusted })))
  })

  it.effect("is not deleted through another namespace's URL", function* () {
    const { certificate, world } = yield* startWorld()
    opened(yield* connect(world, request(certificate)))
    const { operator } = world.primary
    if (operator === undefined) throw new Error("no operator")
    const refused = refusedWith(yield* Effect.result(operator.deleteSession("255", caller, "other")))
    assert.strictEqual(refused.code, 404)
    yield* operator.deleteSession("255", caller, "default")
  })

  it.effect("ends at once, for good and everywhere when it is deleted by any of its names", function* () {
    for (const reference of ["255", "FF", parent]) {
      const { certificate, world } = yield* startWorld()
      const channel = opened(yield* connect(world, request(certificate)))
      const client = listen(channel)
      yield* world.primary.operator?.deleteSession(reference, caller) ?? Effect.die("no operator")
      for (let i = 0; i < 10; i++) yield* pass("1 second")
      assert.strictEqual(client.heard.at(-1)?._tag, "Close", reference)
      assert.isDefined(client.ended())
      assert.lengthOf(world.primary.api.peekAll(mirrordMultiClusterSessions), 0)
      for (const { api } of world.members.values()) assert.lengthOf(api.peekAll(mirrordClusterSessions), 0)
    }
  })

  it.effect("goes on without a lost member and takes it back when it returns", function* () {
    const { certificate, world } = yield* startWorld()
    opened(yield* connect(world, request(certificate)))
    const b = memberOf(world, "b")
    b.api.setReachable(false)
    for (let i = 0; i < 4; i++) yield* pass("10 seconds")
    assert.strictEqual(statusOf(world)?.phase, "Ready")
    assert.isFalse(statusOf(world)?.clusterSessions?.["b"]?.ready)
    b.api.setReachable(true)
    for (let i = 0; i < 6; i++) yield* pass("10 seconds")
    assert.isTrue(statusOf(world)?.clusterSessions?.["b"]?.ready)
  })
})

describe("an operator's description of itself", () => {
  it.effect("names a kind that cannot be listed, as long as that lasts", function* () {
    const { world } = yield* startWorld()
    const { api, operator } = world.primary
    const conditions = Effect.map(operator?.describe ?? Effect.die("no operator"), (object) =>
      ((object as MirrordOperator).status?.conditions ?? []).map(({ message, type }) => `${type}: ${message}`)
    )
    assert.deepStrictEqual(yield* conditions, [])
    api.before = ({ plural, verb }) =>
      verb === "list" && plural === mirrordMultiClusterSessions.plural
        ? new KubeError({ cluster: "p", operation: "list", reason: "Other", detail: "no storage" })
        : Effect.void
    api.endWatches()
    api.write(deployments, "any", {}, "default")
    api.forgetHistory()
    for (let i = 0; i < 6; i++) yield* pass("5 seconds")
    const [condition = "", ...others] = yield* conditions
    assert.deepStrictEqual(others, [])
    assert.match(condition, /^CollectionsRead: The mirrordmulticlustersessions\.operator.* listed .*: no storage\.$/u)
    api.before = () => Effect.void
    for (let i = 0; i < 6; i++) yield* pass("5 seconds")
    assert.deepStrictEqual(yield* conditions, [])
  })
})

describe("the feature of sessions over many clusters", () => {
  it.effect("is advertised by a primary alone: it makes clients leave the target to the operator", function* () {
    const { world } = yield* startWorld()
    const featuresOf = ({ operator }: MemoryCluster) =>
      Effect.map(operator?.describe ?? Effect.die("no operator"), (object) =>
        (object as MirrordOperator).spec.supported_features?.includes("MultiClusterPrimary")
      )
    assert.deepStrictEqual(yield* Effect.all([world.primary, memberOf(world, "a")].map(featuresOf)), [true, false])
  })
})

describe("bad connects", () => {
  const cases: ReadonlyArray<readonly [string, Partial<ConnectRequest>, number, RegExp]> = [
    ["no session id", { sessionId: undefined }, 400, /x-session-id is missing/],
    ["a session id that is no number", { sessionId: "abc" }, 400, /x-session-id is "abc"/],
    ["a target of unknown kind", { target: "banana.split" }, 400, /no kind "banana"/],
    ["a broken parameter", { query: "connect=true&sqs_splits=%7B" }, 400, /sqs_splits/],
    [
      "a split queue",
      { query: "connect=true&rmq_splits=%7B%22q%22%3A%7B%7D%7D" },
      400,
      /does not serve queue splitting/
    ],
    ["a forged certificate", { certificate: "AAAA" }, 403, /certificate/]
  ]
  it.effect.each(cases)("with %s get a clear Status", function* ([, change, code, message]) {
    const { certificate, world } = yield* startWorld()
    const error = refusedWith(yield* connect(world, request(certificate, change)))
    assert.strictEqual(error.code, code)
    assert.match(error.message, message)
    assert.lengthOf(world.primary.api.peekAll(mirrordMultiClusterSessions), 0)
  })

  it.effect("of a user without certificate are refused; only a primary's identity may do that", function* () {
    const { world } = yield* startWorld()
    const error = refusedWith(yield* connect(world, request(undefined)))
    assert.strictEqual(error.code, 403)
    assert.match(error.message, /ann connects without a user certificate/)
  })
})
