import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  formatTargetName,
  formatTargetPath,
  parseTargetName,
  parseTargetPath
} from "../../../src/domain/target/target-path.ts"
import {
  fromKubeTarget,
  kindAddress,
  needsCopy,
  targetKinds,
  toKubeTarget,
  type Target
} from "../../../src/domain/target/target.ts"

const workload = (kind: (typeof targetKinds)[number], name: string, container?: string): Target => ({
  _tag: "Workload",
  kind,
  name,
  container
})

describe("target paths", () => {
  it.each([
    ["deployment/foo", workload("deployment", "foo")],
    ["deploy/foo", workload("deployment", "foo")],
    ["pod/x/container/y", workload("pod", "x", "y")],
    ["rollout/r", workload("rollout", "r")],
    ["job/j", workload("job", "j")],
    ["cronjob/j", workload("cronjob", "j")],
    ["statefulset/s/container/c/and/more", workload("statefulset", "s", "c")],
    ["service/s", workload("service", "s")],
    ["replicaset/r", workload("replicaset", "r")],
    ["targetless", { _tag: "Targetless" }],
    ["label/b=2,a=", { _tag: "Label", labels: { a: "", b: "2" }, container: undefined }],
    [
      "label/app.kubernetes.io/name=x/container/c",
      { _tag: "Label", labels: { "app.kubernetes.io/name": "x" }, container: "c" }
    ]
  ] as ReadonlyArray<readonly [string, Target]>)("reads %s", (path, target) => {
    expect(parseTargetPath(path)).toEqual(Result.succeed(target))
  })

  it.each([
    "",
    "foo",
    "Deployment/foo",
    "deployments/foo",
    "deployment/",
    "deployment/foo/cont/bar",
    "deployment/foo/container",
    "deployment/foo/container/",
    "pod/UPPER",
    "pod/..",
    "pod/a b",
    "targetless/x",
    "label/",
    "label/a",
    "label/=b",
    "label/a=1,a=2",
    "label/a=1/container/",
    "label/a=1/container/x/y"
  ])("refuses %j with a sentence that says what would be right", (path) => {
    const result = parseTargetPath(path)
    if (Result.isSuccess(result)) throw new Error("accepted")
    expect(result.failure.message).toContain(JSON.stringify(path))
    expect(result.failure.message).toContain("deployment")
  })
})

describe("target names in connect URLs", () => {
  it.each([
    ["deployment.foo", workload("deployment", "foo")],
    ["deploy.foo", workload("deployment", "foo")],
    ["deployment.foo.container.bar", workload("deployment", "foo", "bar")],
    ["pod.web.v1.2", workload("pod", "web.v1.2")],
    ["pod.a.container.b.container.c", workload("pod", "a.container.b", "c")],
    ["targetless", { _tag: "Targetless" }]
  ] as ReadonlyArray<readonly [string, Target]>)("reads %s", (text, target) => {
    expect(parseTargetName(text)).toEqual(Result.succeed(target))
  })

  it("takes labels from label_target", () => {
    expect(parseTargetName("label", { labels: { b: "2", a: "1" }, container: null })).toEqual(
      Result.succeed({ _tag: "Label", labels: { a: "1", b: "2" }, container: undefined })
    )
    expect(Result.isFailure(parseTargetName("label"))).toBe(true)
  })

  it.each(["deployment", "deployment.", "x.foo", "deployment.foo.container.", "deployment.a/../b", ".foo"])(
    "refuses %j",
    (text) => {
      expect(Result.isFailure(parseTargetName(text))).toBe(true)
    }
  )

  const name = fc
    .stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?){0,2}$/u)
    .filter((text) => !text.includes(".container."))
  const container = fc.option(fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/u), { nil: undefined })

  it("round-trip, as do paths and the form of session resources", () => {
    fc.assert(
      fc.property(fc.constantFrom(...targetKinds), name, container, (kind, text, one) => {
        const target = workload(kind, text, one)
        expect(parseTargetName(formatTargetName(target))).toEqual(Result.succeed(target))
        expect(parseTargetPath(formatTargetPath(target))).toEqual(Result.succeed(target))
        expect(fromKubeTarget(toKubeTarget(target))).toEqual(target)
      })
    )
  })

  it("never throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        parseTargetName(text)
        parseTargetPath(text)
      })
    )
  })
})

describe("kinds", () => {
  it("have their APIs and their forms in session resources", () => {
    expect(kindAddress("rollout")).toEqual({
      group: "argoproj.io",
      version: "v1alpha1",
      kind: "Rollout",
      plural: "rollouts"
    })
    expect(toKubeTarget(workload("deployment", "foo"))).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: "foo",
      container: ""
    })
    expect(toKubeTarget(workload("pod", "foo", "c"))).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      name: "foo",
      container: "c"
    })
    expect(toKubeTarget({ _tag: "Targetless" })).toBeUndefined()
    expect(fromKubeTarget(undefined)).toEqual({ _tag: "Targetless" })
    expect(fromKubeTarget({ apiVersion: "v1", kind: "Node", name: "n", container: "" })).toBeUndefined()
    expect(targetKinds.filter((kind) => needsCopy(workload(kind, "x")))).toEqual(["job", "cronjob"])
  })
})
