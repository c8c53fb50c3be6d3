import { Effect, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { internalError, notFound } from "../../../src/app/api/status.ts"
import { dashboardPage } from "../../../src/app/commands/operator-dashboard.ts"
import { notTheLeader } from "../../../src/app/leadership/while-leading.ts"
import { UsageSums } from "../../../src/domain/usage/usage-report.ts"
import { TrendSums } from "../../../src/domain/usage/usage-trends.ts"
import { now } from "../../domain/commands/ui/pages.ts"
import { someHealth, someUse } from "../../domain/commands/ui/usages.ts"
import { it } from "../../support/effect-it.ts"
import { idleFacade } from "../../support/idle-facade.ts"

/** An operator that answers reports of some use, and notes what it is asked. */
const recording = (asked: Array<string>): OperatorFacade["Service"] => ({
  ...idleFacade,
  usageReport: (which, search) => {
    asked.push(`${which} ${search}`)
    const sums = new UsageSums({ format: "json", primaryKey: "username", from: undefined, to: undefined }, now)
    const trends = new TrendSums(30, now)
    for (const one of someUse) {
      sums.add(one)
      trends.add(one)
    }
    const installation = { operatorVersion: "1", chartVersion: "1", clusterName: "main", clusters: [] }
    const body = { usage: sums.report(installation), trends: trends.trends(), clusters: someHealth() }[which]
    return Effect.succeed({ contentType: "application/json", body: JSON.stringify(body) })
  }
})

/** The answer of the page to a path, and its first bytes as text. `parts`: how many to wait for. */
const answerOf = Effect.fnUntraced(function* (facade: OperatorFacade["Service"], path: string, parts = 1) {
  yield* TestClock.setTime(now)
  const page = yield* dashboardPage(facade, "mirrord.example.com")
  const request = HttpServerRequest.fromWeb(new Request(`http://page${path}`))
  const answer = yield* Effect.provideService(page, HttpServerRequest.HttpServerRequest, request)
  const { status } = answer
  const { body } = HttpServerResponse.toWeb(answer)
  if (body === null) return { status, text: "" }
  const heard = yield* Stream.runCollect(
    Stream.take(Stream.fromReadableStream({ evaluate: () => body, onError: String }), parts)
  )
  return { status, text: heard.map((part) => new TextDecoder().decode(part)).join("") }
})

describe("the page of use that an operator serves", () => {
  it.effect("shows the operator's own reports, and nothing of the pages of `braid ui`", function* () {
    const asked: Array<string> = []
    const facade = recording(asked)
    expect((yield* answerOf(facade, "/")).status).toBe(303)
    const page = yield* answerOf(facade, "/usage")
    expect(page.text).toContain('"context":"mirrord.example.com","hasFleet":false')
    const news = yield* answerOf(facade, "/api/usage/events?by=username&from=2026-01-01")
    expect(news.text).toContain("deployment/api")
    expect(news.text).toContain("it does not answer (Lost)")
    expect(asked).toContain("clusters format=json&from=2026-01-01")
    expect(asked).toContain("usage format=json&primary_key=username&from=2026-01-01")
    expect((yield* answerOf(facade, "/usage.csv?by=username")).text).toContain("ann")
    const missing = yield* Effect.exit(answerOf(facade, "/api/fleet"))
    expect(missing._tag).toBe("Failure")
  })

  it.effect("ends the news of a replica that does not lead, so that the browser finds the leader", function* () {
    const facade = { ...idleFacade, usageReport: () => Effect.fail(notTheLeader()) }
    expect(yield* answerOf(facade, "/api/usage/events", Infinity)).toEqual({ status: 200, text: "" })
    expect(yield* answerOf(facade, "/usage.csv")).toMatchObject({ status: 502 })
  })

  it.effect("says why there is no report, and goes on asking", function* () {
    const away = { ...idleFacade, usageReport: () => Effect.fail(internalError("The volume is full.")) }
    const { text } = yield* answerOf(away, "/api/usage/events")
    expect(text).toContain("The volume is full.")
    expect(text).toContain("The page asks again by itself")
    const file = yield* answerOf({ ...idleFacade, usageReport: () => Effect.fail(notFound("None.")) }, "/usage.csv")
    expect(file).toMatchObject({ status: 502 })
  })
})
