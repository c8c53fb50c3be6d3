/** The look of parents and children in the time line, and the client that they belong to. */

import type { Look } from "../../../src/domain/commands/ui/look.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"

/**
 * The parts of parents' and children's objects that the page shows; any part may be garbage, because people edit
 * objects.
 */
interface SessionObject {
  readonly spec?: { readonly owner?: { readonly hostname?: string } }
  readonly status?: {
    readonly phase?: string
    readonly clusterSessions?: Readonly<Record<string, { readonly ready?: boolean; readonly error?: string | null }>>
    readonly conditions?: ReadonlyArray<{
      readonly type?: string
      readonly status?: string
      readonly reason?: string
      readonly message?: string
    }>
  }
}

interface Appearance {
  readonly look: Look
  readonly text: string
}

const partsOf = (object: KubeObject): SessionObject => ({ spec: object["spec"] ?? {}, status: object["status"] ?? {} })

/** The client that a parent or child belongs to; its machine is named after it (sim-client.ts). */
export const clientOf = (object: KubeObject): string =>
  partsOf(object).spec?.owner?.hostname?.replace(/^laptop-/, "") ?? object.metadata.name

const readyCondition = (object: KubeObject) => {
  const conditions = partsOf(object).status?.conditions
  return Array.isArray(conditions) ? conditions.find(({ type }) => type === "Ready") : undefined
}

/** The look of a parent: its phase, and the members that it lacks. */
export const parentLook = (object: KubeObject): Appearance => {
  const { clusterSessions, phase = "new" } = partsOf(object).status ?? {}
  if (object.metadata.deletionTimestamp !== undefined) return { look: "ending", text: `${phase}, being deleted` }
  const missing = Object.entries(clusterSessions ?? {}).filter(([, member]) => member.ready !== true)
  const lacks = missing
    .map(([name, { error }]) => (error === undefined || error === null ? name : `${name} (${error})`))
    .join(", ")
  if (phase === "Ready")
    return missing.length === 0
      ? { look: "ready", text: phase }
      : { look: "degraded", text: `${phase} without ${lacks}` }
  if (phase === "Failed") return { look: "failed", text: phase }
  if (phase === "Terminating") return { look: "ending", text: phase }
  return { look: "waiting", text: lacks === "" ? phase : `${phase}, waits for ${lacks}` }
}

/** The look of a child: its Ready condition. */
export const childLook = (object: KubeObject): Appearance => {
  if (object.metadata.deletionTimestamp !== undefined) return { look: "ending", text: "being deleted" }
  const ready = readyCondition(object)
  if (ready === undefined) return { look: "waiting", text: "new" }
  const text = [ready.reason, ready.message].filter((part) => part !== undefined && part !== "").join(": ")
  if (ready.status === "True") return { look: "ready", text }
  return { look: ready.reason === "Starting" ? "waiting" : "failed", text }
}
