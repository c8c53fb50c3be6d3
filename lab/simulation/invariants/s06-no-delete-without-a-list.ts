/**
 * S6 (failures.md §1.6, §4.1, §4.18). A process knows a collection only after a list of it, and an object after a get.
 * A member may end a child that has had no socket for too long without looking at the parent, so only the primary's
 * deletes are held against parents.
 */

import { configMaps, jobs } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import type { PortCall } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { isLeaving, parentStatus, parentUidOf } from "./session-objects.ts"

/** The object that a delete is meant for alone. */
const uidOf = ({ body }: PortCall): string | undefined =>
  (body as { readonly preconditions?: { readonly uid?: string } } | undefined)?.preconditions?.uid

/** The living parent that has recorded the child, so that the child may not be deleted. */
const wanted = (world: World, call: PortCall): string | undefined => {
  const { name, to } = call
  const child = world.cluster(to).server.objects.peek(mirrordClusterSessions, name)
  const parentName = child === undefined ? undefined : parentNameOf(child)
  if (child === undefined || parentName === undefined || isLeaving(child)) return undefined
  // The server refuses a delete that was meant for the child's predecessor.
  const uid = uidOf(call)
  if (uid !== undefined && uid !== child.metadata.uid) return undefined
  const parent = world.primary.server.objects.peek(mirrordMultiClusterSessions, parentName)
  if (parent === undefined || isLeaving(parent) || parent.metadata.uid !== parentUidOf(child)) return undefined
  const { clusterSessions, phase } = parentStatus(parent)
  return phase === "Failed" || clusterSessions?.[to]?.sessionName !== name ? undefined : parentName
}

/** Whether a parent that is ending has recorded the child. */
const isEnding = (world: World, { name, to }: PortCall): boolean =>
  world.primary.server.objects.peekAll(mirrordMultiClusterSessions).some((parent) => {
    const { clusterSessions, phase } = parentStatus(parent)
    return (isLeaving(parent) || phase === "Failed") && clusterSessions?.[to]?.sessionName === name
  })

export const noDeleteWithoutAList: Invariant = {
  id: "S6",
  sentence: "No delete is made from an incomplete or old view.",
  begin: (world) => {
    /** Reads of each process: `<process> <cluster> <resource>`, with the name for a single object. */
    const read = new Set<string>()
    /** Lists of all replicas of an operator: `<operator> <cluster> <resource>`. */
    const listed = new Set<string>()
    /** Reads without an answer yet, by operator and number. */
    const asked = new Map<string, string>()
    let isMeddled = false
    return {
      on: (event) => {
        // The operator cannot know what a person wrote into a status while its watch was silent.
        if (event._tag === "Fault" && event.text.startsWith("somebody does kubectl garbage-status to parent"))
          isMeddled = true
        if (event._tag === "Answered") {
          const { call, outcome } = event
          if (call.verb !== "list" && call.verb !== "get") return undefined
          const key = `${call.operator} ${call.index}`
          const what = asked.get(key)
          if (what !== undefined && outcome === "ok") read.add(what)
          if (call.verb === "list" && outcome === "ok") listed.add(`${call.operator} ${call.to} ${call.resource}`)
          asked.delete(key)
          return undefined
        }
        if (event._tag !== "Called") return undefined
        const { call, process } = event
        const collection = `${process} ${call.to} ${call.resource}`
        if (call.verb === "list" || call.verb === "get") {
          asked.set(`${call.operator} ${call.index}`, call.verb === "list" ? collection : `${collection} ${call.name}`)
          return undefined
        }
        if (call.verb !== "delete") return undefined
        const isPrimarys = call.operator === world().plan.primary && call.to !== call.operator
        const parents = `${process} ${call.operator} ${mirrordMultiClusterSessions.plural}`
        // The end of a parent ends its children, even children that the primary cannot see.
        if (isPrimarys && read.has(parents) && isEnding(world(), call)) return undefined
        // The files of migrations have the name of their Job.
        if (call.resource === configMaps.plural && read.has(`${process} ${call.to} ${jobs.plural}`)) return undefined
        // Replicas that share members tell their leader what they see, and the server lets nothing but that be deleted.
        const isReported =
          world().plan.sharding &&
          uidOf(call) !== undefined &&
          listed.has(`${call.operator} ${call.to} ${call.resource}`)
        if (!isReported && !read.has(collection) && !read.has(`${collection} ${call.name}`)) {
          return `${process} deletes ${call.resource} ${call.name} in ${call.to}, but has read neither it nor a list.`
        }
        if (!isPrimarys || call.resource !== mirrordClusterSessions.plural) return undefined
        const parent = isMeddled ? undefined : wanted(world(), call)
        return parent === undefined
          ? undefined
          : `${process} deletes ${call.name} in ${call.to}, which its parent ${parent} still wants.`
      }
    }
  }
}
