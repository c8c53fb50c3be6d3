import { describe, expect, it } from "vitest"
import type {
  ObservedSplit,
  QueueCount,
  RecordedQueue,
  SplitRecord
} from "../../../src/domain/queues/observed-split.ts"
import { splitPlan } from "../../../src/domain/queues/split-plan.ts"
import { bills, orders, SplitWorld, times } from "./split-world.ts"

/** A live split with one session, settled long ago. */
const world = new SplitWorld()
world.configuration = { _tag: "Known", digest: "one", sources: [orders], times }
const { uid } = world.ready(0)
world.advance(600_000)
const live = world.observe()
const { now } = world
const record = live.record ?? expect.fail("there is no split")
const [main, mine] = live.queues
if (main === undefined || mine === undefined) throw new Error("there are no queues")
const forwarder = live.forwarders[0] ?? expect.fail("nothing is forwarded")
const pod = live.pods[0] ?? expect.fail("there is no pod")

const phase = (change: Partial<SplitRecord>, more: Partial<ObservedSplit> = {}): ObservedSplit => ({
  ...live,
  record: { ...record, since: now - 300_000, ...change },
  ...more
})
const zeros = (from: number, messages = 0): RecordedQueue["state"] => {
  const counts: ReadonlyArray<QueueCount> = [0, 1, 2].map((n) => ({ at: from + n * 20_000, messages }))
  return { _tag: "Present", counts }
}
const quiet = (queue: RecordedQueue, ago: number, messages: number): RecordedQueue => ({
  ...queue,
  quietSince: now - ago,
  state: zeros(now - ago, messages)
})
/** The session is over, and nothing is routed to it any more. */
const ended: Partial<ObservedSplit> = {
  sessions: [],
  forwarders: [{ ...forwarder, table: { ...forwarder.table, routes: [] } }]
}
/** The split is over, and a new one has not begun. */
const over: Partial<ObservedSplit> = {
  ...ended,
  record: undefined,
  webhook: "Absent",
  pods: [],
  forwarders: [],
  queues: [main]
}
const denied = (queue: string, at: number) =>
  new Map([[`DrainQueue ${queue}`, { at, isLasting: true, code: 403, message: "Denied." }]])
const idle = (more: Partial<ObservedSplit>) => phase({ phase: "Idle", times }, { ...ended, queues: [main], ...more })
const empty = { ...main, state: zeros(now - 50_000) }
const lost = { number: 3, at: now - 200_000, attempts: 3 }
const strays = [{ ...pod, patchedBy: undefined, bornAt: now - 190_000 }]
const draining = (change: Partial<SplitRecord>, more: Partial<ObservedSplit>) =>
  phase({ phase: "Draining", ...change }, { ...ended, forwarders: [], queues: [main], ...more })
const fifo = { ...main, source: { ...bills, identity: orders.identity } }

