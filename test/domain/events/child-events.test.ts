import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { childEvents } from "../../../src/domain/events/child-events.ts"
import type { Condition } from "../../../src/domain/resources/condition.ts"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { failureReasons } from "../../../src/domain/resources/session-failure.ts"

const session = (
  condition: Pick<Condition, "status" | "reason" | "message"> | undefined,
  more: Partial<MirrordClusterSession["spec"]> = {}
): MirrordClusterSession => ({
  metadata: { name: "mc-1-cluster-b" },
  spec: {
    namespace: "shop",
    owner: { userId: "u", username: "n", hostname: "h", k8sUsername: "k" },
    multiClusterParentName: "mc-1",
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
    ...more
  },
  status:
    condition === undefined
      ? null
      : {
          connectedTimestamp: "2026-01-01T00:00:00Z",
          conditions: [{ type: "Ready", lastTransitionTime: "2026-01-01T00:00:00Z", ...condition }]
        }
})
const starting = (message = "The agent is starting.") => ({ status: "False", reason: "Starting", message }) as const
const ready = { status: "True", reason: "AgentUsable", message: "The agent is ready for clients." } as const
const failed = (reason: string, message: string) => ({ status: "False", reason, message }) as const

const anyCondition = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom("The target is being resolved.", "The agent is starting.").map(starting),
  fc.constant(ready),
  fc
    .tuple(fc.constantFrom(...failureReasons, "Strange"), fc.constantFrom("no pod", "no image"))
    .map(([reason, message]) => failed(reason, message))
)

describe("Events of a session in one cluster", () => {
  it("are exactly one for each change of readiness or cause, and none for anything else", () => {
    fc.assert(
      fc.property(anyCondition, anyCondition, (was, is) => {
        const isFailure = is?.status === "False" && is.reason !== "Starting"
        const isNews =
          is !== undefined &&
          (was?.status !== is.status || was.reason !== is.reason || (isFailure && was.message !== is.message))
        expect(childEvents(session(was), session(is))).toHaveLength(isNews ? 1 : 0)
      })
    )
  })
  it("name cluster, target, cause and cure", () => {
    expect(childEvents(session(undefined), session(starting()))).toEqual([
      {
        reason: "Starting",
        cluster: "cluster-b",
        message: "The agents for Deployment myapp in namespace shop are being started in cluster cluster-b."
      }
    ])
    expect(childEvents(session(starting()), session(ready))[0]?.message).toBe(
      "The agents for Deployment myapp in namespace shop are ready in cluster cluster-b."
    )
    expect(
      childEvents(
        session(starting()),
        session(failed("NoSuchTarget", "there is no deployment.myapp in namespace shop"))
      )[0]
    ).toEqual({
      reason: "NoSuchTarget",
      cluster: "cluster-b",
      message:
        "Not ready in cluster cluster-b: there is no deployment.myapp in namespace shop; check the target's " +
        "name, container and namespace, and that it exists in that cluster. It is tried again by itself."
    })
    expect(childEvents(session(ready), session(failed("Error", "its image cannot be pulled.")))[0]?.reason).toBe(
      "Failed"
    )
  })
  it("of a user's own session name no cluster, and without target none", () => {
    const own = { multiClusterParentName: null, target: null }
    expect(childEvents(session(undefined, own), session(ready, own))).toEqual([
      { reason: "AgentReady", message: "The agents for a session without target are ready in this cluster." }
    ])
  })

  it("hold a short part of a member's words, however long these are", () => {
    const [event] = childEvents(session(undefined), session(failed("Error", `${".".repeat(1_000_000)}x`)))
    expect(event?.message.length).toBeLessThan(1_000)
  })
})
