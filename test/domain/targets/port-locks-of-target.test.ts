import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import type { SessionInfo } from "../../../src/domain/resources/session.ts"
import { portLocksOf } from "../../../src/domain/targets/port-locks-of-target.ts"
import { parseTargetJson, targetJson } from "../../../src/domain/targets/target-json.ts"
import { parseTargetName } from "../../../src/domain/targets/target-path.ts"

const session = (target: string, ports: ReadonlyArray<number>, namespace = "shop"): SessionInfo => ({
  duration_secs: 1,
  user: "ann",
  target,
  namespace,
  locked_ports: [
    ...ports.map((port) => ({ port, kind: "steal" })),
    { port: 7000, kind: "steal", filter: "header=a: b" }
  ]
})
const named = (name: string) => Result.getOrThrow(parseTargetName(name))

describe("the locked ports of a target", () => {
  const sessions = [
    session("deployment/web", [8080, 80]),
    session("deployment/web/container/app", [443, 80]),
    session("deployment/web", [1], "other"),
    session("deployment/web.two", [2]),
    session("pod/web", [3]),
    session("unknown", [4]),
    session("targetless", [5])
  ]

  it("are those that its sessions steal whole, in order, each once, whichever container is named", () => {
    expect(portLocksOf(sessions, "shop", named("deploy.web"))).toEqual([80, 443, 8080])
    expect(portLocksOf(sessions, "shop", named("deployment.web.container.other"))).toEqual([80, 443, 8080])
    expect(portLocksOf(sessions, "shop", named("pod.web"))).toEqual([3])
    expect(portLocksOf(sessions, "shop", named("targetless"))).toEqual([])
    expect(portLocksOf(sessions, "shop", named("service.web"))).toEqual([])
  })
})

describe("a target as objects hold it", () => {
  it.each([
    ["targetless", null],
    ["deploy.web", { deployment: "web", container: null }],
    ["cronjob.web.container.a", { cron_job: "web", container: "a" }]
  ])("%s is written as it is read", (name, json) => {
    expect(targetJson(named(name))).toEqual(json)
    expect(parseTargetJson(json)).toEqual(Result.succeed(named(name)))
  })

  it("has its labels, and a container only where one is named", () => {
    const labels = { app: "web" }
    const withLabels = (container?: string) => Result.getOrThrow(parseTargetName("label", { labels, container }))
    expect(targetJson(withLabels())).toEqual({ labels })
    expect(targetJson(withLabels("a"))).toEqual({ labels, container: "a" })
  })
})
