/**
 * S-B2 (failures.md §1.14). A session that named a branch and gets the source's address would write into a shared
 * database. So would one that goes on without the variable that its configuration means: the program finds its database
 * by another one.
 */

import { asString, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { wishedVariable } from "../world/branch-order.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import { branchEngineWords, databaseFacts, sourceDomain } from "../world/source-databases.ts"
import { branchHistory } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"
import { defaultOf } from "./session-objects.ts"

export const sourcesAreNotReached: Invariant = {
  id: "S-B2",
  ofBranches: true,
  sentence: "A session that named a branch is led to the pod of this very branch, and never to the source.",
  begin: (world) => {
    const history = branchHistory(world)
    /** By cluster and address: the UID of the branch that has had it. */
    const addresses = new Map<string, string>()
    /** By client: the branch that it was led to first. */
    const led = new Map<string, string>()
    return {
      on: (event) => {
        history.take(event)
        if (event._tag === "Committed" && event.commit.ref.plural === pods.plural) {
          const { after } = event.commit
          const address = asString(at(after, "status", "podIP"))
          const owner = after?.metadata.ownerReferences?.[0]
          if (after !== undefined && address !== undefined && owner !== undefined && isBranchPod(after))
            addresses.set(`${event.cluster} ${address}`, owner.uid)
        }
        if (event._tag !== "ClientEvent" || event.event._tag !== "Env") return undefined
        const {
          client: name,
          event: { result }
        } = event
        const client = world().clients.get(name)
        if (client?.branchWish === undefined || result._tag !== "Ok" || client.branches.length === 0) return undefined
        const { branchWish, branches } = client
        const records = [...history.records.values()].filter(({ object }) => branches.includes(object.metadata.name))
        // A branch of another engine is used by its id alone, and has a variable of its own.
        const variables = new Set(
          Object.values<{ readonly block: string; readonly variable: string }>(databaseFacts)
            .filter(({ block }) => records.some(({ object }) => at(object, "spec", block) !== undefined))
            .map(({ variable }) => variable)
        )
        if (variables.size === 0) return `${name} is served although there is no branch ${branches.join(", ")}.`
        // The command gets all variables before anybody can know which one is meant; the internal proxy asks for it.
        const meant = wishedVariable(branchWish)
        if (result.value.size < branchEngineWords.length) {
          if (!result.value.has(meant)) return `${name} goes on without ${meant}, which leads to its branch.`
          variables.add(meant)
        }
        for (const variable of variables) {
          const url = result.value.get(variable)
          if (url === undefined) continue
          const host = /@([^@:/]*):/u.exec(url)?.[1] ?? ""
          if (url.includes(sourceDomain)) return `${variable} of ${name} leads to the source.`
          const cluster = defaultOf(world(), client)
          const uid = addresses.get(`${cluster} ${host}`)
          const record = records.find((one) => one.uid === uid)
          if (record === undefined) return `${variable} of ${name} leads to ${host}, which is no branch that it named.`
          const first = led.get(`${name} ${variable}`) ?? record.uid
          led.set(`${name} ${variable}`, first)
          if (first !== record.uid) return `${variable} of ${name} leads to another branch than before.`
        }
        return branchWish.ids.length > 0 ? undefined : `${name} is led to a branch that it did not want.`
      }
    }
  }
}
