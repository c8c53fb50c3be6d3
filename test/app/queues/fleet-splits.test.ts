/** Splits of queues in sessions over a fleet, from the user's connect to the last queue. */

import { assert, describe } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { asObjects, at } from "../../../src/domain/json.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { it } from "../../support/effect-it.ts"
import { refusedWith } from "../../support/memory-session.ts"
import { primaryIdentity } from "../../support/memory-world.ts"
import { logs } from "../policies/policed.ts"
import {
  begun,
  connect,
  killOperator,
  leftAfter,
  leftIn,
  passMinutes,
  readBy,
  restartOperator,
  sendTo,
  sessionName,
  type SplitFleet,
  splitFleet,
  type SplitFleetOptions,
  variableIn
} from "./split-fleet.ts"
import { leftOf } from "./split-life.ts"

/** A message for the user and another one into the queue of each cluster. */
const sendAll = Effect.fnUntraced(function* ({ a, b }: SplitFleet, start: string) {
  for (const one of [a, b]) for (const to of ["ann", "bob"]) yield* sendTo(one, `${start} ${one.name} ${to}`, to)
  yield* passMinutes(1)
})

/** How the session stands, as `mirrord operator status` says it. */
const phaseOf = ({ world: { primary } }: SplitFleet) =>
  Effect.map(primary.operator?.describe ?? Effect.die("no operator"), (object) => {
    const [session] = asObjects(at(object, "status", "multi_cluster_sessions"))
    return `${String(session?.["phase"])}: ${String(session?.["reason"])}`
  })

const allRead = (start: string): ReadonlyArray<string> => [
  `${start} a ann: ann`,
  `${start} a bob: a`,
  `${start} b ann: ann`,
  `${start} b bob: b`
]

const up = {
  sqs_splits: JSON.stringify({ "*": {} }),
  queue_modes: JSON.stringify({ "*": "steal" }),
  up_session_info: JSON.stringify({ autoQueueSplitting: true })
}
const star = { sqs_splits: JSON.stringify({ "*": { to: "^ann$" } }) }
const refunds = { sqs_splits: JSON.stringify({ refunds: { to: "^ann$" } }) }
const otherNames: SplitFleetOptions = { queues: { a: "orders-eu", b: "orders-us" } }
const shared = 'The queue "orders" is not split there: where its pods read the same queue as those of other clusters'
const sqsRights = (operation: string) => new RegExp(`SQS did not carry out ${operation} of .*Denied`, "u")

interface Told {
  /** The warning that the user reads about `b`; `undefined` if it takes part. */
  readonly without?: RegExp
  /** Seconds that the connect may take. */
  readonly within?: number
  /** Whether the program has the original queue, since there is nothing to split. */
  readonly isUnsplit?: boolean
}

