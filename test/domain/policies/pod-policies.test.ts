import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { forbiddenAtPod, policiesOfPod, whyForbidden } from "../../../src/domain/policies/pod-policies.ts"
import { policiesFor } from "../../../src/domain/policies/session-policies.ts"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { anyPolicy, policy } from "./policies.ts"

const pod = (name: string) => ({
  namespace: "default",
  lineage: [
    { kind: "pod", name: `${name}-1`, labels: {} },
    { kind: "deployment", name, labels: {} }
  ],
  containers: ["app"]
})
const none = { policies: [], text: "" }
const bytes = (message: ClientMessage) => clientMessage.encode(message)
const steal = bytes({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
const filtered = bytes({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttp", port: 80, filter: "x-user: ann" } }
})
const mirror = bytes({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } })

describe("the policies of a pod", () => {
  it("are those of its owners, without what holds for the session anyway, and for traffic alone", () => {
    const guard = policy({ block: ["steal"], targetPath: "deploy/canary", env: { exclude: ["A"] } }, "guard")
    const held = policy({ block: ["mirror"], targetPath: "deploy/canary" }, "held")
    const found = policiesOfPod([guard, held], pod("canary"), policiesFor([held], pod("canary")))
    expect(found).toEqual([{ ...guard, hiddenVariables: [] }])
    expect(policiesOfPod([guard, held], pod("stable"), none)).toEqual([])
  })

  it("forbid nothing that the session's own policies forbid already", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 5 }), (all) => {
        expect(policiesOfPod(all, pod("web"), policiesFor(all, pod("web")))).toEqual([])
      })
    )
  })

  it.each([
    ["steal", { block: ["steal"] }, [filtered], "it blocks stealing"],
    ["steal", { block: ["steal"] }, [mirror], undefined],
    ["steal whole", { block: ["steal-without-filter"] }, [mirror, steal], "stealing needs an HTTP filter"],
    ["steal whole", { block: ["steal-without-filter"] }, [filtered], undefined],
    ["mirror", { block: ["mirror"] }, [mirror], "it blocks mirroring"],
    ["mirror", { block: ["mirror"] }, [steal], undefined],
    ["nothing yet", { block: ["steal", "mirror"] }, [], undefined],
    ["ping", { block: ["steal", "mirror"] }, [bytes({ _tag: "Ping" })], undefined],
    ["read files", { fs: { notFound: ["."] }, env: { exclude: ["*"] } }, [steal, mirror], undefined]
  ])("say whether the session may go on there: %s, %j", (_, spec, subscriptions, reason) => {
    const found = forbiddenAtPod(policiesOfPod([policy(spec, "guard")], pod("web"), none), subscriptions)
    expect(found).toEqual(reason === undefined ? undefined : { policy: "guard", reason })
  })

  it("are named in the sentence about a pod that is left out", () => {
    expect(whyForbidden({ policy: "guard", reason: "it blocks stealing" })).toBe(
      'the mirrord policy "guard" forbids there what the session does: it blocks stealing'
    )
  })
})