describe("splitPlan", () => {
  it.each<[string, ObservedSplit, ReadonlyArray<string>]>([
    ["asks for nothing while all is well", live, []],
    [
      "says that a session is ready when its queue is forwarded",
      { ...live, sessions: live.sessions.map((one) => ({ ...one, phase: "resourcesReady" as const })) },
      ["WriteStatus"]
    ],
    [
      "not while the owner of the queue has still to take the table",
      {
        ...live,
        sessions: live.sessions.map((one) => ({ ...one, phase: "resourcesReady" as const })),
        forwarders: [{ ...forwarder, isAwaited: true }]
      },
      []
    ],
    ["waits with the end of a queue for its route", { ...live, sessions: [] }, ["WriteRecord", "StartForwarding"]],
    [
      "waits for a batch that still sends to it",
      {
        ...live,
        ...ended,
        forwarders: [{ ...forwarder, table: { ...forwarder.table, routes: [] }, stillSendsTo: [mine.name] }]
      },
      ["WriteRecord"]
    ],
    ["then says that it is quiet", { ...live, ...ended }, ["WriteRecord", "QuietQueue"]],
    [
      "keeps a main queue of an earlier split that a pod reads",
      { ...live, ...over, pods: [{ ...pod, isTerminating: true }] },
      []
    ],
    [
      "keeps one to which a session's queue is drained",
      { ...live, ...over, drains: [{ queue: "other", to: { _tag: "Main", name: main.name } }] },
      []
    ],
    ["then says that it is quiet as well", { ...live, ...over }, ["QuietQueue"]],
    [
      "keeps the record of a queue that an earlier process may be making",
      { ...live, ...over, queues: [{ ...main, state: { _tag: "Absent" } }], fencedUntil: now + 1 },
      ["RequeueAt"]
    ],
    [
      "reads again before it says how much is lost",
      { ...live, ...over, queues: [quiet(main, 60_000, 5)], failures: denied(main.name, now - 1) },
      ["ReadQueue"]
    ],
    [
      "gives a queue up after a day",
      {
        ...live,
        ...over,
        queues: [{ ...quiet(main, 86_400_000, 5), state: zeros(now - 50_000, 5) }],
        failures: new Map()
      },
      ["ReadQueue"]
    ],
    [
      "first stops to drain it",
      {
        ...live,
        ...over,
        queues: [{ ...quiet(main, 86_500_000, 5), state: zeros(now - 40_000, 5) }],
        drains: [{ queue: main.name, to: { _tag: "Original", source: orders } }]
      },
      ["StopDrain"]
    ],
    [
      "reports what is lost with it",
      { ...live, ...over, queues: [{ ...quiet(main, 86_500_000, 5), state: zeros(now - 40_000, 5) }] },
      ["Report", "DeleteQueue"]
    ],
    [
      "drains to the original when pods no longer read the main queue",
      phase(
        { phase: "Unpatching", restart: { number: 2, at: now, attempts: 1 } },
        {
          ...ended,
          forwarders: [],
          webhook: "Absent",
          pods: [],
          queues: [main, quiet(mine, 5_000, 5)],
          drains: [{ queue: mine.name, to: { _tag: "Main", name: main.name } }]
        }
      ),
      ["StopDrain", "RequeueAt"]
    ],
    [
      "lets go of a quiet queue, whoever wants it again, and waits for its end",
      {
        ...live,
        queues: [main, quiet(mine, 60_000, 0)],
        sessions: live.sessions.map((one) => ({ ...one, phase: "starting" as const }))
      },
      ["StartForwarding", "DeleteQueue"]
    ],
    ["leaves idle when nothing is sent", idle({ forwarders: [] }), ["WriteRecord"]],
    ["not while a forwarder stops", idle({ forwarders: [{ ...forwarder, isStopping: true }] }), []],
    ["nor while an earlier process may send", idle({ forwarders: [], fencedUntil: now + 1 }), ["RequeueAt"]],
    ["leaves draining when it is empty", draining({}, { queues: [empty] }), ["WriteRecord", "RequeueAt"]],
    ["not by counts before", draining({ since: now - 45_000 }, { queues: [empty] }), ["RequeueAt"]],
    [
      "moves messages back if no pod can get the names",
      draining({ restart: lost }, { pods: strays, queues: [fifo] }),
      ["Report", "DrainQueue", "ReadQueue"]
    ],
    [
      "goes on without that right",
      draining({ restart: lost }, { pods: strays, failures: denied(main.name, now) }),
      ["WriteRecord", "ReadQueue"]
    ],
    [
      "moves messages back no more when pods read them",
      { ...live, drains: [{ queue: main.name, to: { _tag: "Original", source: orders } }] },
      ["StopDrain"]
    ],
    ["forwards again after a stop", { ...live, forwarders: [{ ...forwarder, isStopping: true }] }, ["StartForwarding"]],
    [
      "becomes live after its time if pods are ready, as after an absence",
      phase({ phase: "Starting", restart: { number: 1, at: now - 300_000, attempts: 1 } }),
      ["StopForwarding", "WriteRecord"]
    ],
    [
      "waits a little after the webhook is gone",
      phase(
        { phase: "Unpatching", restart: { number: 2, at: now, attempts: 1 } },
        { ...ended, forwarders: [], webhook: "Absent", pods: [], queues: [] }
      ),
      ["RequeueAt"]
    ],
    ["tells sessions first", { ...live, workload: undefined }, ["StopForwarding", "WriteStatus"]]
  ])("%s", (_, observed, tags) => {
    expect(
      splitPlan(observed, now)
        .map(({ _tag }) => _tag)
        .toSorted()
    ).toEqual(tags.toSorted())
  })

  it("resumes from a drain as live, and from a restoration with a restart after the last one", () => {
    const change = (observed: ObservedSplit) => splitPlan(observed, now).find(({ _tag }) => _tag === "WriteRecord")
    expect(change(draining({}, { sessions: live.sessions }))).toMatchObject({ change: { phase: "Live" } })
    const restart = { number: 2, at: now, attempts: 1 }
    const restoring = phase({ phase: "Unpatching", restart }, { webhook: "Absent" })
    expect(change(restoring)).toMatchObject({ change: { phase: "Starting", since: now + 1 } })
    expect(uid).toBe("0-1")
  })
})
