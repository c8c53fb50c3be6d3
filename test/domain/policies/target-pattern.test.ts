import { describe, expect, it } from "vitest"
import {
  appliesTo,
  type PolicySubject,
  type Resource,
  targetResource
} from "../../../src/domain/policies/target-pattern.ts"
import { policy } from "./policies.ts"

const subject = (...lineage: ReadonlyArray<Resource>): PolicySubject => ({
  namespace: "default",
  lineage,
  containers: ["app"]
})
const resource = (kind: string, name: string, labels: Resource["labels"] = {}): Resource => ({ kind, name, labels })
const boats = subject(resource("deployment", "boats", { colour: "blue" }))
const pod = subject(
  resource("pod", "boats-1-2", { colour: "red" }),
  resource("replicaset", "boats-1"),
  resource("deployment", "boats", { colour: "blue" })
)
const applies = (spec: object, to: PolicySubject, namespace?: string): boolean =>
  appliesTo(policy(spec, "p", namespace).target, to)

describe("a policy's target", () => {
  it("is every target of its namespace, or of all, if it names none", () => {
    expect(applies({}, boats)).toBe(true)
    expect(applies({}, boats, "default")).toBe(true)
    expect(applies({}, boats, "other")).toBe(false)
    expect(applies({}, subject(targetResource({ _tag: "Targetless" })))).toBe(true)
  })

  it.each([
    ["deploy/boats", true],
    ["deployment/boats", true],
    ["deploy.boats", true],
    ["deployment.boats", true],
    ["*", true],
    ["*boats*", true],
    ["deploy/*", true],
    ["deploy/boat?", true],
    ["deploy/boat", false],
    ["pod/*", false],
    ["statefulset/boats", false],
    ["targetless", false],
    ["deploy/boats/container/app", true],
    ["deploy/boats/container/ap*", true],
    ["*/container/lib*", false],
    ["/container/*", false],
    ["deploy.boats.container.app", true],
    ["deploy.boats.container.lib", false]
  ])("is matched by %s: %s", (targetPath, matches) => expect(applies({ targetPath }, boats)).toBe(matches))

  it("with a container is any target whose container is not known, and none that has no container", () => {
    const spec = { targetPath: "*/container/lib" }
    expect(applies(spec, { ...boats, containers: undefined })).toBe(true)
    expect(applies(spec, { ...boats, containers: [] })).toBe(false)
    expect(applies(spec, { ...boats, containers: ["app", "lib"] })).toBe(true)
  })

  it("is inherited by what the matched object owns, and not the other way round", () => {
    expect(applies({ targetPath: "deploy/boats" }, pod)).toBe(true)
    expect(applies({ targetPath: "pod/boats*" }, pod)).toBe(true)
    expect(applies({ targetPath: "pod/boats*" }, boats)).toBe(false)
  })

  it("must have path and labels in one object", () => {
    const blue = { matchLabels: { colour: "blue" } }
    const red = { matchLabels: { colour: "red" } }
    expect(applies({ targetPath: "deploy/*", selector: blue }, pod)).toBe(true)
    expect(applies({ targetPath: "deploy/*", selector: red }, pod)).toBe(false)
    expect(applies({ targetPath: "pod/*", selector: red }, pod)).toBe(true)
    expect(applies({ selector: red }, pod)).toBe(true)
  })

  it.each([
    [{ matchExpressions: [{ key: "colour", operator: "In", values: ["blue", "red"] }] }, true],
    [{ matchExpressions: [{ key: "colour", operator: "In", values: null }] }, false],
    [{ matchExpressions: [{ key: "colour", operator: "NotIn", values: ["blue"] }] }, false],
    [{ matchExpressions: [{ key: "other", operator: "NotIn", values: ["blue"] }] }, true],
    [{ matchExpressions: [{ key: "colour", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "toString", operator: "Exists" }] }, false],
    [{ matchExpressions: [{ key: "colour", operator: "DoesNotExist" }] }, false],
    [{}, true],
    [{ matchLabels: { colour: "blue", size: "big" } }, false]
  ])("is selected by %j: %s", (selector, matches) => expect(applies({ selector }, boats)).toBe(matches))

  it("counts as selected where its labels are not known", () => {
    const unknown = subject({ kind: "deployment", name: "boats", labels: undefined })
    expect(applies({ targetPath: "deploy/boats", selector: { matchLabels: { a: "b" } } }, unknown)).toBe(true)
    expect(applies({ targetPath: "deploy/other", selector: { matchLabels: { a: "b" } } }, unknown)).toBe(false)
  })

  it("is a label target by its labels", () => {
    const label = subject(targetResource({ _tag: "Label", labels: { app: "boats" }, container: undefined }))
    expect(applies({ targetPath: "label/app=*" }, label)).toBe(true)
    expect(applies({ selector: { matchLabels: { app: "boats" } } }, label)).toBe(true)
  })
})
