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
import type { EventOf, Invariant } from "./invariant.ts"
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
    const isRead = ({ call, process }: EventOf<"Called">): boolean => {
      const { name, operator, resource, to } = call
      const has = (what: string): boolean => read.has(`${process} ${to} ${what}`)
      // The files of migrations have the name of their Job.
      if (resource === configMaps.plural && has(jobs.plural)) return true
      // Replicas that share members tell their leader what they see, and the server lets nothing but that be deleted.
      const isReported = world().plan.sharding && uidOf(call) !== undefined
      return (isReported && listed.has(`${operator} ${to} ${resource}`)) || has(resource) || has(`${resource} ${name}`)
    }
    return {
      on: {
        // The operator cannot know what a person wrote into a status while its watch was silent.
        Fault: ({ text }) => {
          isMeddled ||= text.startsWith("somebody does kubectl garbage-status to parent")
        },
        Answered: ({ call: { index, operator, resource, to, verb }, outcome }) => {
          if (verb !== "list" && verb !== "get") return
          const key = `${operator} ${index}`
          const what = asked.get(key)
          if (what !== undefined && outcome === "ok") read.add(what)
          if (verb === "list" && outcome === "ok") listed.add(`${operator} ${to} ${resource}`)
          asked.delete(key)
        },
        Called: (event) => {
          const { call, process } = event
          const { index, name, operator, resource, to, verb } = call
          const collection = `${process} ${to} ${resource}`
          if (verb === "list" || verb === "get")
            asked.set(`${operator} ${index}`, verb === "list" ? collection : `${collection} ${name}`)
          if (verb !== "delete") return undefined
          const isPrimarys = operator === world().plan.primary && to !== operator
          // The end of a parent ends its children, even children that the primary cannot see.
          const parents = `${process} ${operator} ${mirrordMultiClusterSessions.plural}`
          if (isPrimarys && read.has(parents) && isEnding(world(), call)) return undefined
          if (!isRead(event))
            return `${process} deletes ${resource} ${name} in ${to}, but has read neither it nor a list.`
          const isOfChild = isPrimarys && resource === mirrordClusterSessions.plural
          const parent = isOfChild && !isMeddled ? wanted(world(), call) : undefined
          return parent === undefined
            ? undefined
            : `${process} deletes ${name} in ${to}, which its parent ${parent} still wants.`
        }
      }
    }
  }
}
