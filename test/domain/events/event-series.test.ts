import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { SessionEvent } from "../../../src/domain/events/event-catalogue.ts"
import { eventObject } from "../../../src/domain/events/event-object.ts"
import {
  dueAt,
  type EventSeries,
  maxTries,
  occurred,
  seriesKey,
  wasRefused,
  wasWritten
} from "../../../src/domain/events/event-series.ts"

const about = {
  apiVersion: "operator.metalbear.co/v1alpha",
  kind: "MirrordMultiClusterSession",
  name: "mc-1",
  uid: "u"
}
const event: SessionEvent = { reason: "ClusterLeftOut", cluster: "b", message: "Cluster b takes no part." }
const begin = Date.UTC(2026, 0, 1)
const happen = (series: EventSeries | undefined, now: number) => occurred(series, { name: "mc-1.1", about, event }, now)

describe("a series of Events", () => {
  it("is of one object, one reason and one cluster, also where objects have no UID", () => {
    const cluster = (name: string) => ({ ...about, kind: "MirrordCluster", name, uid: "" })
    const keys = [
      ...["b", "c"].map((name) => seriesKey(cluster(name), { reason: "ClusterLost", message: name })),
      ...["u", "v"].map((uid) => seriesKey({ ...about, uid }, event)),
      seriesKey(about, { ...event, cluster: "c" }),
      seriesKey({ ...about, namespace: "shop" }, event)
    ]
    expect(new Set(keys).size).toBe(keys.length)
    expect(seriesKey(about, { ...event, message: "again" })).toBe(seriesKey(about, event))
  })
  it("is written at once, and is at rest until it happens again", () => {
    const series = happen(undefined, begin)
    expect(dueAt(series)).toBe(begin)
    expect(dueAt(wasWritten(series, 1, begin))).toBeUndefined()
  })
  it("of something that flaps all the time is written ever more rarely, and loses no occurrence", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 300 }), (gaps) => {
        let now = begin
        let writes = 0
        let series: EventSeries | undefined
        for (const gap of gaps) {
          now += gap
          series = happen(series, now)
          const due = dueAt(series)
          if (due !== undefined && due <= now) {
            series = wasWritten(series, series.count, now)
            writes++
          }
        }
        expect(series?.count).toBe(gaps.length)
        // 10, 20, 40, 80 s, then one in two minutes.
        expect(writes).toBeLessThanOrEqual(6 + (now - begin) / 120_000)
      })
    )
  })
  it("is given up after some failures, and at once where it will never work", () => {
    let series: EventSeries | undefined = happen(undefined, begin)
    for (let i = 1; i < maxTries; i++) {
      series = series && wasRefused(series, "Later")
      expect(series).toBeDefined()
    }
    expect(series && wasRefused(series, "Later")).toBeUndefined()
    expect(wasRefused(happen(undefined, begin), "Never")).toBeUndefined()
  })
  it("whose Event expired is created again with all it has counted", () => {
    const again = wasRefused(happen(wasWritten(happen(undefined, begin), 1, begin), begin + 5), "Expired")
    expect(again).toMatchObject({ count: 2, firstAt: begin, written: undefined })
  })
})

describe("an Event", () => {
  it("is about an object of the whole cluster: in namespace default, without a namespace in its reference", () => {
    expect(eventObject("mc-1.1", about, { ...event, message: "one\ntwo" }, happen(undefined, begin))).toEqual({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "mc-1.1", namespace: "default" },
      involvedObject: about,
      reason: "ClusterLeftOut",
      type: "Warning",
      message: "one\\u000atwo",
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00.000Z",
      lastTimestamp: "2026-01-01T00:00:00.000Z",
      source: { component: "mirrord-operator" },
      reportingComponent: "mirrord-operator",
      reportingInstance: ""
    })
  })
})
