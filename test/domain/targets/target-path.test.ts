import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { fromKubeTarget, isSameTarget, toKubeTarget } from "../../../src/domain/targets/kube-target.ts"
import {
  formatTargetName,
  formatTargetPath,
  parseTargetName,
  parseTargetPath
} from "../../../src/domain/targets/target-path.ts"
import { kindAddress, needsCopy, targetKinds, type Target } from "../../../src/domain/targets/target.ts"

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
  ] as ReadonlyArray<readonly [string, Target]>)("reads %s", (path, target) =>
    expect(parseTargetPath(path)).toEqual(Result.succeed(target))
  )

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
    "label/a=1/container/x/y",
    "label/a b=1",
    "label/a=b c",
    "label/Shop.io/a=1",
    "label/a=-1"
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
  ] as ReadonlyArray<readonly [string, Target]>)("reads %s", (text, target) =>
    expect(parseTargetName(text)).toEqual(Result.succeed(target))
  )

  it("takes labels from label_target", () => {
    expect(parseTargetName("label", { labels: { b: "2", a: "1" }, container: null })).toEqual(
      Result.succeed({ _tag: "Label", labels: { a: "1", b: "2" }, container: undefined })
    )
    expect(Result.isFailure(parseTargetName("label"))).toBe(true)
  })

  const long = "x".repeat(63)
  it.each([
    ["a key with a space", { "a b": "1" }, undefined, '"a b" cannot be the key of a label'],
    ["a key that would end the term", { "a=1,b": "1" }, undefined, "cannot be the key of a label"],
    ["an empty key", { "": "1" }, undefined, "cannot be the key of a label"],
    ["a key without a name", { "shop.io/": "1" }, undefined, "cannot be the key of a label"],
    ["a domain in upper case", { "Shop.io/a": "1" }, undefined, "cannot be the key of a label"],
    ["a key of 64 characters", { [`${long}x`]: "1" }, undefined, "cannot be the key of a label"],
    ["a value that would be another term", { a: "1,b=2" }, undefined, '"1,b=2" cannot be the value of a label'],
    ["a value of 64 characters", { a: `${long}x` }, undefined, "cannot be the value of a label"],
    [
      "more labels than fit",
      Object.fromEntries([..."abcdefgh"].map((key) => [key, long])),
      undefined,
      "512 characters"
    ],
    ["no label", {}, undefined, "with at least one label"],
    ["a container without a name", { a: "1" }, "", "the container's name is missing"],
    ["a container that is none", { a: "1" }, "x/y", `"x/y" cannot be a container's name`]
  ] as ReadonlyArray<readonly [string, Readonly<Record<string, string>>, string | undefined, string]>)(
    "refuse %s in label_target",
    (_what, labels, container, problem) => {
      const result = parseTargetName("label", { labels, container })
      if (Result.isSuccess(result)) throw new Error("accepted")
      expect(result.failure.message).toContain(problem)
    }
  )

  it.each(["deployment", "deployment.", "x.foo", "deployment.foo.container.", "deployment.a/../b", ".foo"])(
    "refuses %j",
    (text) => expect(Result.isFailure(parseTargetName(text))).toBe(true)
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

  const labelText = fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/u)
  const labelKey = fc.oneof(
    labelText,
    fc.tuple(name, labelText).map(([domain, key]) => `${domain}/${key}`)
  )
  const labels = fc.dictionary(labelKey, fc.oneof(fc.constant(""), labelText), { minKeys: 1, maxKeys: 3 })

  it("of labels round-trip through paths and session resources, whatever the order of the labels", () => {
    fc.assert(
      fc.property(labels, container, (some, one) => {
        const target = Result.getOrThrow(parseTargetName("label", { labels: some, container: one }))
        const turned = Object.fromEntries(Object.entries(some).toReversed())
        const other = Result.getOrThrow(parseTargetName("label", { labels: turned, container: one }))
        expect(target).toEqual({ _tag: "Label", labels: some, container: one })
        expect(parseTargetPath(formatTargetPath(target))).toEqual(Result.succeed(target))
        expect(fromKubeTarget(toKubeTarget(target))).toEqual(target)
        expect(isSameTarget(toKubeTarget(target), toKubeTarget(other))).toBe(true)
      })
    )
  })

  it("never throw, and neither do targets of session resources", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        parseTargetName(text)
        parseTargetPath(text)
        parseTargetName("label", { labels: { [text]: text }, container: text })
        fromKubeTarget({ apiVersion: "meta/v1", kind: "LabelSelector", name: text, container: text })
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
    const byLabel: Target = { _tag: "Label", labels: { tier: "front", app: "web" }, container: "c" }
    const selector = { apiVersion: "meta/v1", kind: "LabelSelector", name: "app=web,tier=front", container: "c" }
    expect(toKubeTarget(byLabel)).toEqual(selector)
    expect(fromKubeTarget({ ...selector, name: "" })).toBeUndefined()
    expect(fromKubeTarget({ ...selector, name: "app in (a,b)" })).toBeUndefined()
    expect(toKubeTarget({ _tag: "Targetless" })).toBeUndefined()
    expect(fromKubeTarget(undefined)).toEqual({ _tag: "Targetless" })
    expect(fromKubeTarget({ apiVersion: "v1", kind: "Node", name: "n", container: "" })).toBeUndefined()
    expect(targetKinds.filter((kind) => needsCopy(workload(kind, "x")))).toEqual(["job", "cronjob"])
  })
})