describe("a session over clusters", () => {
  const rows: ReadonlyArray<readonly [string, SplitFleetOptions, object, Told]> = [
    ["that read one queue", {}, {}, {}],
    ["with queues of their own", otherNames, {}, {}],
    ["with accounts of their own", { isElsewhere: true }, {}, {}],
    [
      "of which one may send to its queue alone",
      { isElsewhere: true, allows: (operation) => operation === "SendMessageBatch" },
      {},
      { without: sqsRights("GetQueueAttributes") }
    ],
    [
      "of which one may send to its queue and see its attributes",
      { isElsewhere: true, allows: (operation) => ["SendMessageBatch", "GetQueueAttributes"].includes(operation) },
      {},
      {}
    ],
    [
      "that read one FIFO queue",
      { queues: { a: "orders.fifo", b: "orders.fifo" } },
      {},
      { without: /FIFO queue "orders\.fifo" is read by several clusters/u }
    ],
    ["of which one has a FIFO queue", { queues: { a: "orders.fifo", b: "orders" } }, {}, {}],
    ["of which another has a FIFO queue", { queues: { a: "orders", b: "orders.fifo" } }, {}, {}],
    ["of which one reads more", { more: ["refunds"] }, {}, {}],
    ["of which one reads more, for any queue", { more: ["refunds"] }, star, {}],
    [
      "of which one has no configuration",
      { configured: ["a"] },
      {},
      { without: /No MirrordSplitConfig.*its Events there say why there is no copy/u, within: 30 }
    ],
    [
      "of which one has splits switched off",
      { splitting: ["primary", "a"] },
      {},
      { without: /operator\.sqsSplitting/u }
    ],
    ["configured at the primary alone", { configured: ["primary"] }, {}, {}],
    ["by `mirrord up` without a configuration", { configured: [] }, up, { isUnsplit: true }],
    ["by `mirrord up` with one that is not the default's", { configured: ["b"] }, up, { isUnsplit: true }],
    ["by `mirrord up` where the default splits nothing", { splitting: ["primary", "b"] }, up, { isUnsplit: true }]
  ]
  it.effect.each(rows)(
    "splits the queues of clusters %s",
    function* ([, options, params, { isUnsplit = false, within = 3, without }]) {
      const fleet = yield* splitFleet(options)
      const { got, leave, queue, secs } = yield* begun(fleet, params)
      assert.isAtMost(secs, within)
      assert.strictEqual(queue.startsWith("mirrord-tmp-"), !isUnsplit)
      const told = logs(got).join()
      if (without === undefined) assert.strictEqual(told, "")
      else assert.match(told, without)
      assert.strictEqual(told.includes(shared), without !== undefined)
      assert.strictEqual(fleet.b.split.values("consumer").includes(fleet.b.queue), isUnsplit || without !== undefined)
      yield* sendAll(fleet, "m")
      const read = readBy(fleet, "m")
      assert.lengthOf(read, 4)
      if (!isUnsplit && without === undefined)
        assert.deepStrictEqual(
          read.map((one) => one.replace(/: [ab]$/u, ": pods")),
          allRead("m").map((one) => one.replace(/: [ab]$/u, ": pods"))
        )
      yield* leave
      assert.deepStrictEqual(yield* leftAfter(fleet), [])
    }
  )

  it.effect("tells other clusters of its queues before the default's pods have their names", function* () {
    const fleet = yield* splitFleet(otherNames)
    fleet.a.split.isReady = false
    const ordered = Effect.gen(function* () {
      while (fleet.b.member.api.peekAll(splitSessions).length === 0) yield* Effect.sleep(500)
      fleet.a.split.isReady = true
    })
    yield* Effect.forkScoped(ordered)
    const { secs } = yield* begun(fleet)
    assert.isAtMost(secs, 5)
  })

  it.effect("has its messages before a later one, also where it comes at the same time", function* () {
    const fleet = yield* splitFleet(otherNames)
    fleet.b.member.api.setReachable(false)
    yield* passMinutes(1)
    yield* begun(fleet)
    // Its id is the lower one.
    yield* connect(fleet, {}, undefined, "1")
    fleet.b.member.api.setReachable(true)
    yield* passMinutes(2)
    assert.lengthOf(fleet.b.member.api.peekAll(splitSessions), 2)
    yield* sendAll(fleet, "m")
    assert.deepStrictEqual(readBy(fleet, "m"), allRead("m"))
  })

  it.effect("leaves what its program has not read to the default's workload", function* () {
    const fleet = yield* splitFleet(otherNames)
    const { leave } = yield* begun(fleet)
    fleet.a.split.programs.delete("ann")
    yield* sendAll(fleet, "m")
    yield* leave
    // Long before nothing can send to its queue any more.
    yield* passMinutes(2)
    assert.deepStrictEqual(readBy(fleet, "m"), ["m a ann: a", "m a bob: a", "m b ann: a", "m b bob: b"])
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  const refusals: ReadonlyArray<readonly [string, SplitFleetOptions, number, RegExp, object?]> = [
    ["no configuration", { configured: ["b"] }, 30, /in cluster a: No MirrordSplitConfig or MirrordWorkloadQueueReg/u],
    ["splits switched off", { splitting: ["primary", "b"] }, 3, /in cluster a: Queues are not split in this cluster/u],
    ["no such queue", { more: ["refunds"] }, 3, /in cluster a: The queue "refunds" is unknown/u, refunds]
  ]
  it.effect.each(refusals)("is refused where its default has %s", function* ([, options, within, sentence, params]) {
    const fleet = yield* splitFleet(options)
    const { result, secs } = yield* connect(fleet, params)
    assert.isAtMost(secs, within)
    assert.match(refusedWith(result).message, sentence)
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  const breaks: ReadonlyArray<
    readonly [string, (fleet: SplitFleet) => Effect.Effect<void, never, Scope.Scope>, boolean]
  > = [
    ["another cluster that is away", (fleet) => outage(fleet, "b"), false],
    ["its default cluster that is away", (fleet) => outage(fleet, "a"), false],
    ["its primary that restarts", (fleet) => restartOperator(fleet, fleet.world.primary), true],
    ["its default's operator that restarts", (fleet) => restartOperator(fleet, fleet.a.member), true],
    ["another operator that restarts", (fleet) => restartOperator(fleet, fleet.b.member), true]
  ]
  const outage = Effect.fnUntraced(function* (fleet: SplitFleet, name: "a" | "b") {
    fleet[name].member.api.setReachable(false)
    yield* passMinutes(3)
    fleet[name].member.api.setReachable(true)
    yield* passMinutes(2)
  })
  it.effect.each(breaks)("outlives %s, with one queue", function* ([, happen, comesAgain]) {
    const fleet = yield* splitFleet(otherNames)
    const first = yield* begun(fleet)
    yield* happen(fleet)
    if (comesAgain) yield* first.leave
    const user = comesAgain ? yield* begun(fleet) : first
    assert.strictEqual(user.queue, first.queue)
    yield* sendAll(fleet, "m")
    assert.deepStrictEqual(readBy(fleet, "m"), allRead("m"))
    for (const { api } of [fleet.a.member, fleet.b.member]) {
      const orders = api.calls.filter(({ plural, verb }) => verb === "create" && plural === splitSessions.plural)
      assert.lengthOf(orders, 1)
    }
    yield* user.leave
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  it.effect("is refused at once while its default is away", function* () {
    const fleet = yield* splitFleet(otherNames)
    fleet.a.member.api.setReachable(false)
    yield* passMinutes(0.5)
    const { result, secs } = yield* connect(fleet)
    // A check that is newer than the session is waited for.
    assert.isAtMost(secs, 8)
    assert.match(refusedWith(result).message, /in cluster a: its API server cannot be reached/u)
  })

  it.effect("splits a queue of another account that its default names by a fallback", function* () {
    const fallback = "https://sqs.us-east-1.amazonaws.com/999999999999/refunds"
    const queues = [
      { id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] } },
      { id: "refunds", kind: "sqs", appConfig: { queue: [{ env: "REFUNDS", fallback }] } }
    ]
    const fleet = yield* splitFleet({ isElsewhere: true, more: ["refunds"], spec: { queues } })
    const { got, leave } = yield* begun(fleet, refunds)
    const url = variableIn(got, "REFUNDS") ?? ""
    assert.match(url, /^https:\/\/sqs\.us-east-1\.amazonaws\.com\/999999999999\/mirrord-tmp-/u)
    fleet.a.split.programs.set("ann", [url])
    for (const to of ["ann", "bob"]) yield* sendTo({ ...fleet.b, queue: "refunds" }, `m ${to}`, to)
    yield* passMinutes(1)
    assert.match(readBy(fleet, "m").join(), /^m ann: ann,m bob: [ab]$/u)
    yield* leave
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  it.effect("has a cluster that joins the fleet while it runs", function* () {
    const fleet = yield* splitFleet({ ...otherNames, begins: ["a"] })
    const { got, leave } = yield* begun(fleet)
    yield* fleet.join
    yield* passMinutes(1)
    yield* sendAll(fleet, "m")
    assert.deepStrictEqual(readBy(fleet, "m"), allRead("m"))
    assert.notInclude(logs(got).join(), shared)
    yield* leave
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  it.effect("ends by itself in a cluster whose way to the primary is cut, and begins there again", function* () {
    const fleet = yield* splitFleet({ isElsewhere: true })
    const { got, leave } = yield* begun(fleet)
    yield* fleet.world.ways.cut(fleet.b.member)
    yield* passMinutes(0.5)
    yield* sendAll(fleet, "m")
    assert.deepStrictEqual(readBy(fleet, "m"), allRead("m"))
    assert.include(logs(got).join(), "without cluster b")
    yield* passMinutes(4)
    assert.deepStrictEqual(leftOf(fleet.b.split), [])
    assert.deepStrictEqual(fleet.b.split.values("consumer"), ["orders", "orders"])
    yield* sendAll(fleet, "n")
    assert.deepStrictEqual(readBy(fleet, "n"), [...allRead("n").slice(0, 2), "n b ann: b", "n b bob: b"])
    fleet.world.ways.mend(fleet.b.member)
    yield* passMinutes(2)
    yield* sendAll(fleet, "o")
    assert.deepStrictEqual(readBy(fleet, "o"), allRead("o"))
    yield* leave
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  it.effect("loses no message of a cluster that does not hear of its end", function* () {
    const fleet = yield* splitFleet({ ...otherNames, sessionTtlSecs: 400 })
    yield* begun(fleet)
    yield* fleet.world.ways.cut(fleet.b.member)
    fleet.a.split.programs.delete("ann")
    yield* fleet.world.primary.operator?.deleteSession("FF", primaryIdentity) ?? Effect.die("no operator")
    yield* passMinutes(6)
    yield* sendAll(fleet, "m")
    yield* passMinutes(14)
    assert.deepStrictEqual(readBy(fleet, "m"), ["m a ann: a", "m a bob: a", "m b ann: a", "m b bob: b"])
    fleet.world.ways.mend(fleet.b.member)
    yield* passMinutes(1)
    assert.deepStrictEqual(leftIn(fleet), [])
  })

  it.effect("has a cluster that comes late", function* () {
    const fleet = yield* splitFleet(otherNames)
    fleet.b.member.api.setReachable(false)
    yield* passMinutes(1)
    const { got, leave, secs } = yield* begun(fleet)
    assert.isAtMost(secs, 3)
    assert.include(logs(got).join(), shared)
    fleet.b.member.api.setReachable(true)
    yield* passMinutes(2)
    yield* sendAll(fleet, "m")
    assert.deepStrictEqual(readBy(fleet, "m"), allRead("m"))
    yield* leave
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })

  it.effect("says that a cluster waits for its default while that is away, and ends when it stays away", function* () {
    const fleet = yield* splitFleet(otherNames)
    fleet.b.member.api.setReachable(false)
    yield* passMinutes(1)
    const { ended } = yield* begun(fleet)
    fleet.a.member.api.setReachable(false)
    yield* passMinutes(0.5)
    fleet.b.member.api.setReachable(true)
    yield* passMinutes(1)
    assert.match(yield* phaseOf(fleet), /^Ready, .*without b: it waits for the default cluster a,/u)
    assert.isUndefined(ended())
    yield* passMinutes(2)
    assert.isDefined(ended())
    assert.match(yield* phaseOf(fleet), /cluster a: it was away for 180 s/u)
  })

  it.effect("ends in the other clusters when its default is lost for good", function* () {
    const fleet = yield* splitFleet(otherNames)
    const { ended } = yield* begun(fleet)
    fleet.a.member.api.setReachable(false)
    yield* passMinutes(12)
    assert.isDefined(ended())
    const ofB = fleet.b.member.api.peekAll(splitSessions).length
    assert.deepStrictEqual([ofB, ...fleet.b.split.values("consumer")], [0, "orders-us", "orders-us"])
    assert.notInclude(fleet.b.split.sqs.names.join(), "main-orders-us")
  })

  it.effect("ends everywhere when its primary is gone for ever", function* () {
    const fleet = yield* splitFleet(otherNames)
    yield* begun(fleet)
    yield* killOperator(fleet, fleet.world.primary)
    yield* passMinutes(12)
    fleet.world.primary.api.erase(mirrordMultiClusterSessions, sessionName)
    assert.deepStrictEqual(leftIn(fleet), [])
  })

  it.effect("is over when its primary comes back after its queues have gone", function* () {
    const fleet = yield* splitFleet(otherNames)
    const { leave } = yield* begun(fleet)
    yield* killOperator(fleet, fleet.world.primary)
    yield* leave
    yield* passMinutes(5)
    yield* fleet.world.start(fleet.world.primary)
    const { result } = yield* connect(fleet)
    assert.include(refusedWith(result).message, "and the queues that the program reads with it")
    assert.deepStrictEqual(yield* leftAfter(fleet), [])
  })
})
